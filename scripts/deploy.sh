#!/usr/bin/env bash
# Hold what stands in deploy/ against its schemas, against HAProxy and against the server's settings and times.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh

main() {
    local tools=$PWD/.local/deploy
    at_exit stop_children
    ensure_packages python3 python3-venv haproxy openssl
    make_python_environment "$tools" deploy/requirements.txt || fail "its tools are out of reach; see above."
    attend "$tools/bin/python" deploy/check.py || fail "see above."
}

main "$@"
