#!/usr/bin/env bash
# Open the running demo's database with psql; arguments are psql's.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh

unset "${!PG@}"
[[ -r $local_directory/demo.env ]] || fail "there is no demo yet: ./dev run makes one."
exec psql "$(sed -n 's/^DATABASE_URL=//p' "$local_directory/demo.env")" "$@"
