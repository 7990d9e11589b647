# An nginx beside the server of ./dev attack, on the same processor: what another server makes of the same attack.
# shellcheck shell=bash

# start_attacked_nginx: the same answers as the server's, from files, and the same deadlines where it has such. Sets
# nginx_url and nginx_worker_pid.
start_attacked_nginx() {
    local directory=$scratch/nginx port
    port=$(free_port $((merchant_port + 10)))
    nginx_url=http://127.0.0.1:$port
    mkdir -p "$directory/files/v1"
    fetch_answer /livez "$directory/files/livez"
    fetch_answer /openapi.json "$directory/files/openapi.json"
    fetch_answer /v1/institutions "$directory/files/v1/institutions"
    run_nginx nginx 16384 "$nginx_url/livez" "${on_server_processor[@]}" <<SERVER
    default_type application/json;
    client_header_timeout 10s;
    client_body_timeout 10s;
    send_timeout 30s;
    server {
        listen 127.0.0.1:$port backlog=4096;
        root $directory/files;
        # The body is read before anybody is asked, and none of these ends.
        location = /webhooks/belvo { proxy_pass http://127.0.0.1:9; }
    }
SERVER
    nginx_worker_pid=$(session "$nginx_pid" | grep --invert-match --line-regexp "$nginx_pid")
}

fetch_answer() {
    curl --silent --fail --noproxy '*' --header "Authorization: Bearer $(head -n 1 "$scratch/tokens")" \
        --output "$2" "$merchant_url$1" || fail "the server does not answer $1."
}
