#!/usr/bin/env bash
# Let chance choose faults, tell of each by its alert alone, and take down how long who is on call needs for the cause.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/contract-world.sh
. scripts/lib/monitored-world.sh
. scripts/lib/section.sh

scratch=

# ./dev drill [PROGRAMS=DIRECTORY] [FAULTS=COUNT] [keep]: with the programs that are built there, or a debug build of
# its own; `keep` adds the round to docs/drills.md. It asks on standard input, and says first where everything is. With
# names of faults, divided by commas, in place of a count it shows those: `yes - | ./dev drill FAULTS=server_killed`.
main() {
    local wish programs='' faults=5 keep=''
    for wish in "$@"; do
        case $wish in
        PROGRAMS=*) programs=$(readlink -f "${wish#*=}") ;;
        FAULTS=*) faults=${wish#*=} ;;
        keep) keep=1 ;;
        *) fail "say PROGRAMS=DIRECTORY, FAULTS=COUNT or keep." ;;
        esac
    done
    at_exit clean_up
    export PYTHONDONTWRITEBYTECODE=1
    ensure_toolchain
    ensure_packages python3 prometheus prometheus-alertmanager
    if [[ -z $programs ]]; then
        local product
        for product in merchant belvo-sandbox phone; do
            attend swift build --product "$product" || fail "the build of $product failed; see above."
        done
        programs=$(swift build --show-bin-path)
    fi
    make_world
    # In the foreground, and not by `attend`: it asks.
    python3 scripts/monitoring/drill.py "$world" deploy/monitoring "$faults" "$scratch/round.md" ||
        fail "the drill could not be played; see above."
    cat "$scratch/round.md"
    if [[ -n $keep ]]; then
        # The round goes below those before it.
        sed -n '/^<!-- drill -->$/,/^<!-- end of drill -->$/{/^<!--/d;p}' docs/drills.md >"$scratch/before.md"
        sed -i '/./,$!d' "$scratch/before.md"
        awk -v round="$scratch/round.md" -v before="$scratch/before.md" '
            $0 == "<!-- end of drill -->" { inside = 0 }
            !inside { print }
            $0 == "<!-- drill -->" {
                inside = 1
                print ""
                while ((getline line < before) > 0) print line
                while ((getline line < round) > 0) print line
                print ""
            }' docs/drills.md >"$scratch/drills.md"
        cat "$scratch/drills.md" >docs/drills.md
        say "docs/drills.md has it."
    fi
}

clean_up() {
    stop_children
    if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}

main "$@"
