#!/usr/bin/env bash
# Build and run everything on this machine: database, a stand-in for Belvo, the server. Ctrl-C stops it.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/demo-database.sh

logs=$local_directory/logs
secrets=$local_directory/secrets
settings=$local_directory/demo.env

main() {
    use_local_directory
    lock_local_directory
    at_exit stop
    ensure_toolchain
    build_programs
    mkdir -p "$logs"
    scripts/lib/make-demo-secrets "$secrets" || fail "could not make the demo's keys and certificates in $secrets."
    start_database
    choose_ports
    write_settings
    migrate
    start_sandbox
    start_merchant
    show_addresses
    fail_when_one_ends
}

build_programs() {
    local product
    for product in merchant belvo-sandbox phone; do
        attend swift build --configuration release --static-swift-stdlib --product "$product" ||
            fail "the build of $product failed; see above."
    done
    programs=$(swift build --configuration release --static-swift-stdlib --show-bin-path)
}

choose_ports() {
    merchant_port=$(choose_port "the server" 8080)
    admin_port=$(choose_port "the operators' address" 9464)
    sandbox_port=$(choose_port "the stand-in for Belvo" 8443)
}

choose_port() {
    local port
    port=$(free_port "$2")
    [[ $port == "$2" ]] || say "Port $2 is in use: $1 takes $port." >&2
    printf '%s\n' "$port"
}

# The settings of config/merchant.env for this run: the secrets, which stay, and the addresses, which may change.
write_settings() {
    sandbox_url=https://127.0.0.1:$sandbox_port
    merchant_url=http://127.0.0.1:$merchant_port
    {
        printf '# Written anew by every ./dev run.\n'
        cat "$secrets/secrets.env"
        printf '%s\n' \
            "DATABASE_URL=postgresql://$database:$database_password@127.0.0.1:$database_port/$database" \
            "PUBLIC_BASE_URL=$merchant_url" \
            "LISTEN=127.0.0.1:$merchant_port" \
            "ADMIN_LISTEN=127.0.0.1:$admin_port" \
            "BELVO_BASE_URL=$sandbox_url" \
            "BELVO_CA_FILE=$secrets/ca.pem" \
            "BELVO_SECRET_ID=sandbox-id" \
            "BELVO_SECRET_PASSWORD=sandbox-password" \
            "BELVO_BENEFICIARY_BANK_ACCOUNT=5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10" \
            "APP_DEEP_LINK=biometricpix://enrollment" \
            "ORDERS=optional"
    } >"$settings"
    # The environment wins over a file, and what stands in this one is not for the user's shell to change: a
    # DATABASE_URL left there would make the demo write into another database.
    local name
    while IFS='=' read -r name _; do
        [[ $name == '#'* ]] || unset "$name" "${name}_FILE"
    done <"$settings"
    unset SANDBOX_SECRET_ID SANDBOX_SECRET_PASSWORD
}

migrate() {
    attend "$programs/merchant" migrate --config "$settings" || fail "merchant migrate failed; see above."
}

start_sandbox() {
    start belvo-sandbox TERM "$logs/belvo-sandbox.log" "$programs/belvo-sandbox" serve --mode demo \
        --listen "127.0.0.1:$sandbox_port" --public-url "$sandbox_url" \
        --tls-cert-file "$secrets/server.pem" --tls-key-file "$secrets/server.key" \
        --webhook-url "$merchant_url/webhooks/belvo" \
        --webhook-token "$(sed -n 's/^BELVO_WEBHOOK_TOKEN=//p' "$secrets/secrets.env")"
    wait_for 30 "$started" answers "$sandbox_url/" || fail_for "$started" "belvo-sandbox does not answer"
}

start_merchant() {
    start merchant TERM "$logs/merchant.log" "$programs/merchant" serve --config "$settings"
    wait_for 30 "$started" answers --fail "$merchant_url/readyz" ||
        fail_for "$started" "merchant did not become ready"
}

answers() {
    curl --silent --output /dev/null --max-time 2 --noproxy '*' --cacert "$secrets/ca.pem" "$@"
}

show_addresses() {
    local token
    token=$("$programs/merchant" token --subject demo-user --config "$settings") ||
        fail "merchant token failed; see above."
    cat <<TEXT

Everything runs; the data stays in .local when you stop it with Ctrl-C.

    the server               $merchant_url
    for operators            http://127.0.0.1:$admin_port/readyz
    Belvo and the mock bank  $sandbox_url (by the authority $secrets/ca.pem)
    a phone in software      $programs/phone
    the database             ./dev psql
    the logs                 $logs

A first request, in another terminal:

    curl -s -H 'Authorization: Bearer $token' $merchant_url/v1/institutions

TEXT
}

stop() {
    if ((${#child_pids[@]} > 0)); then
        say "Stopping ..."
        stop_children
        say "Stopped."
    fi
}

main "$@"
