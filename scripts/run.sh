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
merchant_port='' admin_port='' sandbox_port=''
probing=0

# ./dev run [--probe]: --probe runs `merchant probe --through-shop` as the server, and everything costs R$ 0.01.
main() {
    case ${1:-} in
    '') ;;
    --probe) probing=1 ;;
    *) fail "the option is --probe." ;;
    esac
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
    make_reader
    start_sandbox
    start_merchant
    start_shop
    show_addresses
    if ((probing)); then
        wait "$merchant" || true
    else
        fail_when_one_ends
    fi
}

build_programs() {
    local product
    for product in shop merchant belvo-sandbox phone; do
        attend swift build --configuration release --static-swift-stdlib --product "$product" ||
            fail "the build of $product failed; see above."
    done
    programs=$(swift build --configuration release --static-swift-stdlib --show-bin-path)
}

choose_ports() {
    merchant_port=$(choose_port "the server" 8080)
    admin_port=$(choose_port "the operators' address" 9464)
    sandbox_port=$(choose_port "the stand-in for Belvo" 8081)
    shop_port=$(choose_port "the example shop" 3000)
}

choose_port() {
    local port
    # Nobody listens yet on what was chosen before.
    port=$(free_port "$2" "$merchant_port" "$admin_port" "$sandbox_port")
    [[ $port == "$2" ]] || say "Port $2 is in use: $1 takes $port." >&2
    printf '%s\n' "$port"
}

# The settings of config/merchant.env for this run: the secrets, which stay, and the addresses, which may change.
write_settings() {
    # Plain http, so that no browser warns of the bank's page; nothing of it leaves this machine.
    sandbox_url=http://127.0.0.1:$sandbox_port
    merchant_url=http://127.0.0.1:$merchant_port
    # By name: a page under an address could make no credentials.
    shop_url=http://localhost:$shop_port
    {
        printf '# Written anew by every ./dev run.\n'
        cat "$secrets/secrets.env"
        printf '%s\n' \
            "DATABASE_URL=postgresql://$database:$database_password@127.0.0.1:$database_port/$database" \
            "PUBLIC_BASE_URL=$merchant_url" \
            "LISTEN=127.0.0.1:$merchant_port" \
            "ADMIN_LISTEN=127.0.0.1:$admin_port" \
            "BELVO_BASE_URL=$sandbox_url" \
            "BELVO_SECRET_ID=sandbox-id" \
            "BELVO_SECRET_PASSWORD=sandbox-password" \
            "BELVO_BENEFICIARY_BANK_ACCOUNT=5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10" \
            "APP_DEEP_LINK=biometricpix://enrollment" \
            "CORS_ORIGINS=$shop_url" \
            "WEB_RETURN_URL=$shop_url/?from=bank" \
            "SHOP_WEBHOOK_URL=http://127.0.0.1:$shop_port/webhooks/payments" \
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

# What an operator may read, and nothing else: the shop's page shows the rows of what was just bought.
make_reader() {
    local role=${database}_reader password
    password=$(openssl rand -hex 16)
    psql_as_superuser "$cluster" --dbname="$database" --set=role="$role" --set=password="$password" <<'SQL' ||
SELECT format('CREATE ROLE %I LOGIN', :'role') WHERE to_regrole(:'role') IS NULL \gexec
ALTER ROLE :"role" PASSWORD :'password' CONNECTION LIMIT 4;
ALTER ROLE :"role" SET default_transaction_read_only = on;
GRANT USAGE ON SCHEMA ops TO :"role";
GRANT SELECT ON ALL TABLES IN SCHEMA ops TO :"role";
GRANT SELECT ON customers, enrollments, payments, events, state_history TO :"role";
SQL
        fail "could not create the role $role; see above."
    printf 'postgresql://%s:%s@127.0.0.1:%s/%s?target_session_attrs=any\n' \
        "$role" "$password" "$database_port" "$database" >"$secrets/reader.url"
}

migrate() {
    attend "$programs/merchant" migrate --config "$settings" || fail "merchant migrate failed; see above."
}

start_sandbox() {
    start belvo-sandbox TERM "$logs/belvo-sandbox.log" "$programs/belvo-sandbox" serve --mode demo \
        --listen "127.0.0.1:$sandbox_port" --public-url "$sandbox_url" \
        --rp-id localhost --settle-after-ms 1500 --webhook-retry-ms 5000 \
        --webhook-url "$merchant_url/webhooks/belvo" \
        --webhook-token "$(sed -n 's/^BELVO_WEBHOOK_TOKEN=//p' "$secrets/secrets.env")"
    wait_for 30 "$started" answers "$sandbox_url/" || fail_for "$started" "belvo-sandbox does not answer"
}

# Started again when it was killed, which the shop's page may do (process.id).
start_merchant() {
    if ((probing)); then
        start merchant TERM "$logs/merchant.log" "$programs/merchant" probe --through-shop --config "$settings"
    else
        start merchant TERM "$logs/merchant.log" scripts/lib/keep-running "$local_directory/process.id" \
            "$programs/merchant" serve --config "$settings"
    fi
    merchant=$started
    wait_for 30 "$started" answers --fail "$merchant_url/readyz" ||
        fail_for "$started" "merchant did not become ready"
}

start_shop() {
    local options=(--process-file "$local_directory/process.id")
    # A probe that was killed would not start again.
    if ((probing)); then options=(--centavos 1); fi
    start shop TERM "$logs/shop.log" "$programs/shop" --listen "127.0.0.1:$shop_port" --merchant "$merchant_url" \
        --sandbox "$sandbox_url" --config "$settings" --database-file "$secrets/reader.url" "${options[@]}"
    wait_for 30 "$started" answers --fail "$shop_url/" || fail_for "$started" "the example shop does not answer"
}

answers() {
    curl --silent --output /dev/null --max-time 2 --noproxy '*' "$@"
}

show_addresses() {
    local token
    token=$("$programs/merchant" token --subject demo-user --config "$settings") ||
        fail "merchant token failed; see above."
    cat <<TEXT

Open $shop_url

    A shop that is paid by Pix with a fingerprint: buy something, break something, look behind the curtain.

Everything runs; the data stays in .local when you stop it with Ctrl-C.

    the server               $merchant_url
    for operators            http://127.0.0.1:$admin_port/readyz
    Belvo and the mock bank  $sandbox_url
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
        # What the probe has printed.
        if ((probing)); then cat "$logs/merchant.log"; fi
        say "Stopped."
    fi
}

main "$@"
