#!/usr/bin/env bash
# Measure the HTTP layer beside nginx, Go, Hummingbird, FastAPI and pgbench; writes bench/http.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/figures.sh
. scripts/lib/intervals.sh
. scripts/lib/nginx.sh
. scripts/lib/bench-world.sh
. scripts/lib/bench-rounds.sh
. scripts/lib/bench-report.sh
. scripts/lib/bench-polling.sh
. scripts/lib/http-peers.sh
. scripts/lib/http-rounds.sh
. scripts/lib/http-report.sh

# How much is measured: about ten minutes in all, in rounds so short that all sides of a ratio see the same machine.
rounds=${ROUNDS:-12}
round_seconds=1
many_connections=64
select_connections=64
insert_connections=64
paced_share=0.7
static_servers=(merchant echo nginx go hummingbird fastapi)
json_servers=(echo go hummingbird fastapi)
sections=(static alone paced json rows tls auth)

main() {
    local section wanted=("$@")
    for section in "$@"; do
        [[ " ${sections[*]} " == *" $section "* ]] ||
            fail "there is no section \"$section\"; there are ${sections[*]}."
    done
    ((${#wanted[@]} > 0)) || wanted=("${sections[@]}")
    at_exit clean_up
    ensure_toolchain
    ensure_packages nginx-light wrk nghttp2-client strace golang-go golang-github-jackc-pgx-v4-dev python3 python3-venv
    build_programs EchoProgram
    build_peers
    load_before=$(cut -d ' ' -f 1 /proc/loadavg)
    make_scratch
    choose_processors
    start_database
    database_url=postgresql://postgres:$database_password@127.0.0.1:$database_port/$database
    psql_as_superuser "$scratch" --dbname="$database" <bench/rows.sql
    write_settings
    "$programs/merchant" migrate --config "$settings" >"$scratch/migrate.log" ||
        fail "merchant migrate failed; see above."
    start_sandbox
    start_peers
    start_secure_peers

    for section in "${wanted[@]}"; do "measure_$section"; done
    # Of a part nothing is kept: the sections belong to one run.
    if (($# > 0)); then
        for section in "${wanted[@]}"; do "write_$section"; done
        return
    fi
    write_http >"$scratch/http.md"
    cp "$scratch/http.md" bench/http.md
    cat bench/http.md
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
