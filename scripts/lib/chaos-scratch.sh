# Where ./dev chaos and its short versions among the tests write, and what they leave there when they are ended early.
# shellcheck shell=bash

# make_chaos_scratch PARENT: makes a directory that PostgreSQL's user may enter; sets `chaos_scratch`.
make_chaos_scratch() {
    chaos_scratch=$(mktemp --directory "$1/merchant-chaos.XXXXXX")
    chmod 755 "$chaos_scratch"
}

# remove_chaos_scratch: removes it, and before that what still works in it and what is mounted there.
remove_chaos_scratch() {
    local process mounted
    [[ -n ${chaos_scratch:-} ]] || return 0
    # All that is started there dies with who started it, but for PostgreSQL while it is stopped in its tracks: that it
    # is to end reaches it only when it goes on.
    for process in /proc/[0-9]*; do
        if [[ $(readlink "$process/cwd" 2>/dev/null) == "$chaos_scratch"/* ]]; then
            kill -s KILL "${process#/proc/}" 2>/dev/null || true
        fi
    done
    while read -r _ mounted _; do
        if [[ $mounted == "$chaos_scratch"/* ]]; then umount --lazy "$mounted"; fi
    done </proc/self/mounts
    rm -rf "$chaos_scratch"
}
