#!/usr/bin/env bash
# Make the Debian package, install, use, upgrade and remove it on a machine of its own; writes docs/first-deployment.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh
. scripts/lib/section.sh

# ./dev package [PROGRAMS=DIRECTORY] [MANUAL=DIRECTORY] [BASE=DIRECTORY] [only]: with the programs that are built there,
# statically linked, or a release build of its own; with what ./dev manual wrote there, or its pages made anew; with a
# Debian that was made before, or one that debootstrap makes. `only` makes the package and nothing else.
main() {
    local wish programs='' manual='' base='' only=''
    for wish in "$@"; do
        case $wish in
        PROGRAMS=*) programs=$(readlink -f "${wish#*=}") ;;
        MANUAL=*) manual=$(readlink -f "${wish#*=}") ;;
        BASE=*) base=$(readlink -f "${wish#*=}") ;;
        only) only=1 ;;
        *) fail "say PROGRAMS=DIRECTORY, MANUAL=DIRECTORY, BASE=DIRECTORY or only." ;;
        esac
    done
    at_exit clean_up
    ensure_packages dpkg-dev binutils python3
    if [[ -z $programs ]]; then
        ensure_toolchain
        build_programs phone
    fi
    mkdir -p .local/packages
    if [[ -z $manual ]]; then
        manual=.local/manual
        attend bash scripts/manual.sh "$manual" || fail "the manual pages could not be made; see above."
    fi
    local package
    package=$(python3 deploy/debian/make_package.py "$programs/merchant" "$manual" .local/packages) ||
        fail "the package could not be made; see above."
    say "Made $package."
    [[ -z $only ]] || return 0
    is_root || fail "installing it on a machine of its own needs root; ./dev package only makes it."
    ensure_packages debootstrap systemd-container openssl curl
    scratch=$(mktemp --directory /var/tmp/merchant-package.XXXXXX)
    if [[ -z $base ]]; then
        base=$scratch/base
        # As somebody has it who wants PostgreSQL on the same machine.
        attend debootstrap --variant=minbase \
            --include=systemd,systemd-sysv,dbus,ca-certificates,adduser,curl,openssl,postgresql,libpq5,libssl3 \
            bookworm "$base" >"$scratch/debootstrap.log" || fail "debootstrap failed; see $scratch/debootstrap.log."
    fi
    # An upgrade is one to a higher number.
    local newer
    newer=$(python3 deploy/debian/make_package.py "$programs/merchant" "$manual" "$scratch" --version 9999.0.0)
    # The machine has a network of its own, in which its ports are free.
    # shellcheck disable=SC2016 # The inner shell's.
    attend unshare --net --mount bash -c 'ip link set lo up && exec "$@"' network \
        python3 deploy/debian/try_package.py --package "$package" --newer "$newer" --programs "$programs" \
        --base "$base" --scratch "$scratch" --transcript "$scratch/transcript.md" ||
        fail "it did not go as its documentation says; see above."
    write_section docs/first-deployment.md transcript "$scratch/transcript.md"
}

clean_up() {
    stop_children
    if [[ -n ${scratch:-} ]]; then rm -rf "$scratch"; fi
}

main "$@"
