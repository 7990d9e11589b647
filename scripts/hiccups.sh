#!/usr/bin/env bash
# Measure how long an app is kept by one failure of Belvo's, at each call; writes a table of docs/belvo-failures.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh

main() {
    at_exit stop_children
    ensure_toolchain
    ensure_packages python3
    build_programs phone
    measure hiccups --programs "$programs" "$@"
}

main "$@"
