#!/usr/bin/env bash
# Make every alert fire and stop by its fault, and ask all that the dashboard asks; --skip-build takes what is built.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/contract-world.sh
. scripts/lib/monitored-world.sh

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

clean_up() {
    stop_children
    if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}

main "$@"
