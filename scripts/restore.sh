#!/usr/bin/env bash
# Lose the database while people pay, and restore it from base backup and archived log; writes docs/operations.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh
. scripts/lib/section.sh

# ./dev restore [PROGRAMS=DIRECTORY]: with the programs that are built there, or a release build of its own.
main() {
    local programs='' status=0
    case ${1:-} in
    '') ;;
    PROGRAMS=*) programs=$(readlink -f "${1#*=}") ;;
    *) fail "say PROGRAMS=DIRECTORY." ;;
    esac
    is_root || fail "this makes network namespaces, and needs root."
    at_exit clean_up
    ensure_packages postgresql haproxy iproute2 openssl python3
    if [[ -z $programs ]]; then
        ensure_toolchain
        build_programs phone
    fi
    scratch=$(mktemp --directory /var/tmp/merchant-restore.XXXXXX)
    chmod 755 "$scratch"
    # shellcheck disable=SC2016 # The inner shell's.
    attend unshare --net --mount --pid --fork --kill-child --mount-proc bash -c '"$@"; exit $?' init \
        env PYTHONPATH=deploy/patroni PYTHONDONTWRITEBYTECODE=1 python3 -m trial.restore \
        --programs "$programs" --scratch "$scratch" --section "$scratch/section.md" || status=$?
    ((status == 0)) || tail -n 20 "$scratch/db1.log" >&2
    ((status == 0)) || fail "something is missing after it, or it could not be played; see above."
    write_section docs/operations.md restore-to-a-moment "$scratch/section.md"
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
