#!/usr/bin/env bash
# Forget the demo: its database, keys and logs.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh

[[ -d $local_directory ]] || exit 0
check_local_directory
lock_local_directory
if [[ -L $local_directory/postgres ]]; then rm -rf "$(cluster_elsewhere)"; fi
rm -rf "$local_directory"
say "Removed $local_directory."
