# A night of ./dev night: what goes wrong, and in which order.
# shellcheck shell=bash

# control METHOD PATH [JSON]: a call of the sandbox's control API; prints the answer.
control() {
    curl --silent --show-error --fail --noproxy '*' --cacert "$scratch/secrets/ca.pem" --request "$1" \
        --header 'content-type: application/json' ${3:+--data "$3"} "$sandbox_url/sandbox/$2"
}

# fault ENDPOINT JSON-MEMBERS
fault() { control POST faults "{\"endpoint\": \"$1\", $2}"; }

# pay SECONDS WHAT [USERS]: the crowd pays for so long; what fails is part of the night.
pay() {
    say "$2 ..."
    order begin pay "${3:-$night_owls}"
    sleep "$1"
    order count
    printf '%s: %s\n' "$2" "$answer" >>"$scratch/night.log"
}

rest() { order end; }

pass_the_night() {
    evening=$(date --utc '+%Y-%m-%d')
    place_orders
    pay 3 "A quiet evening" "${payment_users[0]}"
    say "A backup, while they pay ..."
    take_backup
    rest

    fault create_payment_intent '"fault": "drop_answer", "count": 4'
    fault create_payment_intent '"fault": "status_after", "status": 500, "count": 2'
    fault authorize_payment_intent '"fault": "drop_answer", "count": 4'
    pay 3 "Belvo's answers are lost"
    rest

    fault get_payment_intent '"fault": "status", "status": 503, "count": 40'
    fault create_payment_intent '"fault": "too_many_requests", "retry_after": 1, "count": 2'
    pay 4 "Belvo is overloaded"
    rest

    control PATCH variants '{"webhook_copies": "2"}' >/dev/null
    pay 3 "Every webhook comes twice"
    kill -KILL "$merchant_pid"
    rest
    forget_child "$merchant_pid"
    cp "$scratch/merchant.log" "$scratch/merchant-before.log"
    start_merchant
    pay 2 "The server was killed and is back"
    rest

    say "A payment that is given up here and paid at Belvo ..."
    give_up_and_pay
    say "A payment that an SDK makes alone ..."
    pay_by_sdk_alone
    say "The bank does not say how payments end ..."
    control PATCH variants '{"payment_settlement": "when_told"}' >/dev/null
    pay 2 "Payments that nobody hears of again"
    rest
    # Longer than POLL_DEADLINE_MS: then they are in doubt.
    sleep 25
    open_one_more
}

# The token of one user of the load.
token_of() { sed -n "$(($1 + 1))p" "$scratch/tokens"; }

# as_user NUMBER METHOD PATH [JSON]
as_user() {
    curl --silent --show-error --noproxy '*' --request "$2" --header "authorization: Bearer $(token_of "$1")" \
        --header "idempotency-key: night-$RANDOM-$RANDOM" --header "x-request-id: night-tap-$1" \
        --header 'content-type: application/json' ${4:+--data "$4"} "$merchant_url$3"
}

# bill NUMBER REFERENCE: opens a payment of the user's; prints the answer.
bill() {
    local enrollment
    enrollment=$(query "SELECT id FROM enrollments WHERE subject = 'load-$1' AND status = 'SUCCEEDED' LIMIT 1")
    as_user "$1" POST /v1/payment-intents \
        "{\"enrollment\": \"$enrollment\", \"reference\": \"$2\", \"amount\": \"49.90\", \"description\": \"A cake\"}"
}

place_orders() {
    local number
    for number in 1 2 3; do
        curl --silent --show-error --fail --noproxy '*' --request PUT --header "authorization: Bearer $shop_token" \
            --header 'content-type: application/json' --output /dev/null \
            --data "{\"subject\": \"load-$number\", \"amount\": \"49.90\", \"description\": \"A cake\"}" \
            "$merchant_url/orders/cake-$number"
    done
}

give_up_and_pay() {
    bill 1 cake-1 >/dev/null
    corrected=$(query "SELECT id FROM payments WHERE reference = 'cake-1'")
    as_user 1 POST "/v1/payment-intents/$corrected/cancel" >/dev/null
    control POST "payment-intents/$(query "SELECT belvo_id FROM payments WHERE id = '$corrected'")/settle"
    sleep 3
}

# With the merchant's credentials, as an app would do it that was built before there was this server.
pay_by_sdk_alone() {
    local customer enrollment
    customer=$(query "SELECT belvo_id FROM customers WHERE subject = 'load-2'")
    enrollment=$(query "SELECT belvo_id FROM enrollments WHERE subject = 'load-2' AND status = 'SUCCEEDED' LIMIT 1")
    curl --silent --show-error --fail --noproxy '*' --cacert "$scratch/secrets/ca.pem" --output /dev/null \
        --user sandbox-id:sandbox-password \
        --header "belvo-idempotency-key: $(</proc/sys/kernel/random/uuid)" --header 'content-type: application/json' \
        --data "$(sdk_intent "$customer" "$enrollment")" "$sandbox_url/payments/br/payment-intents/"
}

open_one_more() {
    bill 3 cake-3 >/dev/null
    sleep 1
}

# sdk_intent CUSTOMER ENROLLMENT: the body with which a payment is made at Belvo.
sdk_intent() {
    cat <<JSON
{"amount": 7.00, "allowed_payment_method_types": ["open_finance_biometric_pix"], "customer": "$1",
"description": "Made by an SDK", "statement_description": "Made by an SDK", "external_id": "sdk-1", "confirm": true,
"payment_method_details": {"open_finance_biometric_pix":
{"beneficiary_bank_account": "$beneficiary", "enrollment": "$2"}}}
JSON
}
