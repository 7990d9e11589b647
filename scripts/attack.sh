#!/usr/bin/env bash
# Measure what customers notice of floods, and others while thousands of slow clients hold on; writes bench/attack.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh

main() {
    at_exit stop_children
    ensure_toolchain
    ensure_packages slowhttptest nghttp2-client nginx-light python3
    build_programs phone
    measure attack --programs "$programs" "$@"
}

main "$@"
