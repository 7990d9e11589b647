#!/usr/bin/env bash
# Print a token for the running demo: ./dev token [SUBJECT].
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh

[[ -r $local_directory/demo.env ]] || fail "there is no demo yet: ./dev run makes one."
programs=$(swift build --configuration release --show-bin-path)
exec "$programs/merchant" token --subject "${1:-demo-user}" --config "$local_directory/demo.env"
