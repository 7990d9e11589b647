# The disaster of ./dev night: the database is gone, and there is a dump that was taken while payments were under way.
# shellcheck shell=bash

# While the server works: a dump is one snapshot, whatever goes on beside it.
take_backup() {
    PGPASSWORD=$(<"$scratch/password") "$postgres_programs/pg_dump" --format=custom --file="$scratch/merchant.dump" \
        --host=127.0.0.1 --port="$database_port" --username=postgres "$database" || fail "pg_dump failed; see above."
}

# restore_backup: into a cluster that knows nothing, neither the role of the readers nor the database.
restore_backup() {
    local directory=$scratch/restored
    stop_child "$merchant_pid"
    stop_child "$database_pid"
    mkdir "$directory"
    chown --reference="$scratch" "$directory"
    create_cluster "$directory"
    start_cluster "$directory" "$scratch/restored.log" "$(random_port)" "unix_socket_directories=$directory" ||
        fail_for "$started" "PostgreSQL did not start"
    database_pid=$started
    cp "$directory/password" "$scratch/password"
    sed -i "/^DATABASE_URL=/d" "$settings"
    printf 'DATABASE_URL=postgresql://postgres:%s@127.0.0.1:%s/%s\n' "$(<"$directory/password")" "$database_port" \
        "$database" >>"$settings"
    psql_as_superuser "$scratch" --dbname=postgres --command="CREATE DATABASE $database"
    typed psql "\$DATABASE_URL" --command="'CREATE ROLE merchant_readonly NOLOGIN'"
    query "CREATE ROLE merchant_readonly NOLOGIN"
    typed pg_restore --no-owner --exit-on-error --single-transaction --dbname="\$DATABASE_URL" merchant.dump
    PGPASSWORD=$(<"$scratch/password") "$postgres_programs/pg_restore" --no-owner --exit-on-error --single-transaction \
        --host=127.0.0.1 --port="$database_port" --username=postgres --dbname="$database" "$scratch/merchant.dump" ||
        printf 'failed\n'
    merchant migrate
    merchant doctor | sed -n '/database/p;/migrations/p'
    payments_by_status
    start_merchant
    # The looks that were due in the dump are due now; a few of them wait for a lease to end.
    wait_for 60 "$merchant_pid" nothing_is_overdue || say "something is still due."
    sleep 5
    printf '\n-- some seconds after a server was started\n'
    payments_by_status
    merchant reconcile --day "$evening" | sed -n '1,5p; 5s/.*/.../p; / differences/,$p'
}

nothing_is_overdue() {
    [[ $(query "SELECT count(*) FROM payments WHERE status = 'PENDING' AND next_poll_at < app_now()") == 0 ]]
}

payments_by_status() {
    printf '=> SELECT status, count(*) FROM payments GROUP BY status ORDER BY status;\n'
    psql_as_superuser "$scratch" --dbname="$database" --pset=linestyle=ascii \
        --command="SELECT status, count(*) FROM payments GROUP BY status ORDER BY status" | sed 's/[[:space:]]*$//'
}

# typed WORD...: shows a command as it is typed.
typed() { printf '$ %s\n' "$*"; }
