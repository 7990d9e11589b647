#!/usr/bin/env bash
# Break a merchant's site in earnest, all of it or the named SCENARIO; writes docs/reliability.md (BUILD=debug: not).
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/chaos-scratch.sh

# How large it is: purchases in the sweep of kills, and seconds of load in every other scenario.
purchases=500
seconds=20
build=release
document=docs/reliability.md
scenarios=()

# For a checkout that is built with flags of its own.
read -ra flags <<<"${SWIFT_BUILD_FLAGS:-}"

main() {
    local wish
    for wish in "$@"; do
        case $wish in
        PURCHASES=*[!0-9]* | SECONDS=*[!0-9]* | PURCHASES= | SECONDS=) fail "$wish is no number." ;;
        PURCHASES=*) purchases=${wish#*=} ;;
        SECONDS=*) seconds=${wish#*=} ;;
        BUILD=release | BUILD=debug) build=${wish#*=} ;;
        *[!a-z]*) fail "say SCENARIO, PURCHASES=n, SECONDS=n or BUILD=debug." ;;
        *) scenarios+=("$wish") ;;
        esac
    done
    is_root || fail "this mounts a small disk to fill it, and needs root."
    at_exit clean_up
    ensure_toolchain
    ensure_packages haproxy
    build_all
    # Below /var/tmp, which is a disk nearly everywhere, and where PostgreSQL's user may go.
    make_chaos_scratch /var/tmp
    scratch=$chaos_scratch
    local status=0
    attend "$programs/ChaosProgram" "${scenarios[@]}" --programs "$programs" --scratch "$scratch" \
        --purchases "$purchases" --seconds "$seconds" --section "$scratch/verdicts.md" || status=$?
    # What is written down is a whole run of what is in use.
    if ((${#scenarios[@]} == 0)) && [[ $build == release && -s $scratch/verdicts.md ]]; then write_down; fi
    case $status in
    0) ;;
    1) fail "promises were broken; see above." ;;
    *) fail "it could not be played; see above." ;;
    esac
}

build_all() {
    local product
    if [[ $build == release ]]; then
        build_programs ChaosProgram
        return
    fi
    for product in merchant belvo-sandbox ChaosProgram; do
        attend swift build "${flags[@]}" --product "$product" || fail "the build of $product failed; see above."
    done
    programs=$(swift build "${flags[@]}" --show-bin-path)
}

# Between `<!-- chaos -->` and `<!-- end of chaos -->` of the document.
write_down() {
    local commit
    commit=$(git rev-parse --short HEAD 2>/dev/null) || commit="none yet"
    awk -v table="$scratch/verdicts.md" -v taken="$(date --utc '+%Y-%m-%d %H:%M') UTC at commit $commit" '
        /^<!-- end of chaos -->$/ { inside = 0 }
        !inside { print }
        /^<!-- chaos -->$/ {
            inside = 1
            print "\nTaken " taken ".\n"
            while ((getline line < table) > 0) print line
            print ""
        }
    ' "$document" >"$scratch/document.md"
    cp "$scratch/document.md" "$document"
    say "$document has the verdicts."
}

clean_up() {
    stop_children
    remove_chaos_scratch
}

main "$@"
