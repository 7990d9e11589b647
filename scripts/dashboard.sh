#!/usr/bin/env bash
# Draw the dashboard with live data into DIRECTORY (.local/dashboard), in a quiet time and in bad ones, to be looked at.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/contract-world.sh
. scripts/lib/monitored-world.sh

scratch=

# ./dev dashboard [PROGRAMS=DIRECTORY] [DIRECTORY]
main() {
    local wish programs='' directory=$local_directory/dashboard tools=$PWD/.local/dashboard-tools
    for wish in "$@"; do
        case $wish in
        PROGRAMS=*) programs=$(readlink -f "${wish#*=}") ;;
        *) directory=$wish ;;
        esac
    done
    at_exit clean_up
    export PYTHONDONTWRITEBYTECODE=1
    ensure_toolchain
    ensure_packages python3 python3-venv prometheus prometheus-alertmanager
    make_python_environment "$tools" scripts/monitoring/requirements.txt ||
        fail "its tools are out of reach; see above."
    if [[ -z $programs ]]; then
        local product
        for product in merchant belvo-sandbox phone; do
            attend swift build --product "$product" || fail "the build of $product failed; see above."
        done
        programs=$(swift build --show-bin-path)
    fi
    mkdir -p "$directory"
    make_world
    attend "$tools/bin/python" scripts/monitoring/pictures.py "$world" deploy/monitoring "$directory" ||
        fail "the dashboard could not be drawn; see above."
}

clean_up() {
    stop_children
    if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}

main "$@"
