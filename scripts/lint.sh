#!/usr/bin/env bash
# Check the formatting of Swift and the scripts; change nothing.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/toolchain.sh

ensure_toolchain
swift format lint --strict --recursive --parallel \
    Package.swift Plugins Sources Tests fuzz examples bench chaos migrations contract ||
    fail "not formatted as .swift-format says; ./dev format mends what can be mended."
if command -v python3 >/dev/null; then
    mapfile -t programs < <(find bench/measure scripts deploy -name '*.py')
    python3 -W error - "${programs[@]}" <<'PYTHON' || fail "this is no Python; see above."
import ast, pathlib, sys
for name in sys.argv[1:]:
    ast.parse(pathlib.Path(name).read_text(), name)
PYTHON
    python3 -m doctest bench/measure/figures.py || fail "the figures of measurements are wrong; see above."
fi
# A history keeps a large file for ever: what was only downloaded does not belong here.
if git rev-parse --git-dir >/dev/null 2>&1; then
    large=$(git ls-files -z | xargs -0 -r -I{} find {} -maxdepth 0 -size +1024k)
    [ -z "$large" ] || fail "larger than 1 MiB, and tracked: $large"
fi
# What is sourced is checked where it is sourced.
shell_scripts=(dev .ci/run scripts/*.sh scripts/lib/make-demo-secrets scripts/lib/keep-running scripts/lib/embed-commit)
for script in "${shell_scripts[@]}" scripts/lib/*.sh; do bash -n "$script"; done
if command -v shellcheck >/dev/null; then
    # Left out: what it says of a variable or function that another sourced file sets or calls (SC2034, SC2119, SC2120,
    # SC2154), and that `A && B || C` is no if-then-else, which nobody here takes it for (SC2015).
    shellcheck --external-sources --check-sourced --exclude=SC2015,SC2034,SC2119,SC2120,SC2154 "${shell_scripts[@]}"
else
    say "shellcheck is not installed: the scripts were only parsed."
fi
