#!/usr/bin/env bash
# Check the running server against its OpenAPI document from outside; --skip-build takes the programs that are there.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/contract-world.sh

document=contract/openapi.json
tools=$local_directory/contract
scratch=

main() {
    case ${1:-} in
    '' | --skip-build) ;;
    *) fail "the only option is --skip-build." ;;
    esac
    at_exit clean_up
    # Nothing is written beside the sources.
    export PYTHONDONTWRITEBYTECODE=1
    ensure_toolchain
    ensure_packages python3 python3-venv
    use_local_directory
    make_python_environment "$tools/python" scripts/contract/requirements.txt ||
        fail "schemathesis could not be installed; see above."
    python=$tools/python/bin/python
    say "Checking $document itself ..."
    attend "$python" scripts/contract/check_document.py "$document" || fail "the document has faults; see above."
    build_programs "$@"
    make_world
    say "Playing a journey, as an app does ..."
    attend "$python" scripts/contract/play_flow.py "$document" "$world" ||
        fail "the journey does not go as the document says; see above."
    run_schemathesis
    say "Nothing found."
}

build_programs() {
    local product
    if [[ ${1:-} != --skip-build ]]; then
        for product in merchant belvo-sandbox phone; do
            attend swift build --product "$product" || fail "the build of $product failed; see above."
        done
    fi
    programs=$(swift build --show-bin-path)
}

# All checks and all phases, with a fixed seed, so that a run that found something finds it again.
run_schemathesis() {
    local configuration=$root/scripts/contract/schemathesis.toml
    # From the scratch directory: what it remembered of earlier runs would make this one another one.
    export CONTRACT_TOKEN CONTRACT_WORLD=$world CONTRACT_DOCUMENT=$root/$document
    export PYTHONPATH=$root/scripts/contract SCHEMATHESIS_HOOKS=hooks
    attend env --chdir="$scratch" NO_COLOR=1 "$tools/python/bin/schemathesis" --config-file "$configuration" \
        run "$root/$document" --url "$merchant_url" ||
        fail "the server does not do as its document says; see above."
}

clean_up() {
    stop_children
    if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}

main "$@"
