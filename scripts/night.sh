#!/usr/bin/env bash
# Let a shop run through a night of faults, and write what operators see of it into docs/operations.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/bench-world.sh
. scripts/lib/night-faults.sh
. scripts/lib/night-restore.sh
. scripts/lib/night-report.sh

# How many users pay, each as fast as the server lets him; one of them goes to bed early.
payment_users=(9)
night_owls=8
document=docs/operations.md

# ./dev night [DIRECTORY]: with the programs that are built in that directory, or a release build of its own.
main() {
    at_exit clean_up
    if (($# > 0)); then
        programs=$(readlink -f "$1")
    else
        ensure_toolchain
        build_programs
    fi
    make_scratch
    choose_processors
    start_database
    write_settings
    write_night_settings
    "$programs/merchant" migrate --config "$settings" >"$scratch/migrate.log" || fail "merchant migrate failed."
    start_night_sandbox
    start_merchant
    start_load
    pass_the_night
    write_report "$document"
    say "$document has what the night left behind."
}

# What a night has beside a benchmark: a shop that is told, shorter patience with phones, and no more room for noise.
write_night_settings() {
    shop_port=$(free_port $((sandbox_port + 20)))
    shop_token=$(openssl rand -hex 32)
    webhook_token=$(sed -n 's/^BELVO_WEBHOOK_TOKEN=//p' "$settings")
    admin_url=http://$(sed -n 's/^ADMIN_LISTEN=//p' "$settings")
    printf '%s\n' \
        "SHOP_TOKEN=$shop_token" \
        "SHOP_WEBHOOK_URL=http://127.0.0.1:$shop_port/events" \
        "SHOP_WEBHOOK_SECRET=whsec_$(openssl rand -base64 32)" \
        "POLL_INTERVAL_MS=500" \
        "POLL_DEADLINE_MS=20000" >>"$settings"
}

start_night_sandbox() {
    start belvo-sandbox TERM "$scratch/belvo-sandbox.log" "$programs/belvo-sandbox" serve \
        --mode demo --settle-after-ms 500 --listen "127.0.0.1:$sandbox_port" --public-url "$sandbox_url" \
        --tls-cert-file "$scratch/secrets/server.pem" --tls-key-file "$scratch/secrets/server.key" \
        --webhook-url "$merchant_url/webhooks/belvo" --webhook-token "$webhook_token" --webhook-retry-ms 5000
    sandbox_pid=$started
    wait_for 30 "$sandbox_pid" answers "$sandbox_url/" || fail_for "$sandbox_pid" "belvo-sandbox does not answer"
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
