# An nginx beside the server of ./dev attack, on the same processor: what another server makes of the same attack.
# shellcheck shell=bash

# start_attacked_nginx: the same answers as the server's, from files, and the same deadlines where it has such. Sets
# nginx_url and nginx_worker_pid.
start_attacked_nginx() {
    local directory=$scratch/nginx kind temporary='' port
    port=$(free_port $((merchant_port + 10)))
    nginx_url=http://127.0.0.1:$port
    mkdir -p "$directory/files/v1"
    fetch_answer /livez "$directory/files/livez"
    fetch_answer /openapi.json "$directory/files/openapi.json"
    fetch_answer /v1/institutions "$directory/files/v1/institutions"
    for kind in client_body proxy fastcgi uwsgi scgi; do temporary+="${kind}_temp_path $directory/$kind; "; done
    cat >"$directory/nginx.conf" <<CONFIGURATION
$(if is_root; then echo 'user root;'; fi)
daemon off;
worker_processes 1;
pid $directory/pid;
error_log $directory/error.log crit;
events { worker_connections 16384; }
http {
    $temporary
    access_log off;
    default_type application/json;
    keepalive_requests 1000000000;
    client_header_timeout 10s;
    client_body_timeout 10s;
    send_timeout 30s;
    server {
        listen 127.0.0.1:$port backlog=4096;
        root $directory/files;
        # The body is read before anybody is asked, and none of these ends.
        location = /webhooks/belvo { proxy_pass http://127.0.0.1:9; }
    }
}
CONFIGURATION
    start nginx TERM "$directory/log" "${on_server_processor[@]}" "$(nginx_program)" -e "$directory/error.log" \
        -c "$directory/nginx.conf"
    wait_for 10 "$started" answers --fail "$nginx_url/livez" || fail_for "$started" "nginx does not answer"
    nginx_worker_pid=$(session "$started" | grep --invert-match --line-regexp "$started")
}

fetch_answer() {
    curl --silent --fail --noproxy '*' --header "Authorization: Bearer $(head -n 1 "$scratch/tokens")" \
        --output "$2" "$merchant_url$1" || fail "the server does not answer $1."
}
