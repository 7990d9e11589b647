#!/usr/bin/env bash
# Measure what a payment costs at rising rates beside few and many finished ones; writes bench/scale.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh

# ./dev bench-scale [DIRECTORY]: with the programs that are built in that directory, or a release build of its own.
main() {
    at_exit stop_children
    ensure_toolchain
    ensure_packages python3
    if (($# > 0)); then programs=$(readlink -f "$1"); else build_programs; fi
    measure scale --programs "$programs"
}

main "$@"
