#!/usr/bin/env bash
# Measure speed and memory, or with `waiting`, `polling` or `webhooks` only that section; writes bench/results.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh

main() {
    at_exit stop_children
    ensure_toolchain
    ensure_packages nginx-light wrk nghttp2-client python3
    build_programs
    measure speed --programs "$programs" "$@"
}

main "$@"
