# The rounds of ./dev bench: each takes figures by name, one of every kind.
# shellcheck shell=bash

# From the start of the process to the first 200 of /readyz, with a migrated database.
measure_starts() {
    local round
    say "Starting the server $starts times ..."
    for ((round = 0; round < starts; round++)); do
        take ready_us "$("${on_other_processor[@]}" "$programs/LoadProgram" ready --url "$merchant_url/readyz" -- \
            setpriv --pdeathsig TERM "${on_server_processor[@]}" "$programs/merchant" serve --config "$settings" \
            2>"$scratch/start.log" || {
            show_end "$scratch/start.log"
            fail "the server did not become ready; above is the end of its log."
        })"
    done
}

measure_idle_memory() {
    sleep "$idle_seconds"
    take idle_kib "$(resident_kib "$merchant_pid")"
}

measure_payments() {
    local round users
    for ((round = 0; round < payment_rounds; round++)); do
        for users in "${payment_users[@]}"; do
            say "Payments, $users users, round $((round + 1)) of $payment_rounds ..."
            measure_deeds "pay_$users" pay "$users"
        done
    done
}

measure_creations() {
    local round
    prepare_pgbench
    for ((round = 1; round <= creation_rounds; round++)); do
        say "POST /v1/payment-intents and pgbench, round $round of $creation_rounds ..."
        measure_deeds create create "$creation_users"
        measure_pgbench "$round"
        take create_ratio "$(calculate "$rate / $pgbench_rate")"
        take create_rest_ratio "$(calculate "$rest_rate / $pgbench_rate")"
    done
}

# measure_deeds NAME DEED USERS: a crowd at work, watched for a round once it has got going. Takes NAME_rate,
# NAME_rest_rate, NAME_p50_us, NAME_p99_us, and for each deed NAME_PROGRAM_us and NAME_wal_bytes.
measure_deeds() {
    local name=$1 deed=$2 users=$3 program pid done failed elapsed p50 p99 wal
    local -A pids=([merchant]=$merchant_pid [sandbox]=$sandbox_pid [postgres]=$database_pid [load]=$load_pid) before=()
    order begin "$deed" "$users"
    sleep "$warm_up_seconds"
    wal=$(wal_position)
    order count
    read_cpu "${pids[@]}"
    for pid in "${pids[@]}"; do before[$pid]=${cpu[$pid]}; done
    sleep "$round_seconds"
    order count
    read_cpu "${pids[@]}"
    wal=$(($(wal_position) - wal))
    read -r done failed elapsed p50 p99 <<<"$answer"
    order end
    if ((failed > 0)) || ((done == 0)); then
        show_end "$scratch/load.log"
        fail "of $((done + failed)) requests to $deed $failed failed; above is the first reason."
    fi
    rate=$(calculate "$done * 1e6 / $elapsed")
    rest_rate=$(calculate "$done * 1e6 / ($elapsed - (${cpu[$sandbox_pid]} - ${before[$sandbox_pid]}))")
    take "${name}_rate" "$rate"
    take "${name}_rest_rate" "$rest_rate"
    take "${name}_p50_us" "$p50"
    take "${name}_p99_us" "$p99"
    take "${name}_wal_bytes" "$(calculate "$wal / $done")"
    for program in "${!pids[@]}"; do
        pid=${pids[$program]}
        take "${name}_${program}_us" "$(calculate "(${cpu[$pid]} - ${before[$pid]}) / $done")"
    done
}

# One payment of each user who has paid, for pgbench to repeat; and nobody plans by guesses.
prepare_pgbench() {
    psql_as_superuser "$scratch" --dbname="$database" <<'SQL'
CREATE TABLE bench_users AS
SELECT DISTINCT ON (payments.subject) payments.subject, enrollment_id AS enrollment, belvo_customer_id AS customer,
    belvo_enrollment_id AS bond, beneficiary_bank_account AS account, fido_options, request_digest AS digest,
    response_body AS answer
FROM payments JOIN idempotency_keys ON record_id = payments.id
WHERE payments.state = 'succeeded'
ORDER BY payments.subject;
VACUUM ANALYZE;
SQL
}

