# A throw-away PostgreSQL for tests, gone when the script ends.
# shellcheck shell=bash

. scripts/lib/ports.sh
. scripts/lib/postgres.sh

scratch=

# start_test_database: sets TEST_POSTGRES_URL, unless the caller's shell has one already.
#
# Directly below /tmp: the path of a Unix socket may have no more than 107 bytes, and the database's user must reach it.
start_test_database() {
    local attempt
    if [[ -n ${TEST_POSTGRES_URL:-} ]]; then return; fi
    scratch=$(mktemp --directory /tmp/merchant-test.XXXXXX)
    use_newest_postgres
    use_database_user "$scratch"
    create_cluster "$scratch"
    # Somebody else may take the port between the look and the use of it, other tests above all.
    for attempt in 1 2 3; do
        if start_cluster "$scratch" "$scratch/log" "$(random_port)" "unix_socket_directories=$scratch" \
            fsync=off full_page_writes=off max_connections=200; then
            TEST_POSTGRES_URL=postgresql://postgres:$(<"$scratch/password")@127.0.0.1:$database_port/postgres
            export TEST_POSTGRES_URL
            return
        fi
        ((attempt == 3)) || stop_child "$started"
    done
    fail_for "$started" "PostgreSQL did not start"
}

remove_test_database() {
    stop_children
    if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}
