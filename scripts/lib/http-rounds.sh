# The rounds of ./dev bench-http: each takes figures by name, one of every kind. All that is compared is measured in
# every round, in an order that is turned round from one to the next.
# shellcheck shell=bash

# in_turn ROUND NAME...: prints the names, from the last to the first in every second round.
in_turn() {
    local round=$1 name turned=''
    shift
    if ((round % 2)); then
        printf '%s\n' "$@"
    else
        for name in "$@"; do turned=$name$'\n'$turned; done
        printf '%s' "$turned"
    fi
}

# load NAME SERVER PATH [OPTION...]: one round of wrk against a server; OPTIONs are wrk's. Takes NAME_rate, NAME_p50_us,
# NAME_p99_us and NAME_us, the server's processor time for one request; keeps them in `last` too.
load() {
    local name=$1 server=$2 path=$3 before count
    shift 3
    read_cpu "${pid[$server]}"
    before=${cpu[${pid[$server]}]}
    "${on_other_processor[@]}" wrk --threads 1 --connections "$connections" --duration "${round_seconds}s" --latency \
        "$@" "${url[$server]}$path" >"$scratch/wrk.txt" || fail "wrk failed; see above."
    read_cpu "${pid[$server]}"
    count=$(awk '$2 == "requests" && $3 == "in" { print $1 }' "$scratch/wrk.txt")
    if grep 'Socket errors' "$scratch/wrk.txt" >&2; then fail "not every request to $server was answered."; fi
    (($(awk '/Non-2xx/ { print $NF }' "$scratch/wrk.txt") + 0 == ${refusals_expected:-0} * count)) ||
        fail "$server did not answer as it should: $(grep Non-2xx "$scratch/wrk.txt")"
    last[${name}_rate]=$(awk '$1 == "Requests/sec:" { print $2 }' "$scratch/wrk.txt")
    last[${name}_us]=$(calculate "(${cpu[${pid[$server]}]} - $before) / $count")
    last[${name}_p50_us]=$(wrk_percentile 50% "$scratch/wrk.txt")
    last[${name}_p99_us]=$(wrk_percentile 99% "$scratch/wrk.txt")
    local kind
    for kind in rate us p50_us p99_us; do take "${name}_$kind" "${last[${name}_$kind]}"; done
}

# take_ratios NAME OTHER KIND...: takes NAME_to_OTHER_KIND for the last round of both.
take_ratios() {
    local name=$1 other=$2 kind
    shift 2
    for kind in "$@"; do
        take "${name}_to_${other}_$kind" "$(calculate "${last[${name}_$kind]} / ${last[${other}_$kind]}")"
    done
}

static_path() { case $1 in merchant | nginx) printf /livez ;; *) printf /static ;; esac; }

measure_static() {
    local round server connections=$many_connections
    for server in "${static_servers[@]}"; do load warm_up "$server" "$(static_path "$server")"; done
    for ((round = 1; round <= rounds; round++)); do
        say "Static answer, round $round of $rounds ..."
        for server in $(in_turn "$round" "${static_servers[@]}"); do
            load "static_$server" "$server" "$(static_path "$server")"
        done
        for server in "${static_servers[@]}"; do take_ratios static_merchant "static_$server" rate us; done
        take_ratios static_echo static_nginx rate us
    done
    for server in "${static_servers[@]}"; do count_calls "$server"; done
}

# count_calls SERVER: takes calls_SERVER, system calls for one request, and what they are in calls_of[SERVER].
declare -A calls_of=()
count_calls() {
    local server=$1 traced=${pid[$1]} count=10000 tracer
    say "System calls of $server ..."
    # nginx's own process only watches over the one that answers.
    if [[ $server == nginx ]]; then traced=$(pgrep --parent "$traced"); fi
    strace --summary-only --follow-forks --attach "$traced" --output "$scratch/strace.txt" 2>/dev/null &
    tracer=$!
    sleep 0.5
    # Few connections and many requests: what it takes to accept a connection is not a request's.
    "${on_other_processor[@]}" h2load --h1 --clients=16 --requests="$count" "${url[$server]}$(static_path "$server")" \
        >"$scratch/h2load.txt" || fail "h2load failed; see above."
    kill -INT "$tracer"
    wait "$tracer" || true
    take "calls_$server" "$(awk '$NF == "total" { print $4 }' "$scratch/strace.txt" | head -n 1 |
        awk -v count="$count" '{ printf "%.3f\n", $1 / count }')"
    calls_of[$server]=$(awk -v count="$count" '
        $1 ~ /^[0-9.]+$/ && $NF != "total" && $4 / count >= 0.005 {
            printf "%s%s %.2f", separator, $NF, $4 / count
            separator = ", "
        }' "$scratch/strace.txt")
}