# measure_pgbench ROUND: the same statements without the server, from the server's processor.
measure_pgbench() {
    local log=$scratch/pgbench.log before_cpu before after count
    PGPASSWORD=$database_password start pgbench INT "$log" "${on_server_processor[@]}" \
        "$postgres_programs/pgbench" --no-vacuum --protocol=prepared --client="$creation_users" --jobs=1 --time=60 \
        --file=bench/create_payment.sql --define=first=1 --define=round="$1" \
        --host=127.0.0.1 --port="$database_port" --username=postgres "$database"
    sleep "$warm_up_seconds"
    read -ra before <<<"$(query "$pgbench_state")"
    read_cpu "$database_pid"
    before_cpu=${cpu[$database_pid]}
    sleep "$round_seconds"
    read -ra after <<<"$(query "$pgbench_state")"
    read_cpu "$database_pid"
    kill -0 "$started" 2>/dev/null || fail_for "$started" "pgbench has ended by itself"
    stop_child "$started"
    # Each payment opened leaves two lines of history: remembered, and ready to be signed.
    count=$(calculate "(${after[1]} - ${before[1]}) / 2")
    pgbench_rate=$(calculate "$count / (${after[0]} - ${before[0]})")
    take pgbench_rate "$pgbench_rate"
    take pgbench_mean_us "$(calculate "$creation_users * 1e6 / $pgbench_rate")"
    take pgbench_postgres_us "$(calculate "(${cpu[$database_pid]} - $before_cpu) / $count")"
    take pgbench_wal_bytes "$(calculate "(${after[2]} - ${before[2]}) / $count")"
}

# The time, the lines of history and the bytes of log until now.
pgbench_state="SELECT concat_ws(' ', extract(epoch FROM clock_timestamp()), last_value,
    pg_current_wal_insert_lsn() - '0/0') FROM state_history_id_seq"

# How many bytes of log PostgreSQL has written until now.
wal_position() { query "SELECT pg_current_wal_insert_lsn() - '0/0'"; }

measure_livez() {
    local round
    # Once for nothing: processor clocks and caches are to be the same for both.
    run_wrk "$merchant_url/livez"
    run_wrk "http://127.0.0.1:$nginx_port/livez"
    for ((round = 1; round <= livez_rounds; round++)); do
        say "GET /livez and nginx, round $round of $livez_rounds ..."
        measure_wrk livez "$merchant_pid" "$merchant_url/livez"
        measure_wrk nginx "$nginx_pid" "http://127.0.0.1:$nginx_port/livez"
        take livez_ratio "$(calculate "${last[livez_rate]} / ${last[nginx_rate]}")"
        take livez_cpu_ratio "$(calculate "${last[livez_us]} / ${last[nginx_us]}")"
    done
}

declare -A last=()

# measure_wrk NAME PID URL: takes NAME_rate, NAME_p99_us and NAME_us, the processor time for one request.
measure_wrk() {
    local name=$1 pid=$2 before count
    read_cpu "$pid"
    before=${cpu[$pid]}
    run_wrk "$3"
    read_cpu "$pid"
    count=$(awk '$2 == "requests" && $3 == "in" { print $1 }' "$scratch/wrk.txt")
    last[${name}_rate]=$(awk '$1 == "Requests/sec:" { print $2 }' "$scratch/wrk.txt")
    last[${name}_us]=$(calculate "(${cpu[$pid]} - $before) / $count")
    take "${name}_rate" "${last[${name}_rate]}"
    take "${name}_us" "${last[${name}_us]}"
    take "${name}_p99_us" "$(wrk_percentile 99% "$scratch/wrk.txt")"
}

# wrk_percentile PERCENTILE FILE: in microseconds; wrk writes 950.00us, 1.25ms or 1.00s.
wrk_percentile() {
    awk -v wanted="$1" '$1 == wanted {
        factor = $2 ~ /us$/ ? 1 : $2 ~ /ms$/ ? 1000 : 1000000
        print ($2 + 0) * factor }' "$2"
}

run_wrk() {
    "${on_other_processor[@]}" wrk --threads 1 --connections "$livez_connections" --duration "${round_seconds}s" \
        --latency "$1" >"$scratch/wrk.txt" || fail "wrk failed; see above."
    if grep -E 'Non-2xx|Socket errors' "$scratch/wrk.txt" >&2; then fail "not every request to $1 was answered."; fi
}
