#!/usr/bin/env bash
# Check, build and run all tests; arguments go to swift test (--filter NAME).
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh
. scripts/lib/chaos-scratch.sh

main() {
    local bundle
    at_exit remove_all
    ensure_toolchain
    ensure_browser
    ensure_shop_receiver
    ensure_axe
    ensure_kotlin
    ensure_balancer
    ensure_packages python3
    attend bash scripts/lint.sh || exit 1
    attend swift build --build-tests || fail "the build failed; see above."
    make_chaos_scratch /tmp
    export TEST_CHAOS_SCRATCH=$chaos_scratch
    if (($# > 0)); then
        attend swift test --skip-build --no-parallel "$@" || fail "there are failing tests."
    else
        bundle=$(swift build --show-bin-path)/biometric-pix-merchantPackageTests.xctest
        attend python3 scripts/tests/run.py "$bundle" || fail "there are failing tests; see above."
    fi
}

remove_all() {
    stop_children
    remove_chaos_scratch
}

main "$@"
