#!/usr/bin/env bash
# Play deploy/compose without Docker: each service in namespaces of its own, while people pay; writes deploy/README.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh
. scripts/lib/section.sh

# ./dev compose [PROGRAMS=DIRECTORY]: with the programs that are built there, or a release build of its own.
main() {
    local wish programs='' tools=$PWD/.local/deploy status=0
    for wish in "$@"; do
        case $wish in
        PROGRAMS=*) programs=$(readlink -f "${wish#*=}") ;;
        *) fail "say PROGRAMS=DIRECTORY." ;;
        esac
    done
    is_root || fail "this makes network namespaces, and needs root."
    at_exit clean_up
    ensure_packages python3 python3-venv postgresql haproxy nftables iproute2 openssl
    make_python_environment "$tools" deploy/requirements.txt || fail "its tools are out of reach; see above."
    if [[ -z $programs ]]; then
        ensure_toolchain
        build_programs phone
    fi
    scratch=$(mktemp --directory /var/tmp/merchant-compose.XXXXXX)
    chmod 755 "$scratch"
    # shellcheck disable=SC2016 # The inner shell's.
    attend unshare --net --mount --pid --fork --kill-child --mount-proc bash -c '"$@"; exit $?' init \
        env PYTHONPATH=deploy/patroni PYTHONDONTWRITEBYTECODE=1 "$tools/bin/python" -m trial.compose \
        --programs "$programs" --scratch "$scratch" --section "$scratch/section.md" || status=$?
    ((status == 0)) || fail "a promise was broken, or it could not be played; see above."
    write_section deploy/README.md compose "$scratch/section.md"
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