measure_alone() {
    local round server connections=1
    for ((round = 1; round <= rounds; round++)); do
        say "One connection, round $round of $rounds ..."
        for server in $(in_turn "$round" "${static_servers[@]}"); do
            load "alone_$server" "$server" "$(static_path "$server")"
        done
        take_ratios alone_merchant alone_nginx p50_us p99_us
    done
}

# The rate is a share of what h2load itself gets out of nginx: it can do less than wrk, and past that would measure
# only its own queue.
measure_paced() {
    local round server most
    "${on_other_processor[@]}" h2load --h1 --clients="$many_connections" --duration=2 --warm-up-time=1 \
        "${url[nginx]}/livez" >"$scratch/h2load.txt" || fail "h2load failed; see above."
    most=$(awk '$1 == "finished" { print $4 }' "$scratch/h2load.txt")
    paced_rate=$(calculate "int($most * $paced_share / $many_connections)")
    for ((round = 1; round <= rounds; round++)); do
        say "Fixed rate, round $round of $rounds ..."
        for server in $(in_turn "$round" nginx merchant echo); do
            pace "paced_$server" "${url[$server]}$(static_path "$server")"
        done
        take_ratios paced_merchant paced_nginx p50_us p99_us
        take_ratios paced_echo paced_nginx p99_us
    done
}

# pace NAME URL: takes NAME_p50_us and NAME_p99_us at `paced_rate` requests a second on each connection.
pace() {
    local kind
    rm -f "$scratch/paced.tsv"
    "${on_other_processor[@]}" h2load --h1 --clients="$many_connections" --rps="$paced_rate" \
        --duration="$round_seconds" --warm-up-time=1 --log-file="$scratch/paced.tsv" "$2" >"$scratch/h2load.txt" ||
        fail "h2load failed; see above."
    read -r last["$1_p50_us"] last["$1_p99_us"] < <(cut -f 3 "$scratch/paced.tsv" | sort -n |
        awk '{ value[NR] = $1 } END { print value[int((NR - 1) * 0.5) + 1], value[int((NR - 1) * 0.99) + 1] }')
    for kind in p50_us p99_us; do take "$1_$kind" "${last[$1_$kind]}"; done
}

measure_json() {
    local round server connections=$many_connections
    export ECHO_DOCUMENT=bench/echo.json
    for server in "${json_servers[@]}"; do
        curl --silent --fail --noproxy '*' --header 'content-type: application/json' --data-binary @bench/echo.json \
            "${url[$server]}/echo" >"$scratch/echoed.json" || fail "$server does not take the document."
        same_document "$scratch/echoed.json" || fail "$server does not give the document back as it came."
        load warm_up "$server" /echo --script bench/echo.lua
    done
    for ((round = 1; round <= rounds; round++)); do
        say "JSON in, JSON out, round $round of $rounds ..."
        load json_nginx nginx /livez
        for server in $(in_turn "$round" "${json_servers[@]}"); do
            load "json_$server" "$server" /echo --script bench/echo.lua
        done
        for server in nginx "${json_servers[@]}"; do take_ratios json_echo "json_$server" rate us; done
    done
}

# same_document FILE: whether it says the same as the document that was sent. The order of members is free, and one that
# is null may be left out.
same_document() {
    python3 -c '
import json, sys
sent, back = (json.load(open(name)) for name in sys.argv[1:])
present = lambda document: {name: value for name, value in document.items() if value is not None}
sys.exit(present(sent) != present(back))' bench/echo.json "$1"
}

measure_rows() {
    local round side connections
    for ((round = 1; round <= rounds; round++)); do
        say "SELECT by key, round $round of $rounds ..."
        connections=$select_connections
        for side in $(in_turn "$round" echo pgbench go); do
            case $side in
            pgbench) run_pgbench select 8 bench/select_row.sql ;;
            *) load "select_$side" "$side" / --script bench/get_rows.lua ;;
            esac
        done
        take_ratios select_echo select_pgbench rate
        take_ratios select_echo select_go rate us
    done
    for ((round = 1; round <= rounds; round++)); do
        say "INSERT, round $round of $rounds ..."
        connections=$insert_connections
        for side in $(in_turn "$round" echo pgbench go); do
            case $side in
            pgbench) run_pgbench insert 32 bench/insert_row.sql ;;
            *) load "insert_$side" "$side" /rows --script bench/post_rows.lua ;;
            esac
        done
        take_ratios insert_echo insert_pgbench rate
        take_ratios insert_echo insert_go rate us
    done
}

