# The world of contract-world.sh for what watches the server: it starts and stops the server itself, and Belvo's
# stand-in does only what it is told to.
# shellcheck shell=bash

start_merchant() { :; }

start_sandbox() {
    start belvo-sandbox TERM "$scratch/belvo-sandbox.log" "$programs/belvo-sandbox" serve --mode test \
        --listen "127.0.0.1:$sandbox_port" --public-url "$sandbox_url" \
        --tls-cert-file "$scratch/secrets/server.pem" --tls-key-file "$scratch/secrets/server.key"
    export MONITOR_SANDBOX=$started
    wait_for 30 "$started" answers "$sandbox_url/" || fail_for "$started" "belvo-sandbox does not answer"
    export MONITOR_PROGRAMS=$programs MONITOR_SETTINGS=$settings MONITOR_SCRATCH=$scratch
    export MONITOR_PSQL=$postgres_programs/psql MONITOR_DATABASE_DATA=$scratch/data
}
