-- An app's SDK can make enrollments and payments at Belvo without us. When Belvo tells of one that is a customer's of
-- ours it gets a row here, so that its user sees it and operators see money that moved without an order. Such a row is
-- observed: it follows what Belvo says, and nothing is done with it from here.
ALTER TABLE enrollments ADD COLUMN origin text NOT NULL DEFAULT 'own';
ALTER TABLE enrollments ALTER COLUMN platform DROP NOT NULL;
ALTER TABLE enrollments ALTER COLUMN callback_url DROP NOT NULL;
ALTER TABLE enrollments DROP CONSTRAINT enrollment_state_is_known;
ALTER TABLE enrollments
    ADD CONSTRAINT enrollment_state_is_known CHECK (state IN (
        'creating', 'at_bank', 'completing', 'awaiting_options', 'awaiting_fingerprint', 'confirming', 'observed',
        'succeeded', 'failed')),
    ADD CONSTRAINT enrollment_origin_is_known CHECK (origin IN ('own', 'observed')),
    ADD CONSTRAINT own_enrollments_are_whole
        CHECK (origin = 'observed' OR (platform IS NOT NULL AND callback_url IS NOT NULL)),
    ADD CONSTRAINT only_observed_enrollments_are_followed CHECK (state <> 'observed' OR origin = 'observed'),
    ADD CONSTRAINT observed_enrollments_are_only_followed CHECK (origin = 'own' OR (
        state IN ('observed', 'succeeded', 'failed') AND belvo_id IS NOT NULL AND confirmation_digest IS NULL
        AND failure_authority IS DISTINCT FROM 'merchant'));

ALTER TABLE payments ADD COLUMN origin text NOT NULL DEFAULT 'own';
ALTER TABLE payments ALTER COLUMN enrollment_id DROP NOT NULL;
ALTER TABLE payments ALTER COLUMN belvo_idempotency_key DROP NOT NULL;
ALTER TABLE payments ALTER COLUMN description DROP NOT NULL;
ALTER TABLE payments ALTER COLUMN statement_description DROP NOT NULL;
ALTER TABLE payments ALTER COLUMN belvo_enrollment_id DROP NOT NULL;
ALTER TABLE payments ALTER COLUMN beneficiary_bank_account DROP NOT NULL;
ALTER TABLE payments DROP CONSTRAINT payment_state_is_known;
ALTER TABLE payments
    ADD CONSTRAINT payment_state_is_known CHECK (state IN (
        'creating', 'awaiting_options', 'awaiting_signature', 'authorizing', 'observed', 'succeeded', 'failed')),
    ADD CONSTRAINT payment_origin_is_known CHECK (origin IN ('own', 'observed')),
    ADD CONSTRAINT own_payments_are_whole CHECK (origin = 'observed' OR (
        enrollment_id IS NOT NULL AND belvo_idempotency_key IS NOT NULL AND description IS NOT NULL
        AND statement_description IS NOT NULL AND belvo_enrollment_id IS NOT NULL
        AND beneficiary_bank_account IS NOT NULL)),
    ADD CONSTRAINT only_observed_payments_are_followed CHECK (state <> 'observed' OR origin = 'observed'),
    ADD CONSTRAINT observed_payments_are_only_followed CHECK (origin = 'own' OR (
        state IN ('observed', 'succeeded', 'failed') AND belvo_id IS NOT NULL AND assertion_digest IS NULL
        AND NOT cancel_requested AND failure_authority IS DISTINCT FROM 'merchant')),
    ADD CONSTRAINT observed_payments_hold_no_reference CHECK (origin = 'own' OR reference IS NULL);

CREATE INDEX enrollments_taken_in ON enrollments (id) WHERE origin = 'observed';
CREATE INDEX payments_taken_in ON payments (id) WHERE origin = 'observed';

COMMENT ON COLUMN enrollments.origin IS
    'own: made here. observed: made at Belvo without us, and taken in when Belvo told of it.';
COMMENT ON COLUMN enrollments.state IS
    'creating, at_bank (waits for the user''s approval), completing (redirect is passed on), awaiting_options, '
    'awaiting_fingerprint (waits for the user), confirming (the bank decides), observed (made without us, followed '
    'until Belvo says how it ends), succeeded, failed.';
COMMENT ON COLUMN enrollments.id IS 'Ours; Belvo knows it as external_id, unless it was made without us.';
COMMENT ON COLUMN enrollments.device_ciphertext IS
    'The device id from the risk signals, encrypted; null where it served its purpose or was never known here.';
COMMENT ON COLUMN payments.origin IS
    'own: made here. observed: made at Belvo without us, and taken in when Belvo told of it.';
COMMENT ON COLUMN payments.state IS
    'creating, awaiting_options, awaiting_signature (waits for the user), authorizing (money may move), observed '
    '(made without us, followed until Belvo says how it ends), succeeded, failed.';
