#!/usr/bin/env bash
# Build the images of the Dockerfile with buildah, and run the one for production without any right.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh

# ./dev image [PROGRAMS=DIRECTORY] [BASE=DIRECTORY] [LIBRARIES=DIRECTORY]: with the programs that are built there, or a
# release build of its own; with a Debian that was made before, or one that debootstrap makes; and with the libraries
# that programs need which are not linked statically.
main() {
    local wish programs='' base='' libraries=()
    for wish in "$@"; do
        case $wish in
        PROGRAMS=*) programs=$(readlink -f "${wish#*=}") ;;
        BASE=*) base=$(readlink -f "${wish#*=}") ;;
        LIBRARIES=*) libraries=(--libraries "${wish#*=}") ;;
        *) fail "say PROGRAMS=DIRECTORY, BASE=DIRECTORY or LIBRARIES=DIRECTORY." ;;
        esac
    done
    is_root || fail "building an image needs root here."
    at_exit clean_up
    ensure_packages buildah podman runc debootstrap postgresql
    if [[ -z $programs ]]; then
        ensure_toolchain
        build_programs
    fi
    scratch=$(mktemp --directory /var/tmp/merchant-image.XXXXXX)
    chmod 755 "$scratch"
    if [[ -z $base ]]; then
        base=$scratch/base
        attend debootstrap --variant=minbase bookworm "$base" >"$scratch/debootstrap.log" ||
            fail "debootstrap failed; see $scratch/debootstrap.log."
    fi
    attend python3 deploy/try_image.py build --programs "$programs" --base "$base" --scratch "$scratch" ||
        fail "an image could not be built; see above."
    # shellcheck disable=SC2016 # The inner shell's.
    attend unshare --net bash -c 'ip link set lo up && exec "$@"' network \
        python3 deploy/try_image.py run --scratch "$scratch" "${libraries[@]}" ||
        fail "an image is not as it has to be; see above."
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
