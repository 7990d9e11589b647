#!/usr/bin/env bash
# Play simulated days in which everything goes wrong: RUNS=n of them, or the one of SEED=n with its trace.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/toolchain.sh

# For a checkout that is built with flags of its own.
read -ra flags <<<"${SWIFT_BUILD_FLAGS:-}"

# Several processes one after the other: what a killed server leaves behind stays in memory.
batch=250

main() {
    local wish runs='' seed='' first=1
    for wish in "$@"; do
        case $wish in
        RUNS=*[!0-9]* | SEED=*[!0-9]* | FIRST=*[!0-9]* | RUNS= | SEED= | FIRST=) fail "$wish is no number." ;;
        RUNS=*) runs=${wish#*=} ;;
        SEED=*) seed=${wish#*=} ;;
        FIRST=*) first=${wish#*=} ;;
        *) fail "say RUNS=n (and FIRST=n, where to begin), or SEED=n." ;;
        esac
    done
    [[ -n $runs || -n $seed ]] || runs=200
    ensure_toolchain
    swift build --build-tests "${flags[@]}" || fail "the build failed; see above."
    # The order in which a set gives its members must not differ from run to run.
    export SWIFT_DETERMINISTIC_HASHING=1
    if [[ -n $seed ]]; then
        SIMULATE_SEED=$seed play || fail "promises were broken on day $seed; see above."
        return
    fi
    local broken=0 count
    while ((runs > 0)); do
        count=$((runs < batch ? runs : batch))
        SIMULATE_RUNS=$count SIMULATE_FIRST=$first play || broken=1
        ((first += count, runs -= count)) || true
    done
    ((broken == 0)) || fail "promises were broken; ./dev simulate SEED=n shows how."
}

play() {
    timeout --kill-after=10 60m swift test --skip-build "${flags[@]}" --no-parallel --filter SimulationProgram
}

main "$@"