COMMENT ON COLUMN payments.id IS 'Ours; Belvo knows it as external_id, unless it was made without us.';
COMMENT ON COLUMN payments.enrollment_id IS
    'The enrollment that pays; null where an observed payment names none of the same user.';
COMMENT ON COLUMN payments.belvo_idempotency_key IS
    'The Belvo-Idempotency-Key of its creation; null where that was not ours.';
COMMENT ON COLUMN payments.beneficiary_bank_account IS
    'The account at Belvo that is paid: the merchant''s own, but for an observed payment.';

-- An observed enrollment never had its device here. It keeps what Belvo shows for as long as another one would: until
-- its time is over, or its person was forgotten.
CREATE OR REPLACE FUNCTION keep_enrollments_hollow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.origin = 'observed' AND (NEW.hollowed_at IS NULL OR NEW.state = 'succeeded')
        AND NOT EXISTS (SELECT FROM customers WHERE id = NEW.customer_id AND erased_at IS NOT NULL)
    THEN
        RETURN NEW;
    END IF;
    NEW.redirect_url = NULL;
    NEW.redirect_state_lookup = NULL;
    NEW.registration_options_ciphertext = NULL;
    NEW.payer_information_ciphertext = NULL;
    RETURN NEW;
END
$$;

CREATE OR REPLACE VIEW ops.payments_open AS
    SELECT id, belvo_id, subject, reference, state, in_doubt, (amount_centavos / 100.0)::numeric(18, 2) AS amount,
        app_now() - created_at AS age, app_now() - updated_at AS in_this_state_for,
        next_poll_at - app_now() AS next_look_in,
        deadline_at - app_now() AS deadline_in, leased_until > app_now() AS is_being_looked_at, provider_status, origin
    FROM payments WHERE status = 'PENDING' ORDER BY created_at;

CREATE OR REPLACE VIEW ops.enrollments_open AS
    SELECT id, belvo_id, subject, state, institution_name, platform,
        app_now() - created_at AS age, app_now() - updated_at AS in_this_state_for,
        next_poll_at - app_now() AS next_look_in,
        deadline_at - app_now() AS deadline_in, leased_until > app_now() AS is_being_looked_at, provider_status,
        provider_details_status, origin
    FROM enrollments WHERE status = 'PENDING' ORDER BY created_at;

COMMENT ON COLUMN ops.payments_open.origin IS 'own: made here. observed: made at Belvo without us.';
COMMENT ON COLUMN ops.enrollments_open.origin IS 'own: made here. observed: made at Belvo without us.';

CREATE VIEW ops.taken_in AS
    SELECT 'payment' AS record_type, id, belvo_id, subject, state, provider_status,
        (amount_centavos / 100.0)::numeric(18, 2) AS amount, end_to_end_id, beneficiary_bank_account, created_at,
        (SELECT min(changed_at) FROM state_history WHERE record_id = payments.id) AS taken_in_at
    FROM payments WHERE origin = 'observed'
    UNION ALL
    SELECT 'enrollment', id, belvo_id, subject, state, provider_status, NULL, NULL, NULL, created_at,
        (SELECT min(changed_at) FROM state_history WHERE record_id = enrollments.id)
    FROM enrollments WHERE origin = 'observed'
    ORDER BY taken_in_at DESC, id DESC;
COMMENT ON VIEW ops.taken_in IS
    'What was made at Belvo without this server, newest first? A payment that succeeded here paid no order: somebody '
    'has to find out what it was for.';
COMMENT ON COLUMN ops.taken_in.record_type IS 'The kind of record.';
COMMENT ON COLUMN ops.taken_in.id IS 'Ours; merchant inspect takes it.';
COMMENT ON COLUMN ops.taken_in.belvo_id IS 'Belvo''s id of it.';
COMMENT ON COLUMN ops.taken_in.subject IS 'The user''s id, as the shop''s tokens have it.';
COMMENT ON COLUMN ops.taken_in.state IS 'observed until Belvo says how it ended, then succeeded or failed.';
COMMENT ON COLUMN ops.taken_in.provider_status IS 'Belvo''s word for its status.';
COMMENT ON COLUMN ops.taken_in.amount IS 'Of a payment, in reais.';
COMMENT ON COLUMN ops.taken_in.end_to_end_id IS 'The Central Bank''s id of the transfer: what a bank asks for.';
COMMENT ON COLUMN ops.taken_in.beneficiary_bank_account IS
    'The account that a payment goes to, by Belvo''s id: it need not be the shop''s.';
COMMENT ON COLUMN ops.taken_in.created_at IS 'When Belvo says that it was made.';
COMMENT ON COLUMN ops.taken_in.taken_in_at IS 'When it came here.';

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'merchant_readonly') THEN
        GRANT SELECT ON ops.taken_in TO merchant_readonly;
    END IF;
END
$$;
