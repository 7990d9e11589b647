# nginx beside what is measured.
# shellcheck shell=bash

# run_nginx NAME CONNECTIONS URL PLACEMENT...: one worker without logs, as nginx is fastest on one processor, below
# $scratch/NAME, until URL is answered. What stands in its http block besides is read from standard input. Sets
# nginx_pid.
run_nginx() {
    local name=$1 connections=$2 url=$3 directory=$scratch/$1 kind temporary=
    shift 3
    mkdir -p "$directory"
    for kind in client_body proxy fastcgi uwsgi scgi; do temporary+="${kind}_temp_path $directory/$kind; "; done
    cat >"$directory/nginx.conf" <<CONFIGURATION
$(if is_root; then echo 'user root;'; fi)
daemon off;
worker_processes 1;
pid $directory/pid;
error_log $directory/error.log crit;
events { worker_connections $connections; }
http {
    $temporary
    access_log off;
    keepalive_requests 1000000000;
$(cat)
}
CONFIGURATION
    # SIGTERM is nginx's fast shutdown.
    start "$name" TERM "$directory/log" "$@" "$(nginx_program)" -e "$directory/error.log" -c "$directory/nginx.conf"
    nginx_pid=$started
    wait_for 10 "$nginx_pid" answers --fail "$url" || fail_for "$nginx_pid" "nginx does not answer"
}

# Debian keeps it where a plain user's PATH does not lead.
nginx_program() { PATH=$PATH:/usr/sbin command -v nginx; }
