#!/usr/bin/env bash
# Check, build and run all tests on a throw-away database; arguments go to swift test (--filter NAME).
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/toolchain.sh
. scripts/lib/test-database.sh

main() {
    at_exit remove_test_database
    ensure_toolchain
    ensure_browser
    ensure_shop_receiver
    attend bash scripts/lint.sh || exit 1
    attend swift build --build-tests || fail "the build failed; see above."
    start_test_database
    # A test that hangs must not look like a slow machine: the tests take five minutes, and 30 are too many.
    attend timeout --kill-after=10 30m swift test --no-parallel "$@" ||
        fail "there are failing tests, or they did not end within 30 minutes; see above."
}

main "$@"
