-- One POST /v1/payment-intents as PostgreSQL sees it, without the server: three reads and the two transactions around
-- the call to Belvo. A script for pgbench, started with first=1 and the number of the round. It is a fixed workload, so
-- that figures of different versions can be compared: the store asks the three reads by one statement today
-- (Store.surveyPayment), and its two writes set more columns. Each client is one of the users whose phones were
-- enrolled before, and its payments look like one of that user's: bench_users holds one for each.
\if :first
SELECT * FROM bench_users WHERE subject = 'load-' || :client_id \gset
\set first 0
\set number 0
\endif

-- An id as the server makes it grows with the time; a key of an app and an id of Belvo's do not.
\set number :number + 1
\set key random(1, 9223372036854775807)

SELECT request_digest, record_id, response_status, response_body, claimed_at, app_now() AS read_at
FROM idempotency_keys
WHERE subject = :subject AND route = 'POST /v1/payment-intents' AND key = :key::bigint::text;

SELECT id, subject, customer_id, state, belvo_id, institution_id, institution_name, institution_icon, platform, name,
    callback_url, redirect_url, registration_options_ciphertext, confirmation_digest, confirmation_accepted,
    provider_status, provider_details_status, expires_at, payer_information_ciphertext, failure_code,
    failure_message, failure_authority, metadata, created_at, updated_at, version, deadline_at, app_now() AS read_at
FROM enrollments
WHERE id = :enrollment AND subject = :subject;

SELECT id, subject, state, belvo_id, belvo_created_at, person_ciphertext, created_at, updated_at, version, deadline_at,
    app_now() AS read_at
FROM customers
WHERE subject = :subject;

WITH claimed AS (
    INSERT INTO idempotency_keys (subject, route, key, request_digest, record_id)
    VALUES (
        :subject, 'POST /v1/payment-intents', :key::bigint::text, :digest::bytea,
        (lpad(to_hex(:round::bigint << 48 | :number::bigint), 16, '0')
            || lpad(to_hex(:client_id::bigint), 16, '0'))::uuid)
    ON CONFLICT ON CONSTRAINT idempotency_keys_are_scoped DO NOTHING
    RETURNING record_id
), made AS (
    INSERT INTO payments (
        id, subject, enrollment_id, state, belvo_idempotency_key, reference,
        amount_centavos, description, statement_description, belvo_customer_id, belvo_enrollment_id,
        beneficiary_bank_account, metadata, created_at, updated_at, next_poll_at, deadline_at)
    SELECT
        record_id, :subject, :enrollment::uuid, 'creating', gen_random_uuid(), NULL, 1990, 'Two coffees',
        'Two coffees', :customer::uuid, :belvo_enrollment::uuid, :account::uuid, NULL, app_now(), app_now(),
        app_now() + 15000000 * interval '1 microsecond', app_now() + 60000000 * interval '1 microsecond'
    FROM claimed
    RETURNING id, subject, enrollment_id, state, in_doubt, belvo_id, belvo_idempotency_key, reference, amount_centavos,
        description, statement_description, belvo_customer_id, belvo_enrollment_id, beneficiary_bank_account,
        provider_status, provider, consent_id, end_to_end_id, external_payment_id, provider_request_id, fido_options,
        assertion_digest, authorization_accepted, failure_code, failure_message, failure_authority, metadata,
        created_at, updated_at, version, deadline_at, app_now() AS read_at
), recorded AS (
    INSERT INTO state_history (record_type, record_id, state_after, caused_by, request_id)
    SELECT 'payment', id, state, 'app', gen_random_uuid()::text FROM made
)
SELECT * FROM made \gset made_

WITH changed AS (
    UPDATE payments SET
        state = 'awaiting_signature', in_doubt = false, belvo_id = gen_random_uuid(),
        provider_status = 'REQUIRES_ACTION', provider = 'mockbank', consent_id = gen_random_uuid()::text,
        end_to_end_id = NULL, external_payment_id = NULL, provider_request_id = NULL,
        fido_options = :fido_options::json, assertion_digest = NULL, authorization_accepted = false,
        failure_code = NULL, failure_message = NULL, failure_authority = NULL,
        updated_at = app_now(), version = version + 1, leased_until = NULL,
        next_poll_at = app_now() + 360000000 * interval '1 microsecond',
        deadline_at = coalesce(NULL, app_now() + 360000000 * interval '1 microsecond')
    WHERE id = :made_id::uuid AND version = :made_version::bigint
    RETURNING id, subject, enrollment_id, state, in_doubt, belvo_id, belvo_idempotency_key, reference, amount_centavos,
        description, statement_description, belvo_customer_id, belvo_enrollment_id, beneficiary_bank_account,
        provider_status, provider, consent_id, end_to_end_id, external_payment_id, provider_request_id, fido_options,
        assertion_digest, authorization_accepted, failure_code, failure_message, failure_authority, metadata,
        created_at, updated_at, version, deadline_at, app_now() AS read_at
), recorded AS (
    INSERT INTO state_history (record_type, record_id, state_before, state_after, caused_by, request_id, detail)
    SELECT 'payment', id, 'creating', state, 'app', gen_random_uuid()::text, 'reported'
    FROM changed WHERE state <> 'creating'
), settled AS (
    UPDATE idempotency_keys SET response_status = 201, response_body = :answer::bytea
    WHERE subject = :subject AND route = 'POST /v1/payment-intents' AND key = :key::bigint::text
        AND EXISTS (SELECT FROM changed)
)
SELECT * FROM changed;
