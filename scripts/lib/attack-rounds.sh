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
    run_good_clients "$scratch/warm-up.tsv" 2 "$merchant_url"
    sleep 3
}

# measure_attack NAME: takes NAME_open, what NAME_alone and NAME_beside were like, NAME_ratio of each round, and memory
# and descriptors before, during and after; and the same of nginx as NAME_nginx.
#
# Each round is measured alone and beside the attack within seconds, and compared with itself: the machine's own noise
# changes from minute to minute, and is in both.
measure_attack() {
    local name=$1 round
    warm_up
    take "${name}_before_kib" "$(resident_kib "$merchant_pid")"
    take "${name}_before_descriptors" "$(descriptors "$merchant_pid")"
    for ((round = 1; round <= attack_rounds; round++)); do
        say "Good clients alone and beside $attackers $name connections, round $round of $attack_rounds ..."
        measure_round "$name" "$name" "$merchant_url" "$merchant_pid"
        measure_round "$name" "${name}_nginx" "$nginx_url" "$nginx_worker_pid"
    done
    # The slowest of them are closed by their deadlines.
    sleep "$rest_seconds"
    take "${name}_after_kib" "$(resident_kib "$merchant_pid")"
    take "${name}_after_descriptors" "$(descriptors "$merchant_pid")"
}

# measure_round ATTACK NAME URL PID: one round against the server at URL.
measure_round() {
    local attack=$1 name=$2 url=$3 pid=$4 descriptors_before
    descriptors_before=$(descriptors "$pid")
    measure_good_clients "${name}_alone" "$url"
    local alone=$p99_us
    begin_attack "$attack" "$url" "$pid" $((descriptors_before + attackers * 9 / 10))
    measure_good_clients "${name}_beside" "$url"
    take "${name}_open" "$(calculate "$(descriptors "$pid") - $descriptors_before")"
    take "${name}_kib" "$(resident_kib "$pid")"
    take "${name}_ratio" "$(calculate "$p99_us / $alone")"
    stop_child "$attack_pid"
    sleep 2
}

# begin_attack ATTACK URL PID DESCRIPTORS: returns when the connections of the attack are open, and so the server has so
# many descriptors. The server closes them again and again, and so the attack is begun again and again. It has only the
# time that is left: what is measured is the server and not the competition of its clients for their processor.
begin_attack() {
    local options url=$2
    case $1 in
    slow-headers) options=(-H -u "$url/livez" -x 24 -i 2) ;;
    slow-body) options=(-B -u "$url/webhooks/belvo" -s 8192 -x 16 -i 2) ;;
    slow-read) options=(-X -u "$url/openapi.json" -k 3 -w 10 -y 20 -n 5 -z 1) ;;
    esac
    # shellcheck disable=SC2016 # The inner shell's.
    start "slowhttptest" TERM "$scratch/$1.log" "${on_other_processor[@]}" chrt --idle 0 \
        bash -c 'while :; do slowhttptest -c "$0" -r "$0" -l 3600 -v 1 "$@" || sleep 0.1; done' \
        "$attackers" "${options[@]}"
    attack_pid=$started
    wait_for 60 "$attack_pid" has_descriptors "$3" "$4" ||
        fail_for "$attack_pid" "the attack does not get $attackers connections"
}

has_descriptors() { (($(descriptors "$1") >= $2)); }

# measure_good_clients NAME URL: takes NAME_p50_us and NAME_p99_us, and sets p99_us.
measure_good_clients() {
    run_good_clients "$scratch/good.tsv" "$round_seconds" "$2"
    p99_us=$(percentile 99 "$scratch/good.tsv")
    take "$1_p50_us" "$(percentile 50 "$scratch/good.tsv")"
    take "$1_p99_us" "$p99_us"
}

# run_good_clients FILE SECONDS URL: authenticated requests at a fixed rate, each answered by 200; FILE gets a line for
# each: when, the status, and how many microseconds it took.
run_good_clients() {
    local bad
    rm -f "$1"
    "${on_other_processor[@]}" h2load --h1 --clients="$good_clients" --rps="$good_rate" --duration="$2" \
        --warm-up-time=1 --log-file="$1" --header="Authorization: Bearer $(head -n 1 "$scratch/tokens")" \
        "$3/v1/institutions" >"$scratch/h2load.txt" || fail "h2load failed; see above."
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
