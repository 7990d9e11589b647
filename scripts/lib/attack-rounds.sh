# The rounds of ./dev attack: good clients at a fixed rate, first alone and then beside an attack.
# shellcheck shell=bash

# Takes idle_before_kib, idle_bytes (for each connection), idle_after_kib and the open descriptors likewise.
measure_idle_connections() {
    start_on_orders "$programs/LoadProgram" idle --url "$merchant_url/livez" --connections "$idle_connections"
    hear
    warm_up
    take idle_before_kib "$(resident_kib "$merchant_pid")"
    take idle_before_descriptors "$(descriptors "$merchant_pid")"
    say "$idle_connections idle connections ..."
    order open
    sleep 3
    take idle_kib "$(resident_kib "$merchant_pid")"
    take idle_open "$(calculate "$(descriptors "$merchant_pid") - ${taken[idle_before_descriptors]}")"
    take idle_bytes "$(calculate "(${taken[idle_kib]} - ${taken[idle_before_kib]}) * 1024 / $idle_connections")"
    order close
    sleep 5
    take idle_after_kib "$(resident_kib "$merchant_pid")"
    take idle_after_descriptors "$(descriptors "$merchant_pid")"
    stop_child "$load_pid"
}

# warm_up: what the first requests bring with them, connections to the database above all, is no attack's doing.
warm_up() {
    "${on_other_processor[@]}" h2load --h1 --clients=100 --duration=3 \
        --header="Authorization: Bearer $(head -n 1 "$scratch/tokens")" "$merchant_url/v1/enrollments" \
        >"$scratch/h2load.txt" || fail "h2load failed; see above."
    run_good_clients "$scratch/warm-up.tsv" 2
    sleep 3
}

# measure_attack NAME: takes NAME_alone_p50_us, NAME_alone_p99_us, NAME_beside_p50_us and NAME_beside_p99_us, the
# connections that were open meanwhile, and memory and descriptors before, during and after.
measure_attack() {
    local name=$1 round
    warm_up
    take "${name}_before_kib" "$(resident_kib "$merchant_pid")"
    take "${name}_before_descriptors" "$(descriptors "$merchant_pid")"
    for ((round = 1; round <= attack_rounds; round++)); do
        say "Good clients alone, round $round of $attack_rounds ..."
        measure_good_clients "${name}_alone"
    done
    begin_attack "$name"
    for ((round = 1; round <= attack_rounds; round++)); do
        say "Good clients beside $attackers $name connections, round $round of $attack_rounds ..."
        measure_good_clients "${name}_beside"
        take "${name}_open" "$(calculate "$(descriptors "$merchant_pid") - ${taken[${name}_before_descriptors]}")"
        take "${name}_kib" "$(resident_kib "$merchant_pid")"
    done
    stop_child "$attack_pid"
    # The slowest of them are closed by their deadlines.
    say "At rest for $rest_seconds seconds ..."
    sleep "$rest_seconds"
    take "${name}_after_kib" "$(resident_kib "$merchant_pid")"
    take "${name}_after_descriptors" "$(descriptors "$merchant_pid")"
}

# begin_attack NAME: returns when all connections of the attack are open. The server closes them again and again, and
# so the attack is begun again and again. It has only the time that is left: what is measured is the server and not the
# competition of its clients for their processor.
begin_attack() {
    local options
    case $1 in
    slow-headers) options=(-H -u "$merchant_url/livez" -x 24 -i 2) ;;
    slow-body) options=(-B -u "$merchant_url/webhooks/belvo" -s 8192 -x 16 -i 2) ;;
    slow-read) options=(-X -u "$merchant_url/openapi.json" -k 3 -w 10 -y 20 -n 5 -z 1) ;;
    esac
    # shellcheck disable=SC2016 # The inner shell's.
    start "slowhttptest" TERM "$scratch/$1.log" "${on_other_processor[@]}" chrt --idle 0 \
        bash -c 'while :; do slowhttptest -c "$0" -r "$0" -l 3600 -v 1 "$@" || sleep 0.1; done' \
        "$attackers" "${options[@]}"
    attack_pid=$started
    wait_for 60 "$attack_pid" attack_is_open "$1" ||
        fail_for "$attack_pid" "the attack does not get $attackers connections"
}

attack_is_open() {
    (($(descriptors "$merchant_pid") >= ${taken[${1}_before_descriptors]% } + attackers * 9 / 10))
}

# measure_good_clients NAME: takes NAME_p50_us and NAME_p99_us.
measure_good_clients() {
    run_good_clients "$scratch/good.tsv" "$round_seconds"
    take "$1_p50_us" "$(percentile 50 "$scratch/good.tsv")"
    take "$1_p99_us" "$(percentile 99 "$scratch/good.tsv")"
}

# run_good_clients FILE SECONDS: authenticated requests at a fixed rate, each answered by 200; FILE gets a line for
# each: when, the status, and how many microseconds it took.
run_good_clients() {
    local bad
    rm -f "$1"
    "${on_other_processor[@]}" h2load --h1 --clients="$good_clients" --rps="$good_rate" --duration="$2" \
        --warm-up-time=1 --log-file="$1" --header="Authorization: Bearer $(head -n 1 "$scratch/tokens")" \
        "$merchant_url/v1/institutions" >"$scratch/h2load.txt" || fail "h2load failed; see above."
    bad=$(awk '$2 != 200' "$1" | wc -l)
    ((bad == 0)) || fail "$bad good requests were not answered with 200."
}

# percentile P FILE: prints the third column's.
percentile() {
    cut -f 3 "$2" | sort -n | awk -v p="$1" '{ value[NR] = $1 } END { print value[int((NR - 1) * p / 100) + 1] }'
}

# descriptors PID: prints how many the process has open.
descriptors() {
    local open=(/proc/"$1"/fd/*)
    printf '%s\n' "${#open[@]}"
}
