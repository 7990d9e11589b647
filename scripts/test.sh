#!/usr/bin/env bash
# Check, build and run all tests; arguments go to swift test (--filter NAME).
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh
. scripts/lib/chaos-scratch.sh

output=

main() {
    at_exit remove_all
    ensure_toolchain
    ensure_browser
    ensure_shop_receiver
    ensure_axe
    ensure_kotlin
    ensure_balancer
    attend bash scripts/lint.sh || exit 1
    attend swift build --build-tests || fail "the build failed; see above."
    make_chaos_scratch /tmp
    export TEST_CHAOS_SCRATCH=$chaos_scratch
    # A test that hangs must not look like a slow machine: the tests take 15 to 25 minutes, and 45 are too many.
    output=$(mktemp /tmp/merchant-test-output.XXXXXX)
    # shellcheck disable=SC2016 # The inner shell's.
    attend bash -c 'set -o pipefail; timeout --kill-after=10 45m swift test --no-parallel "${@:2}" 2>&1 | tee "$1"' \
        tests "$output" "$@" || fail_with_failures
}

# What failed stands among thousands of lines, so it is said again where everybody looks first.
fail_with_failures() {
    say "What failed:"
    grep --after-context=4 '^✘.* recorded an issue' "$output" | grep --invert-match '^◇\|^✔' ||
        say "no test by itself: the run ended early, or did not end within 45 minutes; its last line:" \
            "$(tail -n 1 "$output")"
    fail "there are failing tests."
}

remove_all() {
    stop_children
    remove_chaos_scratch
    if [[ -n $output ]]; then rm -f "$output"; fi
}

main "$@"
