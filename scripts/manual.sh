#!/usr/bin/env bash
# Write the manual pages of merchant and its completions for shells into a directory, .local/manual unless one is named.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh

# Both are made from the program: the pages by swift-argument-parser's plugin, the completions by the program itself.
main() {
    local pages=.build/plugins/GenerateManual/outputs/MerchantProgram shell directory
    at_exit stop_children
    ensure_toolchain
    directory=${1:-}
    if [[ -z $directory ]]; then
        use_local_directory
        directory=$local_directory/manual
    fi
    mkdir -p "$directory/man1" "$directory/completions"
    attend swift build --product merchant || fail "the build of merchant failed; see above."
    rm -rf "$pages"
    attend swift package plugin generate-manual --configuration debug --multi-page \
        --date "$(git log -1 --format=%cs 2>/dev/null || date +%F)" ||
        fail "the manual pages could not be made; see above."
    cp "$pages"/merchant*.1 "$directory/man1/"
    for shell in bash zsh fish; do
        "$(swift build --show-bin-path)/merchant" --generate-completion-script "$shell" \
            >"$directory/completions/merchant.$shell"
    done
    say "Manual pages and completions are in $directory."
}

main "$@"
