# Private PostgreSQL clusters on a port of 127.0.0.1, with a password, run by somebody other than root.
# shellcheck shell=bash

. scripts/lib/children.sh

postgres_version_min=15
# A PGHOST, PGSERVICE, ... from the user's shell would lead the tools below to another database.
unset "${!PG@}"

# use_newest_postgres: finds the programs of the newest version; sets `postgres_programs`.
use_newest_postgres() {
    local directory major newest=0
    for directory in /usr/lib/postgresql/*/bin; do
        major=${directory#/usr/lib/postgresql/}
        major=${major%/bin}
        if [[ -x $directory/initdb ]] && ((major > newest)); then
            newest=$major
            postgres_programs=$directory
        fi
    done
    if ((newest == 0)); then
        fail "no PostgreSQL under /usr/lib/postgresql, although the package is installed."
    elif ((newest < postgres_version_min)); then
        fail "this needs PostgreSQL $postgres_version_min, the system's is $newest: see www.postgresql.org/download."
    fi
}

# use_postgres_of DIRECTORY: finds the programs of the version that made DIRECTORY/data; sets `postgres_programs`.
use_postgres_of() {
    local major
    major=$(<"$1/data/PG_VERSION")
    postgres_programs=/usr/lib/postgresql/$major/bin
    [[ -x $postgres_programs/postgres ]] ||
        fail "the demo's data is PostgreSQL $major's, which is no longer installed; ./dev reset starts afresh."
}

# use_database_user DIRECTORY: chooses who runs a cluster below it; sets `as_database_user`, a command prefix.
#
# PostgreSQL refuses to run as root, so root lends it to the directory's owner or the system user `postgres`. It leaves
# the working directory, which that user may not be allowed to read.
use_database_user() {
    as_database_user=(env --chdir=/)
    is_root || return 0
    if [[ -O $1 ]]; then
        id postgres >/dev/null 2>&1 || useradd --system --shell /usr/sbin/nologin postgres ||
            fail "PostgreSQL does not run as root, and the system user postgres could not be made."
        chown postgres: "$1"
    fi
    as_database_user+=(setpriv "--reuid=$(stat -c %u "$1")" "--regid=$(stat -c %g "$1")" --clear-groups)
}

# database_user_reaches DIRECTORY: whether it can write there; a private home above it is closed to it.
database_user_reaches() { "${as_database_user[@]}" test -w "$1"; }

# create_cluster DIRECTORY: makes DIRECTORY/data and, beside it, the password of its superuser `postgres`.
create_cluster() {
    local directory=$1
    openssl rand -hex 24 >"$directory/password"
    chown --reference="$directory" "$directory/password"
    # Renamed when it is complete, so that an interrupted first run leaves no half cluster.
    rm -rf "$directory/data.new"
    "${as_database_user[@]}" "$postgres_programs/initdb" --pgdata="$directory/data.new" --username=postgres \
        --auth=scram-sha-256 --pwfile="$directory/password" --encoding=UTF8 --locale=C.UTF-8 --no-instructions \
        >"$directory/initdb.log" 2>&1 || {
        show_end "$directory/initdb.log"
        fail "initdb could not create a cluster in $directory."
    }
    mv "$directory/data.new" "$directory/data"
}

# start_cluster DIRECTORY LOG PORT OPTION...: starts it and waits until it answers; an OPTION is NAME=VALUE.
# Returns 1 when it does not start, with the reason in LOG.
start_cluster() {
    local directory=$1 log=$2 option options=()
    database_port=$3
    shift 3
    for option in listen_addresses=127.0.0.1 "port=$database_port" "$@"; do options+=(-c "$option"); done
    # SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait until every client has left. It is asked for once more
    # because the kernel forgets the signal of the parent's death when the user changes.
    start PostgreSQL INT "$log" "${as_database_user[@]}" setpriv --pdeathsig INT \
        "$postgres_programs/postgres" -D "$directory/data" "${options[@]}"
    wait_for 30 "$started" "$postgres_programs/pg_isready" --quiet --host=127.0.0.1 "--port=$database_port"
}

# psql_as_superuser DIRECTORY ARGUMENT...: psql on the running cluster.
psql_as_superuser() {
    local directory=$1
    shift
    PGPASSWORD=$(<"$directory/password") "$postgres_programs/psql" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 \
        --host=127.0.0.1 "--port=$database_port" --username=postgres "$@"
}
