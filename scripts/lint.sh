#!/usr/bin/env bash
# Check the formatting of Swift and the scripts; change nothing.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/toolchain.sh

ensure_toolchain
swift format lint --strict --recursive --parallel \
    Package.swift Sources Tests fuzz examples bench chaos migrations contract ||
    fail "not formatted as .swift-format says; ./dev format mends what can be mended."
# What is sourced is checked where it is sourced.
shell_scripts=(dev .ci/run scripts/*.sh scripts/lib/make-demo-secrets)
for script in "${shell_scripts[@]}" scripts/lib/*.sh; do bash -n "$script"; done
if command -v shellcheck >/dev/null; then
    shellcheck --external-sources --check-sourced "${shell_scripts[@]}"
else
    say "shellcheck is not installed: the scripts were only parsed."
fi
