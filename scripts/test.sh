#!/usr/bin/env bash
# Check, build and run all tests on a throw-away database; arguments go to swift test (--filter NAME).
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh

scratch=

main() {
    at_exit clean_up
    ensure_toolchain
    ensure_browser
    ensure_shop_receiver
    attend bash scripts/lint.sh || exit 1
    attend swift build --build-tests || fail "the build failed; see above."
    start_database
    TEST_POSTGRES_URL=postgresql://postgres:$(<"$scratch/password")@127.0.0.1:$database_port/postgres
    export TEST_POSTGRES_URL
    # A test that hangs must not look like a slow machine: the tests take five minutes, and 30 are too many.
    attend timeout --kill-after=10 30m swift test --no-parallel "$@" ||
        fail "there are failing tests, or they did not end within 30 minutes; see above."
}

# Directly below /tmp: the path of a Unix socket may have no more than 107 bytes, and the database's user must reach it.
start_database() {
    local attempt
    scratch=$(mktemp --directory /tmp/merchant-test.XXXXXX)
    use_newest_postgres
    use_database_user "$scratch"
    create_cluster "$scratch"
    # Somebody else may take the port between the look and the use of it, other tests above all.
    for attempt in 1 2 3; do
        if start_cluster "$scratch" "$scratch/log" "$(random_port)" "unix_socket_directories=$scratch" \
            fsync=off full_page_writes=off max_connections=200; then
            return
        fi
        ((attempt == 3)) || stop_child "$started"
    done
    fail_for "$started" "PostgreSQL did not start"
}

clean_up() {
    stop_children
    if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}

main "$@"
