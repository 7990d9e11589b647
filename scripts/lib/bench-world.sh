# What ./dev bench measures and measures with, each started on its processor.
# shellcheck shell=bash

database=merchant
beneficiary=5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10
sandbox_settle_ms=0

# Below /var/tmp, which stays over a restart and so is a disk nearly everywhere: commits that only reach memory would
# flatter everybody.
make_scratch() {
    local kind
    scratch=$(mktemp --directory /var/tmp/merchant-bench.XXXXXX)
    kind=$(findmnt --noheadings --output FSTYPE --target "$scratch")
    [[ $kind != tmpfs && $kind != ramfs ]] || fail "/var/tmp is memory ($kind): there is no disk to commit to."
}

# The first processor is for what is measured, the second for everything else; where there is one, both share it.
choose_processors() {
    local allowed range processor processors=()
    allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
    for range in ${allowed//,/ }; do
        for ((processor = ${range%-*}; processor <= ${range#*-}; processor++)); do processors+=("$processor"); done
    done
    server_processor=${processors[0]}
    other_processor=${processors[1]:-$server_processor}
    on_server_processor=(taskset --cpu-list "$server_processor")
    on_other_processor=(taskset --cpu-list "$other_processor")
    # The script itself and what it calls in between.
    taskset --pid --cpu-list "$other_processor" $$ >"$scratch/taskset.log"
}

start_database() {
    use_newest_postgres
    use_database_user "$scratch"
    as_database_user+=("${on_other_processor[@]}")
    create_cluster "$scratch"
    start_cluster "$scratch" "$scratch/postgres.log" "$(random_port)" "unix_socket_directories=$scratch" \
        fsync=on synchronous_commit=on full_page_writes=on || fail_for "$started" "PostgreSQL did not start"
    database_pid=$started
    database_password=$(<"$scratch/password")
    psql_as_superuser "$scratch" --dbname=postgres --command="CREATE DATABASE $database"
}

# query SQL: prints the one value that it gives.
query() { psql_as_superuser "$scratch" --dbname="$database" --tuples-only --no-align --command="$1"; }

# The settings of a server as it is in use, but for what belongs to a demonstration: the sandbox, and no orders.
write_settings() {
    settings=$scratch/merchant.env
    merchant_port=$(random_port)
    merchant_url=http://127.0.0.1:$merchant_port
    sandbox_port=$(free_port $((merchant_port + 1)))
    sandbox_url=https://127.0.0.1:$sandbox_port
    scripts/lib/make-demo-secrets "$scratch/secrets" || fail "could not make keys and certificates in $scratch."
    {
        cat "$scratch/secrets/secrets.env"
        printf '%s\n' \
            "DATABASE_URL=postgresql://postgres:$database_password@127.0.0.1:$database_port/$database" \
            "PUBLIC_BASE_URL=$merchant_url" \
            "LISTEN=127.0.0.1:$merchant_port" \
            "ADMIN_LISTEN=127.0.0.1:$(free_port $((sandbox_port + 1)))" \
            "BELVO_BASE_URL=$sandbox_url" \
            "BELVO_CA_FILE=$scratch/secrets/ca.pem" \
            "BELVO_SECRET_ID=sandbox-id" \
            "BELVO_SECRET_PASSWORD=sandbox-password" \
            "BELVO_BENEFICIARY_BANK_ACCOUNT=$beneficiary" \
            "ORDERS=optional" \
            "USER_RATE=0" \
            "ADDRESS_RATE=0" \
            "USER_OPEN_ENROLLMENTS_MAX=0" \
            "USER_ENROLLMENTS_PER_DAY_MAX=0" \
            "USER_OPEN_PAYMENTS_MAX=0" \
            "HTTP_CONNECTIONS_PER_ADDRESS_MAX=0" \
            "HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX=0" \
            "BELVO_RATE=0" \
            "BELVO_USER_RATE=0" \
            "BELVO_STRANGER_RATE=0"
    } >"$settings"
    # The environment wins over a file, and what is measured is not for the user's shell to change.
    local name
    while IFS='=' read -r name _; do
        [[ $name == '#'* ]] || unset "$name" "${name}_FILE"
    done <"$settings"
    unset SANDBOX_SECRET_ID SANDBOX_SECRET_PASSWORD
}

start_sandbox() {
    start belvo-sandbox TERM "$scratch/belvo-sandbox.log" "${on_other_processor[@]}" "$programs/belvo-sandbox" serve \
        --mode demo --settle-after-ms "$sandbox_settle_ms" --listen "127.0.0.1:$sandbox_port" \
        --public-url "$sandbox_url" \
        --tls-cert-file "$scratch/secrets/server.pem" --tls-key-file "$scratch/secrets/server.key"
    sandbox_pid=$started
    wait_for 30 "$sandbox_pid" answers "$sandbox_url/" || fail_for "$sandbox_pid" "belvo-sandbox does not answer"
}

# start_merchant SETTING...: the server with these settings beside those of the file.
start_merchant() {
    start merchant TERM "$scratch/merchant.log" "${on_server_processor[@]}" env "$@" "$programs/merchant" serve \
        --config "$settings"
    merchant_pid=$started
    wait_for 30 "$merchant_pid" answers --fail "$merchant_url/readyz" ||
        fail_for "$merchant_pid" "merchant did not become ready"
}

answers() {
    curl --silent --output /dev/null --max-time 2 --noproxy '*' --cacert "$scratch/secrets/ca.pem" "$@"
}

# An nginx that answers /livez with the same body from memory and, if its own fields are shorter, with as many bytes.
start_nginx() {
    nginx_port=$(free_port $((merchant_port + 10)))
    livez_body=$(curl --silent --fail --noproxy '*' "$merchant_url/livez")
    livez_bytes=$(answer_bytes "$merchant_url/livez")
    run_static_nginx
    nginx_bytes=$(answer_bytes "http://127.0.0.1:$nginx_port/livez")
    local room=$((livez_bytes - nginx_bytes - ${#padding_field} - 4))
    if ((room > 0)); then
        stop_child "$nginx_pid"
        run_static_nginx "add_header $padding_field $(printf '%*s' "$room" '' | tr ' ' x);"
        nginx_bytes=$(answer_bytes "http://127.0.0.1:$nginx_port/livez")
    fi
}

padding_field=X

# run_static_nginx DIRECTIVE: it answers /livez.
run_static_nginx() {
    run_nginx nginx 1024 "http://127.0.0.1:$nginx_port/livez" "${on_server_processor[@]}" <<SERVER
    server {
        listen 127.0.0.1:$nginx_port;
        location = /livez {
            default_type application/json;
            ${1:-}
            return 200 '$livez_body';
        }
    }
SERVER
}

# answer_bytes URL: prints the length of the whole answer, fields and body.
answer_bytes() {
    curl --silent --fail --noproxy '*' --output /dev/null --write-out '%{size_header} %{size_download}' "$1" |
        awk '{ print $1 + $2 }'
}

# start_load: the load generator, with an enrolled phone for each user of the largest crowd.
start_load() {
    local users=${payment_users[-1]}
    make_tokens load "$users"
    start_on_orders "$programs/LoadProgram" drive --merchant "$merchant_url" --sandbox "$sandbox_url" \
        --sandbox-ca-file "$scratch/secrets/ca.pem" --tokens "$scratch/tokens"
    say "Enrolling $users phones ..."
    hear
}

# make_tokens NAME COUNT: one for each user NAME-0, NAME-1 ...
make_tokens() {
    local number
    for ((number = 0; number < $2; number++)); do
        "$programs/merchant" token --subject "$1-$number" --config "$settings"
    done >"$scratch/tokens"
}

# start_on_orders COMMAND...: a load generator that does what `order` says.
start_on_orders() {
    rm -f "$scratch/orders" "$scratch/answers"
    mkfifo "$scratch/orders" "$scratch/answers"
    # Opened in both directions, so that opening waits for nobody.
    exec 7<>"$scratch/orders" 8<>"$scratch/answers"
    # shellcheck disable=SC2016 # The inner shell's.
    start "load generator" TERM "$scratch/load.log" "${on_other_processor[@]}" \
        bash -c 'scratch=$1; shift; exec "$@" <"$scratch/orders" >"$scratch/answers" 7>&- 8>&-' bash "$scratch" "$@"
    load_pid=$started
}

# order WORD...: has the load generator do something; sets `answer`.
order() {
    printf '%s\n' "$*" >&7
    hear
}

hear() {
    local patience
    for ((patience = 0; patience < 120; patience++)); do
        if IFS= read -r -t 1 answer <&8; then return; fi
        kill -0 "$load_pid" 2>/dev/null || break
    done
    fail_for "$load_pid" "the load generator does not answer"
}
