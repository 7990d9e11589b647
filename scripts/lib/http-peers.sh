# The servers that ./dev bench-http compares, each on the server's processor with one thread for its work.
# shellcheck shell=bash

peers_directory=$local_directory/peers

# build_peers: what is compiled or installed for them, below .local.
build_peers() {
    mkdir -p "$peers_directory"
    say "Building the Go server ..."
    # Debian keeps the sources of Go packages where GOPATH expects them.
    (cd bench/peers/go && attend env GO111MODULE=off GOPATH=/usr/share/gocode "GOCACHE=$peers_directory/go-cache" \
        go build -o "$peers_directory/go" .) || fail "the Go server could not be built; see above."
    attend swift build --configuration release --package-path bench/peers/hummingbird-server \
        --scratch-path "$peers_directory/hummingbird" || fail "the build of the Hummingbird server failed; see above."
    make_python_environment "$peers_directory/fastapi" bench/peers/fastapi/requirements.txt ||
        fail "FastAPI could not be installed; see above."
}

# start_peer NAME PATH COMMAND...: starts a server and waits until it answers that path; the command's {port} is
# replaced by a free port. Sets url[NAME] and pid[NAME].
start_peer() {
    local name=$1 path=$2 port
    shift 2
    port=$(free_port $((next_port)))
    next_port=$((port + 1))
    start "$name" TERM "$scratch/$name.log" "${on_server_processor[@]}" "${@//\{port\}/$port}"
    pid[$name]=$started
    url[$name]=http://127.0.0.1:$port
    wait_for 30 "$started" answers --fail "http://127.0.0.1:$port$path" || fail_for "$started" "$name does not answer"
}

declare -A url=() pid=()

start_peers() {
    local echo_command=("$programs/EchoProgram" --listen "127.0.0.1:{port}" --database "$database_url")
    next_port=$((merchant_port + 30))
    start_merchant
    pid[merchant]=$merchant_pid url[merchant]=$merchant_url
    start_nginx
    pid[nginx]=$nginx_pid url[nginx]=http://127.0.0.1:$nginx_port
    start_peer echo /static "${echo_command[@]}"
    start_peer go /static env GOMAXPROCS=1 "DATABASE_URL=$database_url" "$peers_directory/go" "127.0.0.1:{port}"
    start_peer hummingbird /static "$peers_directory/hummingbird/release/Peer" "{port}"
    start_peer fastapi /static env PYTHONDONTWRITEBYTECODE=1 "$peers_directory/fastapi/bin/uvicorn" \
        --app-dir bench/peers/fastapi peer:app --host 127.0.0.1 --port "{port}" --loop uvloop --http httptools \
        --no-access-log --log-level warning
}

# start_secure_peers: nginx over TLS on the other processor, for this project's client, and the echo server over TLS
# on the server's; each once with connections that stay and once with connections of one request.
start_secure_peers() {
    secure_nginx_port=$(free_port $((next_port)))
    next_port=$((secure_nginx_port + 1))
    run_nginx secure-nginx 1024 "https://127.0.0.1:$secure_nginx_port/kept" "${on_other_processor[@]}" <<SERVER
    server {
        listen 127.0.0.1:$secure_nginx_port ssl;
        ssl_certificate $scratch/secrets/server.pem;
        ssl_certificate_key $scratch/secrets/server.key;
        # The body says whether the session was resumed: "r", or "." when it was not.
        location = /kept { return 200 \$ssl_session_reused; }
        location = /once { keepalive_timeout 0; return 200 \$ssl_session_reused; }
    }
SERVER
    start_secure_echo kept
    start_secure_echo once --requests-per-connection 1
}

# start_secure_echo NAME OPTION...: sets url[secure_NAME] and pid[secure_NAME].
start_secure_echo() {
    local name=secure_$1 port
    shift
    port=$(free_port $((next_port)))
    next_port=$((port + 1))
    start "$name" TERM "$scratch/$name.log" "${on_server_processor[@]}" "$programs/EchoProgram" \
        --listen "127.0.0.1:$port" --certificate "$scratch/secrets/server.pem" --key "$scratch/secrets/server.key" "$@"
    pid[$name]=$started
    url[$name]=https://127.0.0.1:$port
    wait_for 10 "$started" answers --fail "https://127.0.0.1:$port/static" ||
        fail_for "$started" "the echo server does not answer over TLS"
}