# run_pgbench NAME CLIENTS FILE: one round from the server's processor; takes NAME_pgbench_rate.
run_pgbench() {
    # The text parameters of the INSERT: pgbench's variables hold numbers and text alike.
    PGPASSWORD=$database_password "${on_server_processor[@]}" "$postgres_programs/pgbench" --no-vacuum \
        --protocol=prepared --client="$2" --jobs=1 --time="$round_seconds" --file="$3" --define=reference=order-731 \
        --define=description="Two coffees and a cake, table 731" --host=127.0.0.1 --port="$database_port" \
        --username=postgres "$database" >"$scratch/pgbench.txt" 2>"$scratch/pgbench.log" || {
        show_end "$scratch/pgbench.log"
        fail "pgbench failed; above is the end of its log."
    }
    last[$1_pgbench_rate]=$(awk '$1 == "tps" { print $3 }' "$scratch/pgbench.txt")
    take "$1_pgbench_rate" "${last[$1_pgbench_rate]}"
}

measure_tls() {
    local round connections=$many_connections
    for ((round = 1; round <= rounds; round++)); do
        say "TLS, round $round of $rounds ..."
        ask_securely client_kept kept 16 /kept
        ask_securely client_full full 8 /once .
        ask_securely client_resumed resumed 8 /once r
        take_ratios client_resumed client_full us
        load server_kept secure_kept /static
        be_asked_securely server_full full
        be_asked_securely server_resumed resumed
        take_ratios server_resumed server_full us
    done
}

# ask_securely NAME WAY WIDTH PATH [BODY]: this project's client on the server's processor, nginx on the other one;
# takes NAME_us, the client's processor time for one request.
ask_securely() {
    local count nanoseconds
    read -r count nanoseconds < <("${on_server_processor[@]}" "$programs/LoadProgram" secure --way "$2" --width "$3" \
        --url "https://127.0.0.1:$secure_nginx_port$4" --ca-file "$scratch/secrets/ca.pem" ${5:+--body "$5"} \
        --seconds "$round_seconds") || fail "the client over TLS failed; see above."
    last[$1_us]=$(calculate "$nanoseconds / 1000 / $count")
    take "$1_us" "${last[$1_us]}"
}

# be_asked_securely NAME WAY: the echo server on the server's processor, the client on the other one; takes NAME_us, the
# server's processor time for a connection of one request.
be_asked_securely() {
    local before after count=0
    before=$(cpu_nanoseconds "${pid[secure_once]}")
    # A warm-up would count: what was answered in it is not told.
    read -r count _ < <("${on_other_processor[@]}" "$programs/LoadProgram" secure --way "$2" --warm-up-milliseconds 0 \
        --url "${url[secure_once]}/static" --ca-file "$scratch/secrets/ca.pem" --seconds "$round_seconds") ||
        fail "the client over TLS failed; see above."
    after=$(cpu_nanoseconds "${pid[secure_once]}")
    last[$1_us]=$(calculate "($after - $before) / 1000 / $count")
    take "$1_us" "${last[$1_us]}"
}

# measure_auth: two routes of the merchant that do nothing but refuse, alike but for the token that one of them reads
# first: there are no files for Apple, and no widget tokens.
measure_auth() {
    local round connections=$many_connections refusals_expected=1 token
    make_tokens bench 1
    token=$(head -n 1 "$scratch/tokens")
    restart_merchant "WIDGET_TOKENS=off" "USER_RATE=1000000" "HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX=64"
    load warm_up merchant /v1/widget-token --header "authorization: Bearer $token" --script bench/post_nothing.lua
    for ((round = 1; round <= rounds; round++)); do
        say "With and without a token, round $round of $rounds ..."
        load auth_without merchant /.well-known/apple-app-site-association
        load auth_with merchant /v1/widget-token --header "authorization: Bearer $token" \
            --script bench/post_nothing.lua
        take auth_more_us "$(calculate "${last[auth_with_us]} - ${last[auth_without_us]}")"
    done
}

restart_merchant() {
    stop_child "$merchant_pid"
    start_merchant "$@"
    pid[merchant]=$merchant_pid
}
