# The section "Looking at what is pending" of ./dev bench: what one look at a payment costs the server.
# shellcheck shell=bash

# measure_polling: looks at few, many and very many payments that Belvo has not decided, beside finished ones.
measure_polling() {
    local count
    start_merchant
    start_load
    have_belvo_wait
    make_pending "${polling_pending[-1]}"
    stop_child "$load_pid"
    stop_child "$merchant_pid"
    make_finished
    for count in "${polling_pending[@]}"; do
        keep_pending "$count"
        start_merchant
        measure_looks "$count"
        stop_child "$merchant_pid"
        measure_bare_calls "$count"
    done
}

# From here on the bank decides nothing. The enrollments are over.
have_belvo_wait() {
    answers --fail --request PATCH --header 'content-type: application/json' \
        --data '{"payment_settlement":"when_told"}' "$sandbox_url/sandbox/variants" ||
        fail "the sandbox does not take payment_settlement."
}

# make_pending COUNT: that many payments, each opened and signed by an app.
make_pending() {
    local made=0
    say "Opening and signing $1 payments ..."
    order begin sign "${payment_users[0]}"
    while ((made < $1)); do
        sleep 1
        made=$(query "SELECT count(*) FROM payments WHERE state = 'authorizing'")
    done
    order end
}

# Payments that have failed, as like the others as two rows can be.
make_finished() {
    say "Adding $polling_finished finished payments ..."
    query "INSERT INTO payments (
            id, subject, enrollment_id, state, belvo_idempotency_key, holds_reference, amount_centavos, description,
            statement_description, belvo_customer_id, belvo_enrollment_id, beneficiary_bank_account, failure_code,
            failure_authority, created_at, updated_at)
        SELECT gen_random_uuid(), subject, enrollment_id, 'failed', gen_random_uuid(), false, amount_centavos,
            description, statement_description, belvo_customer_id, belvo_enrollment_id, beneficiary_bank_account,
            'timed_out', 'merchant', created_at, updated_at
        FROM (SELECT * FROM payments WHERE state = 'authorizing' LIMIT 1000) AS pattern,
            generate_series(1, $polling_finished / 1000)" >"$scratch/finished.log"
    query "VACUUM ANALYZE" >>"$scratch/finished.log"
}

# keep_pending COUNT: leaves so many to look at, for as long as it takes, due at moments spread over one interval.
keep_pending() {
    query "UPDATE payments SET deadline_at = app_now() + interval '1 day', in_doubt = false, leased_until = NULL,
            next_poll_at = app_now() + random() * interval '2 seconds' + CASE WHEN place > $1 THEN interval '1 day'
                ELSE interval '0' END
        FROM (SELECT id AS placed, row_number() OVER (ORDER BY state <> 'authorizing', id) AS place FROM payments
            WHERE state NOT IN ('succeeded', 'failed')) AS places
        WHERE id = placed" >"$scratch/keep.log"
    query "VACUUM ANALYZE payments" >>"$scratch/keep.log"
}

# measure_looks COUNT: takes polling_COUNT_us, the processor time of a look, and polling_COUNT_rate.
measure_looks() {
    local round before after cpu_before looks
    sleep "$polling_warm_up_seconds"
    for ((round = 1; round <= polling_rounds; round++)); do
        say "Looking at $1 pending payments, round $round of $polling_rounds ..."
        before=$(calls_answered)
        cpu_before=$(cpu_nanoseconds "$merchant_pid")
        sleep "$polling_seconds"
        looks=$(cpu_nanoseconds "$merchant_pid")
        after=$(calls_answered)
        cpu_before=$((looks - cpu_before))
        looks=$((after - before))
        ((looks > 0)) || fail "nothing was looked at."
        take "polling_$1_us" "$(calculate "$cpu_before / 1000 / $looks")"
        take "polling_$1_rate" "$(calculate "$looks / $polling_seconds")"
    done
}

# How many calls the sandbox has answered until now: the number of the last one.
calls_answered() {
    curl --silent --fail --noproxy '*' --cacert "$scratch/secrets/ca.pem" "$sandbox_url/sandbox/calls" |
        grep -o '"number":[0-9]*' | tail -n 1 | cut -d : -f 2
}

# cpu_nanoseconds PID: what all its threads have used. The hundredths of a second of /proc/PID/stat are too coarse for
# a server that is nearly idle.
cpu_nanoseconds() { awk '{ sum += $1 } END { printf "%.0f\n", sum }' "/proc/$1/task/"*/schedstat; }

# measure_bare_calls COUNT: takes polling_COUNT_bare_us, what a client in C that does nothing else uses for one call:
# h2load reads one payment intent at the rate that the looks had, from the server's processor and over as many
# connections. How often a processor sleeps and wakes decides over most of it, and that is the machine's.
measure_bare_calls() {
    local round rate clients=16 all first
    rate=$(median "polling_$1_rate" 1 %.3f)
    if (($(calculate "$rate < 16"))); then clients=1; fi
    for ((round = 1; round <= polling_rounds; round++)); do
        say "Bare calls at the same rate, round $round of $polling_rounds ..."
        first=$(cpu_of_calls --requests="$clients" --clients="$clients")
        all=$(cpu_of_calls --duration="$polling_seconds" --clients="$clients" --rps="$(calculate "$rate / $clients")")
        take "polling_$1_bare_us" "$(calculate "(${all% *} - ${first% *}) * 1000000 / (${all#* } - ${first#* })")"
    done
}

# cpu_of_calls OPTION...: prints the seconds of processor time that h2load used, and how many answers it got.
cpu_of_calls() {
    local intent used TIMEFORMAT='%U %S'
    intent=$(query "SELECT belvo_id FROM payments WHERE state = 'authorizing' LIMIT 1")
    used=$({ time "${on_server_processor[@]}" h2load --h1 "$@" \
        --header="authorization: Basic $(printf 'sandbox-id:sandbox-password' | base64)" \
        "$sandbox_url/payments/br/payment-intents/$intent/" >"$scratch/h2load.txt" 2>&1; } 2>&1)
    awk -v used="$used" '/^status codes:/ { split(used, part, " "); print part[1] + part[2], $3 }' "$scratch/h2load.txt"
}
