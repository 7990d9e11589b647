# What ./dev contract checks: a database, a stand-in for Belvo and the server, all of them for this run alone.
# shellcheck shell=bash

database=merchant
# An address of the merchant's own that a bank may send users back to.
callback_url=https://shop.example/enrollment/callback

# make_world: starts everything; sets `merchant_url`, CONTRACT_TOKEN and `world`, the file that tells the checks of it.
make_world() {
    scratch=$(mktemp --directory /tmp/merchant-contract.XXXXXX)
    start_database
    write_settings
    "$programs/merchant" migrate --config "$settings" >"$scratch/migrate.log" ||
        fail "merchant migrate failed; see above."
    start_sandbox
    start_merchant
    CONTRACT_TOKEN=$("$programs/merchant" token --subject contract --config "$settings") ||
        fail "merchant token failed; see above."
    world=$scratch/world.json
    printf '{"merchant": "%s", "token": "%s", "ca": "%s", "phone": "%s", "keys": "%s", "callback_url": "%s"}\n' \
        "$merchant_url" "$CONTRACT_TOKEN" "$scratch/secrets/ca.pem" "$programs/phone" "$scratch/phone.json" \
        "$callback_url" >"$world"
}

start_database() {
    use_newest_postgres
    use_database_user "$scratch"
    create_cluster "$scratch"
    start_cluster "$scratch" "$scratch/postgres.log" "$(random_port)" "unix_socket_directories=$scratch" fsync=off ||
        fail_for "$started" "PostgreSQL did not start"
    database_password=$(<"$scratch/password")
    psql_as_superuser "$scratch" --dbname=postgres --command="CREATE DATABASE $database"
}

# As in a demonstration, but for three things that a document cannot say: how many requests a user may make, how much a
# payment may cost, and which callback addresses are the merchant's.
write_settings() {
    settings=$scratch/merchant.env
    local merchant_port
    merchant_port=$(random_port)
    merchant_url=http://127.0.0.1:$merchant_port
    sandbox_port=$(free_port $((merchant_port + 1)))
    sandbox_url=https://127.0.0.1:$sandbox_port
    scripts/lib/make-demo-secrets "$scratch/secrets" || fail "could not make keys and certificates in $scratch."
    {
        # Without the demonstration's shop: nobody listens for its events here.
        grep -v '^SHOP_' "$scratch/secrets/secrets.env"
        printf '%s\n' \
            "DATABASE_URL=postgresql://postgres:$database_password@127.0.0.1:$database_port/$database" \
            "PUBLIC_BASE_URL=$merchant_url" \
            "LISTEN=127.0.0.1:$merchant_port" \
            "ADMIN_LISTEN=127.0.0.1:$(free_port $((sandbox_port + 1)))" \
            "BELVO_BASE_URL=$sandbox_url" \
            "BELVO_CA_FILE=$scratch/secrets/ca.pem" \
            "BELVO_SECRET_ID=sandbox-id" \
            "BELVO_SECRET_PASSWORD=sandbox-password" \
            "BELVO_BENEFICIARY_BANK_ACCOUNT=5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10" \
            "APP_DEEP_LINK=biometricpix://enrollment" \
            "APPLE_APP_IDS=ABCDE12345.example.shop" \
            "ANDROID_APPS=example.shop=$(printf '00:%.0s' {1..31})FF" \
            "ORDERS=optional" \
            "CALLBACK_URLS=$callback_url" \
            "PAYMENT_MAX_AMOUNT=9999999999999.99" \
            "USER_RATE=0" \
            "ADDRESS_RATE=0" \
            "USER_OPEN_ENROLLMENTS_MAX=0" \
            "USER_ENROLLMENTS_PER_DAY_MAX=0" \
            "USER_PAYMENTS_PER_DAY_MAX=0" \
            "USER_OPEN_PAYMENTS_MAX=0" \
            "BELVO_USER_RATE=0" \
            "BELVO_STRANGER_RATE=0"
    } >"$settings"
    # The environment wins over a file, and what is checked is not for the user's shell to change.
    local name
    while IFS='=' read -r name _; do
        [[ $name == '#'* ]] || unset "$name" "${name}_FILE"
    done <"$settings"
    unset SANDBOX_SECRET_ID SANDBOX_SECRET_PASSWORD
}

start_sandbox() {
    start belvo-sandbox TERM "$scratch/belvo-sandbox.log" "$programs/belvo-sandbox" serve --mode demo \
        --listen "127.0.0.1:$sandbox_port" --public-url "$sandbox_url" \
        --tls-cert-file "$scratch/secrets/server.pem" --tls-key-file "$scratch/secrets/server.key"
    wait_for 30 "$started" answers "$sandbox_url/" || fail_for "$started" "belvo-sandbox does not answer"
}

start_merchant() {
    start merchant TERM "$scratch/merchant.log" "$programs/merchant" serve --config "$settings"
    wait_for 30 "$started" answers --fail "$merchant_url/readyz" ||
        fail_for "$started" "merchant did not become ready"
}

answers() {
    curl --silent --output /dev/null --max-time 2 --noproxy '*' --cacert "$scratch/secrets/ca.pem" "$@"
}
