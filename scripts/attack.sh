#!/usr/bin/env bash
# Measure what others notice while thousands of slow clients hold on to the server; writes bench/attack.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/figures.sh
. scripts/lib/nginx.sh
. scripts/lib/bench-world.sh
. scripts/lib/bench-report.sh
. scripts/lib/attack-peer.sh
. scripts/lib/attack-rounds.sh
. scripts/lib/attack-report.sh

# How much is measured: a few minutes in all.
attackers=2000
attacks=(slow-headers slow-body slow-read)
attack_rounds=3 round_seconds=4
good_clients=20 good_rate=50
idle_connections=10000
rest_seconds=8

main() {
    at_exit clean_up
    ensure_toolchain
    ensure_packages slowhttptest nghttp2-client nginx-light
    ulimit -n "$(ulimit -Hn)"
    (($(ulimit -n) > idle_connections + 2000)) ||
        fail "$idle_connections connections need more than the $(ulimit -n) descriptors allowed here (ulimit -Hn)."
    build_programs
    load_before=$(cut -d ' ' -f 1 /proc/loadavg)
    make_scratch
    choose_processors
    start_database
    write_settings
    "$programs/merchant" migrate --config "$settings" >"$scratch/migrate.log" ||
        fail "merchant migrate failed; see above."
    start_sandbox

    make_tokens good 1
    start_merchant
    measure_idle_connections
    stop_child "$merchant_pid"

    start_merchant
    document_kib=$(($(curl --silent --noproxy '*' "$merchant_url/openapi.json" | wc -c) / 1024))
    start_attacked_nginx
    for attack in "${attacks[@]}"; do measure_attack "$attack"; done
    stop_child "$merchant_pid"

    write_attacks >"$scratch/attack.md"
    cp "$scratch/attack.md" bench/attack.md
    cat bench/attack.md
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
