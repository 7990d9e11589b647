#!/usr/bin/env bash
# Format all Swift code in place.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/toolchain.sh

ensure_toolchain
swift format format --in-place --recursive --parallel \
    Package.swift Plugins Sources Tests fuzz examples bench chaos migrations contract
