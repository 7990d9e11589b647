#!/usr/bin/env bash
# Measure speed and memory beside nginx and pgbench; writes bench/results.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/figures.sh
. scripts/lib/bench-world.sh
. scripts/lib/bench-rounds.sh
. scripts/lib/bench-report.sh

# How much is measured: in all a few minutes, in rounds so short that both sides of a ratio see the same machine.
livez_connections=64 livez_rounds=5
creation_users=32 creation_rounds=5
payment_users=(8 32 128) payment_rounds=3
payment_poll_ms=100
starts=10
warm_up_seconds=2
round_seconds=2
idle_seconds=3

main() {
    at_exit clean_up
    ensure_toolchain
    ensure_packages nginx-light wrk
    build_programs
    load_before=$(cut -d ' ' -f 1 /proc/loadavg)
    make_scratch
    choose_processors
    start_database
    write_settings
    "$programs/merchant" migrate --config "$settings" >"$scratch/migrate.log" ||
        fail "merchant migrate failed; see above."
    start_sandbox

    measure_starts

    # The polling interval would be most of a payment's time, and the users are not what is measured.
    start_merchant "POLL_INTERVAL_MS=$payment_poll_ms"
    start_load
    measure_payments
    stop_child "$merchant_pid"

    start_merchant
    measure_idle_memory
    start_nginx
    measure_livez
    stop_child "$nginx_pid"
    measure_creations
    take loaded_kib "$(resident_kib "$merchant_pid")"

    write_results >"$scratch/results.md"
    cp "$scratch/results.md" bench/results.md
    cat bench/results.md
}

build_programs() {
    local product
    for product in merchant belvo-sandbox LoadProgram; do
        attend swift build --configuration release --product "$product" ||
            fail "the build of $product failed; see above."
    done
    programs=$(swift build --configuration release --show-bin-path)
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
