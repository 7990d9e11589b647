#!/usr/bin/env bash
# Let a fuzzer look for bytes that break a parser's promises; SECONDS=n for each target, names for some only.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/toolchain.sh

all_targets=(request response json query cbor)
directory=$local_directory/fuzz
modules=$directory/modules
fuzzer=$directory/fuzzer
sanitizers=('-sanitize=fuzzer,address')
# The tests' tables as files, in the repository; what the fuzzer adds to them stays below .local.
seeds=$root/fuzz/corpus

main() {
    local argument seconds=60 targets=() target failed=()
    for argument in "$@"; do
        case $argument in
        SECONDS=*[!0-9]* | SECONDS=) fail "SECONDS is a number of seconds." ;;
        SECONDS=*) seconds=${argument#SECONDS=} ;;
        request | response | json | query | cbor) targets+=("$argument") ;;
        *) fail "there is no target \"$argument\"; there are ${all_targets[*]}, and SECONDS=n." ;;
        esac
    done
    # To libFuzzer 0 means without end.
    ((seconds > 0)) || fail "SECONDS is at least 1."
    ((${#targets[@]} > 0)) || targets=("${all_targets[@]}")
    ensure_toolchain
    use_local_directory
    build_fuzzer
    for target in "${targets[@]}"; do
        fuzz "$target" "$seconds" || failed+=("$target")
    done
    ((${#failed[@]} == 0)) || fail "found something: ${failed[*]}. The bytes are in $directory/findings; see above."
    say "Nothing found: ${targets[*]}, $seconds seconds each."
}

# Only what reads bytes is built, each module from its sources: the package's own build knows nothing of this.
build_fuzzer() {
    say "Building the fuzzer into $directory ..."
    mkdir -p "$modules"
    compile HTTP Sources/HTTP/Message/*.swift
    compile JSON Sources/JSON/*.swift
    compile BelvoSandbox Sources/BelvoSandbox/WebAuthn/CBOR*.swift
    compile FuzzProperties fuzz/Properties/*.swift
    compile Fuzzer fuzz/Fuzzer.swift
    swiftc "${sanitizers[@]}" -use-ld=lld "$modules"/*.o -o "$fuzzer" || fail "the fuzzer was not linked; see above."
}

# compile MODULE FILE...: with optimisation, which keeps Swift's checks; without, the fuzzer would be too slow.
compile() {
    local module=$1
    shift
    swiftc "${sanitizers[@]}" -parse-as-library -O -wmo -swift-version 6 -package-name biometric_pix_merchant \
        -enable-upcoming-feature MemberImportVisibility -I "$modules" -module-name "$module" \
        -emit-module -emit-module-path "$modules/$module.swiftmodule" -c "$@" -o "$modules/$module.o" ||
        fail "the module $module did not compile; see above."
}

# fuzz TARGET SECONDS: first every file of the corpus, then for so long whatever the fuzzer makes of them.
fuzz() {
    local target=$1 seconds=$2 grown=$directory/corpus/$1 options
    mkdir -p "$grown" "$directory/findings"
    options=(-max_total_time="$seconds" -max_len=600 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
        -artifact_prefix="$directory/findings/$target-")
    if [[ -f fuzz/dictionaries/$target.txt ]]; then options+=(-dict="fuzz/dictionaries/$target.txt"); fi
    say "Fuzzing $target for $seconds seconds ..."
    # What the process still holds at its end is Swift's own.
    if FUZZ_TARGET=$target ASAN_OPTIONS=detect_leaks=0 SWIFT_BACKTRACE=enable=no \
        "$fuzzer" "${options[@]}" "$grown" "$seeds/$target" >"$directory/$target.log" 2>&1; then
        grep --text --extended-regexp 'executed_units|new_units_added|peak_rss' "$directory/$target.log" | indented
    else
        grep --text --extended-regexp 'Broken promise|Fatal error|ERROR: |SUMMARY: |Test unit written|^Base64: ' \
            "$directory/$target.log" | indented
        say "    All of it: $directory/$target.log"
        return 1
    fi
}

indented() { sed 's/^/    /'; }

main "$@"
