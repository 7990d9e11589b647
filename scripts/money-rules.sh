#!/usr/bin/env bash
# Write the triggers and functions that guard money into docs/money-rules.md, as a migrated database has them.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/toolchain.sh

ensure_toolchain
WRITE_MONEY_RULES=1 exec swift test --filter MoneyRulesDocumentTests
