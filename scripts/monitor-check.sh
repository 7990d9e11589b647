#!/usr/bin/env bash
# Make every alert fire and stop by its fault, and ask all that the dashboard asks; --skip-build takes what is built.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/contract-world.sh

scratch=

# ./dev monitor-check [--skip-build] [--short] [ALERT...]
main() {
    local build=1
    if [[ ${1:-} == --skip-build ]]; then
        build=0
        shift
    fi
    at_exit clean_up
    export PYTHONDONTWRITEBYTECODE=1
    ensure_toolchain
    ensure_packages python3 prometheus prometheus-alertmanager
    build_programs "$build"
    make_world
    attend python3 scripts/monitoring/check.py "$world" deploy/monitoring "$@" ||
        fail "monitoring does not do as it should; see above."
}

build_programs() {
    local product
    if (($1)); then
        for product in merchant belvo-sandbox phone; do
            attend swift build --product "$product" || fail "the build of $product failed; see above."
        done
    fi
    programs=${MONITOR_PROGRAMS:-$(swift build --show-bin-path)}
}

# In place of those of contract-world.sh: the check starts and stops the server itself.
start_merchant() { :; }

start_sandbox() {
    start belvo-sandbox TERM "$scratch/belvo-sandbox.log" "$programs/belvo-sandbox" serve --mode test \
        --listen "127.0.0.1:$sandbox_port" --public-url "$sandbox_url" \
        --tls-cert-file "$scratch/secrets/server.pem" --tls-key-file "$scratch/secrets/server.key"
    wait_for 30 "$started" answers "$sandbox_url/" || fail_for "$started" "belvo-sandbox does not answer"
    export MONITOR_PROGRAMS=$programs MONITOR_SETTINGS=$settings MONITOR_SCRATCH=$scratch
    export MONITOR_PSQL=$postgres_programs/psql MONITOR_DATABASE_DATA=$scratch/data
}

clean_up() {
    stop_children
    if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}

main "$@"
