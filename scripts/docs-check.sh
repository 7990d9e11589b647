#!/usr/bin/env bash
# Check the documents: links resolve, commands and options exist, SQL and console examples run; --skip-build as it says.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/contract-world.sh

scratch=

# ./dev docs-check [--skip-build] [--static]: --static leaves out the console examples, which the tests play as well.
main() {
    local build=1 examples=1 option
    for option in "$@"; do
        case $option in
        --skip-build) build=0 ;;
        --static) examples=0 ;;
        *) fail "the options are --skip-build and --static." ;;
        esac
    done
    at_exit clean_up
    export PYTHONDONTWRITEBYTECODE=1
    ensure_toolchain
    ensure_packages python3
    if ((build)); then
        attend swift build --build-tests || fail "the build failed; see above."
    fi
    programs=${DOCS_PROGRAMS:-$(swift build --show-bin-path)}
    scratch=$(mktemp --directory /tmp/merchant-docs.XXXXXX)
    start_database
    sandbox_port=0
    write_settings
    "$programs/merchant" migrate --config "$settings" >"$scratch/migrate.log" || fail "merchant migrate failed."
    attend python3 scripts/docs/check_documents.py "$programs/merchant" "$postgres_programs/psql" \
        "$(sed -n 's/^DATABASE_URL=//p' "$settings")" ${DOCS_MORE:+"$DOCS_MORE"} ||
        fail "the documents have faults; see above."
    if ((examples)); then
        attend swift test --skip-build --no-parallel --filter GuideTests || fail "an example does not do as shown."
    fi
}

clean_up() {
    stop_children
    if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}

main "$@"
