# Sourced by every script, from the root of the checkout: how it speaks, how it fails, how long it waits.
# shellcheck shell=bash

root=$PWD
# Everything that ./dev run keeps between two runs. Other users may pass through it (PostgreSQL does not run as root
# and has its data below), but every file in it is its owner's alone.
local_directory=$root/.local

# Where the demo's database goes when root runs it in a checkout that PostgreSQL's user cannot reach.
cluster_elsewhere() { printf '/var/lib/biometric-pix-merchant/%s\n' "$(cksum <<<"$root" | tr ' ' -)"; }

say() { printf '%s\n' "$*"; }

fail() {
    printf './dev %s: %s\n' "$(basename "$0" .sh)" "$*" >&2
    exit 1
}

is_root() { ((EUID == 0)); }

# as_root COMMAND...: runs it directly or through sudo, without ever asking for a password that nobody is there to type.
as_root() {
    if is_root; then
        "$@"
    elif ! command -v sudo >/dev/null; then
        fail "this needs root, and there is no sudo. As root, run: $*"
    elif [[ -t 0 ]]; then
        sudo "$@"
    else
        sudo --non-interactive "$@"
    fi
}

# wait_for SECONDS PID COMMAND...: tries COMMAND ten times a second; gives up after SECONDS, or when process PID ended.
wait_for() {
    local deadline=$((SECONDS + $1)) pid=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        kill -0 "$pid" 2>/dev/null || return 1
        ((SECONDS < deadline)) || return 1
        sleep 0.1
    done
}

# show_end FILE: the last lines of a log, indented, on standard error.
show_end() { tail -n 15 "$1" 2>/dev/null | sed 's/^/    /' >&2; }

# use_local_directory: makes .local and checks that it is ours to write to.
use_local_directory() {
    umask 077
    mkdir -p "$local_directory" 2>/dev/null || fail "cannot make $local_directory: the checkout is not yours."
    check_local_directory
    if [[ -O $local_directory ]]; then chmod 711 "$local_directory"; fi
}

check_local_directory() {
    [[ -w $local_directory ]] ||
        fail "$local_directory belongs to $(stat -c %U "$local_directory"), who alone may use or reset it."
}

# lock_local_directory: one ./dev run at a time; descriptor 9 holds the lock until the script ends.
lock_local_directory() {
    exec 9>>"$local_directory/run.lock"
    flock --nonblock 9 || fail "another ./dev run is at work in this checkout; stop that one first (Ctrl-C)."
}
