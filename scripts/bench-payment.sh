#!/usr/bin/env bash
# Count what one paid payment costs: calls to Belvo, commits, statements, bytes of log; writes bench/payment.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh

# ./dev bench-payment [DIRECTORY]: with the programs that are built in that directory, or a release build of its own.
main() {
    at_exit stop_children
    ensure_toolchain
    ensure_packages python3
    if (($# > 0)); then programs=$(readlink -f "$1"); else build_programs; fi
    measure payment --programs "$programs"
}

main "$@"
