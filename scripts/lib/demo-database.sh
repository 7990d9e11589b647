# The database that ./dev run keeps in .local.
# shellcheck shell=bash

. scripts/lib/ports.sh
. scripts/lib/postgres.sh

cluster=$local_directory/postgres
database=merchant

# start_database: starts the cluster, made on the first run, and sees that the database and its owner exist, both of
# one name; sets `database_port` and `database_password`.
start_database() {
    prepare_cluster
    database_port=$(<"$cluster/port")
    if ! port_is_free "$database_port"; then
        say "Port $database_port, which the database had, is in use: taking the next free one."
        database_port=$(free_port "$((database_port + 1))")
        printf '%s\n' "$database_port" >"$cluster/port"
    fi
    start_cluster "$cluster" "$local_directory/logs/postgres.log" "$database_port" unix_socket_directories= ||
        fail_for "$started" "PostgreSQL did not start"
    database_password=$(<"$cluster/password")
    psql_as_superuser "$cluster" --dbname=postgres --set=name="$database" --set=password="$database_password" <<'SQL' ||
SELECT format('CREATE ROLE %I LOGIN', :'name') WHERE to_regrole(:'name') IS NULL \gexec
ALTER ROLE :"name" PASSWORD :'password';
SELECT format('CREATE DATABASE %I OWNER %I', :'name', :'name')
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
SQL
        fail "could not create the database $database; see above."
}

# The cluster lives in .local/postgres. When root runs this in a place that PostgreSQL's user cannot reach, such as
# below /root, .local/postgres is a link to a directory of /var/lib.
prepare_cluster() {
    local elsewhere
    mkdir -p "$cluster"
    use_database_user "$(readlink -f "$cluster")"
    if ! database_user_reaches "$cluster" && [[ ! -e $cluster/data ]]; then
        elsewhere=$(cluster_elsewhere)
        say "PostgreSQL does not run as root and its user cannot reach $cluster: the data goes to $elsewhere."
        rm -rf "$cluster"
        (umask 022 && mkdir -p "$(dirname "$elsewhere")")
        mkdir -p "$elsewhere"
        ln -s "$elsewhere" "$cluster"
        use_database_user "$elsewhere"
    fi
    cluster=$(readlink -f "$cluster")
    if [[ -e $cluster/data/PG_VERSION ]]; then
        use_postgres_of "$cluster"
    else
        use_newest_postgres
        say "Creating a database cluster in $cluster ..."
        create_cluster "$cluster"
    fi
    [[ -s $cluster/port ]] || free_port 15432 >"$cluster/port"
}
