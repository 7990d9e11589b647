#!/usr/bin/env bash
# Build the release before (CHANGELOG.md) and replace it by this one while people pay; writes docs/operations.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh
. scripts/lib/section.sh

# ./dev upgrade [PROGRAMS=DIRECTORY] [BEFORE=DIRECTORY]: with the programs that are built there, this release's and the
# one before, or builds of its own.
main() {
    local wish programs='' before='' commit status=0
    for wish in "$@"; do
        case $wish in
        PROGRAMS=*) programs=$(readlink -f "${wish#*=}") ;;
        BEFORE=*) before=$(readlink -f "${wish#*=}") ;;
        *) fail "say PROGRAMS=DIRECTORY or BEFORE=DIRECTORY." ;;
        esac
    done
    is_root || fail "this makes network namespaces, and needs root."
    at_exit clean_up
    ensure_packages postgresql haproxy iproute2 openssl python3 git
    scratch=$(mktemp --directory /var/tmp/merchant-upgrade.XXXXXX)
    chmod 755 "$scratch"
    commit=$(sed -n 's/^## .* (commit \([0-9a-f]*\))$/\1/p' CHANGELOG.md | head -1)
    if [[ -z $programs ]]; then
        ensure_toolchain
        build_programs phone
    fi
    if [[ -z $before ]]; then
        ensure_toolchain
        git -c safe.directory='*' archive --prefix=before/ "$commit" | tar --extract --directory "$scratch" ||
            fail "this checkout has no commit $commit."
        say "Building the release before, commit $commit ..."
        (cd "$scratch/before" && MERCHANT_COMMIT=${commit:0:12} swift build --product merchant) ||
            fail "the release before could not be built; see above."
        before=$scratch/before/.build/debug
    fi
    # shellcheck disable=SC2016 # The inner shell's.
    attend unshare --net --mount --pid --fork --kill-child --mount-proc bash -c '"$@"; exit $?' init \
        env PYTHONPATH=deploy/patroni PYTHONDONTWRITEBYTECODE=1 python3 -m trial.upgrade --before "$before" \
        --programs "$programs" --scratch "$scratch" --section "$scratch/section.md" || status=$?
    ((status == 0)) || fail "a promise was broken, or it could not be played; see above."
    write_section docs/operations.md upgrade "$scratch/section.md"
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
