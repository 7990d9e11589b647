#!/usr/bin/env bash
# Take each guard out in turn and play simulated days (RUNS=n at most) until one shows that it is missing.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh

# For a checkout that is built with flags of its own.
read -ra flags <<<"${SWIFT_BUILD_FLAGS:-}"

# Guards in the database and in statements, taken out while it runs (Tests/SimulationTests/Checks/Mutant.swift).
in_statements=(one_at_a_time authorized_alone token_holders alarms_raised fencing_token order_in_use price_held
    key_claimed_once)
missed=()
applied=

main() {
    local runs=150 wish patch name only=''
    for wish in "$@"; do
        case $wish in
        RUNS=*[!0-9]* | RUNS=) fail "$wish is no number." ;;
        RUNS=*) runs=${wish#*=} ;;
        ONLY=*) only=${wish#*=} ;;
        *) fail "say RUNS=n, or ONLY=name, or nothing." ;;
        esac
    done
    git diff --quiet -- Sources || fail "Sources has changes that are not committed; the patches are put on top of it."
    at_exit take_back
    ensure_toolchain
    export SWIFT_DETERMINISTIC_HASHING=1
    build || fail "the build failed."
    for name in "${in_statements[@]}"; do
        [[ -z $only || $only == "$name" ]] || continue
        SIMULATE_MUTANT=$name SIMULATE_RUNS=$runs play "$name"
    done
    # Guards in Swift are taken out of the sources, which are as they were when this ends.
    for patch in scripts/mutants/*.patch; do
        name=$(basename "$patch" .patch)
        [[ -z $only || $only == "$name" ]] || continue
        git apply "$patch" || fail "$patch does not fit the sources any more."
        applied=$patch
        build || fail "without $name it does not build."
        SIMULATE_MUTANT=sources SIMULATE_RUNS=$runs play "$name"
        take_back
    done
    ((${#missed[@]} == 0)) || fail "nobody noticed that these were missing: ${missed[*]}"
    say "Every guard is missed when it is not there."
}

build() { swift build --build-tests "${flags[@]}" >"${TMPDIR:-/tmp}/mutant-build.log" 2>&1 || {
    show_end "${TMPDIR:-/tmp}/mutant-build.log"
    return 1
}; }

play() {
    local line
    line=$(timeout --kill-after=10 60m swift test --skip-build "${flags[@]}" --no-parallel \
        --filter SimulationProgram 2>&1 | grep --max-count=1 --extended-regexp '^NOTICED|MISSED') || true
    say "$1: ${line:-it ended without a word}"
    [[ $line == NOTICED* ]] || missed+=("$1")
}

take_back() {
    if [[ -n $applied ]]; then git apply --reverse "$applied"; fi
    applied=
}

main "$@"
