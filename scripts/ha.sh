#!/usr/bin/env bash
# Break a site with PostgreSQL under Patroni while people pay; writes docs/high-availability.md (NAME: only that one).
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh
. scripts/lib/section.sh

# ./dev ha [PROGRAMS=DIRECTORY] [SCENARIO...]: with the programs that are built there, or a release build of its own.
main() {
    local wish programs='' scenarios=() document=docs/high-availability.md status=0
    for wish in "$@"; do
        case $wish in
        PROGRAMS=*) programs=$(readlink -f "${wish#*=}") ;;
        *) scenarios+=("$wish") ;;
        esac
    done
    is_root || fail "this makes network namespaces, and needs root."
    at_exit clean_up
    # Their services are not wanted: everything is started in namespaces of its own.
    ensure_packages postgresql etcd-server patroni haproxy nftables iproute2 openssl python3
    if [[ -z $programs ]]; then
        ensure_toolchain
        build_programs phone
    fi
    scratch=$(mktemp --directory /var/tmp/merchant-ha.XXXXXX)
    chmod 755 "$scratch"
    # The first process of the namespaces takes everything with it when it ends, and buries what has no parent any more:
    # Patroni waits for that.
    # shellcheck disable=SC2016 # The inner shell's.
    attend unshare --net --mount --pid --fork --kill-child --mount-proc bash -c '"$@"; exit $?' init \
        env PYTHONPATH=deploy/patroni PYTHONDONTWRITEBYTECODE=1 \
        python3 -m trial --programs "$programs" --scratch "$scratch" --section "$scratch/section.md" \
        "${scenarios[@]}" || status=$?
    if ((status == 0 && ${#scenarios[@]} == 0)); then write_section "$document" ha "$scratch/section.md"; fi
    case $status in
    0) ;;
    1) fail "promises were broken; see above." ;;
    *) keep_scratch=1 fail "it could not be played; see above and the logs in $scratch." ;;
    esac
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} && -z ${keep_scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
