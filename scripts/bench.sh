#!/usr/bin/env bash
# Measure speed and memory, or with `waiting`, `polling` or `webhooks` only that section; writes bench/results.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/figures.sh
. scripts/lib/nginx.sh
. scripts/lib/bench-world.sh
. scripts/lib/bench-rounds.sh
. scripts/lib/bench-report.sh
. scripts/lib/bench-waiting.sh
. scripts/lib/bench-waiting-report.sh
. scripts/lib/bench-polling.sh
. scripts/lib/bench-polling-report.sh
. scripts/lib/bench-webhooks.sh
. scripts/lib/bench-webhooks-report.sh

# How much is measured: in all a few minutes, in rounds so short that both sides of a ratio see the same machine.
livez_connections=64 livez_rounds=5
creation_users=32 creation_rounds=5
payment_users=(8 32 128) payment_rounds=3
payment_poll_ms=100
starts=10
warm_up_seconds=2
round_seconds=2
idle_seconds=3
waiting_apps=10000 waiting_users=50 waiting_changes=200
polling_pending=(10 1000 10000) polling_finished=1000000 polling_rounds=3
polling_seconds=20 polling_warm_up_seconds=10
webhook_connections=8 webhook_rounds=5 webhook_seconds=4

main() {
    local section=${1:-all}
    [[ $section =~ ^(all|waiting|polling|webhooks)$ ]] ||
        fail "there is no section \"$section\"; there are \"waiting\", \"polling\" and \"webhooks\"."
    at_exit clean_up
    ensure_toolchain
    if [[ $section == all ]]; then ensure_packages nginx-light; fi
    if [[ $section =~ ^(all|webhooks)$ ]]; then ensure_packages wrk; fi
    if [[ $section =~ ^(all|polling)$ ]]; then ensure_packages nghttp2-client; fi
    build_programs
    load_before=$(cut -d ' ' -f 1 /proc/loadavg)
    make_scratch
    choose_processors
    start_database
    write_settings
    "$programs/merchant" migrate --config "$settings" >"$scratch/migrate.log" ||
        fail "merchant migrate failed; see above."
    start_sandbox
    if [[ $section != all ]]; then
        "measure_$section"
        replace_section "$section"
        return
    fi

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
    stop_child "$load_pid"
    stop_child "$merchant_pid"

    measure_waiting
    measure_polling
    measure_webhooks

    {
        write_results
        printf '\n'
        write_waiting
        printf '\n'
        write_polling
        printf '\n'
        write_webhooks
    } >"$scratch/results.md"
    cp "$scratch/results.md" bench/results.md
    cat bench/results.md
}

# replace_section NAME: the section's part of bench/results.md, written anew at its end.
replace_section() {
    "write_$1" >"$scratch/section.md"
    {
        awk -v heading="$(head -n 1 "$scratch/section.md")" '
            /^## / { skipped = $0 == heading }
            !skipped' bench/results.md | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
        printf '\n'
        cat "$scratch/section.md"
    } >"$scratch/results.md"
    cp "$scratch/results.md" bench/results.md
    cat "$scratch/section.md"
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
