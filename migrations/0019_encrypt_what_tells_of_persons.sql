-- What Belvo says in its own words may repeat what it was sent, a name or a CPF; an answer that is kept for a repeated
-- key shows all of a record; the phone's name and the bank's address are a person's too. From here on a dump shows none
-- of them. A server of an earlier version still writes the columns without `_ciphertext`, and reads only them; what it
-- has left there is newer than the ciphertext beside it, and the servers encrypt it in their retention pass.
ALTER TABLE enrollments
    ADD COLUMN name_ciphertext            bytea,
    ADD COLUMN redirect_url_ciphertext    bytea,
    ADD COLUMN failure_message_ciphertext bytea;
ALTER TABLE payments ADD COLUMN failure_message_ciphertext bytea;
ALTER TABLE idempotency_keys ADD COLUMN response_body_ciphertext bytea;

ALTER TABLE idempotency_keys DROP CONSTRAINT answers_are_whole;
ALTER TABLE idempotency_keys ADD CONSTRAINT answers_are_whole
    CHECK ((response_status IS NULL) = (coalesce(response_body, response_body_ciphertext) IS NULL));

-- Found by nothing but the pass that empties them.
CREATE INDEX enrollments_left_in_plain ON enrollments (id)
    WHERE coalesce(name, redirect_url, failure_message) IS NOT NULL;
CREATE INDEX payments_left_in_plain ON payments (id) WHERE failure_message IS NOT NULL;
CREATE INDEX idempotency_keys_left_in_plain ON idempotency_keys (record_id) WHERE response_body IS NOT NULL;

CREATE OR REPLACE FUNCTION keep_enrollments_hollow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.origin = 'observed' AND (NEW.hollowed_at IS NULL OR NEW.state = 'succeeded')
        AND NOT EXISTS (SELECT FROM customers WHERE id = NEW.customer_id AND erased_at IS NOT NULL)
    THEN
        RETURN NEW;
    END IF;
    NEW.redirect_url = NULL;
    NEW.redirect_url_ciphertext = NULL;
    NEW.redirect_state_lookup = NULL;
    NEW.registration_options_ciphertext = NULL;
    NEW.payer_information_ciphertext = NULL;
    NEW.failure_message = NULL;
    NEW.failure_message_ciphertext = NULL;
    RETURN NEW;
END
$$;

COMMENT ON COLUMN enrollments.name IS 'Empty: an earlier version''s name_ciphertext in plain.';
COMMENT ON COLUMN enrollments.redirect_url IS 'Empty: an earlier version''s redirect_url_ciphertext in plain.';
COMMENT ON COLUMN enrollments.failure_message IS 'Empty: an earlier version''s failure_message_ciphertext in plain.';
COMMENT ON COLUMN payments.failure_message IS 'Empty: an earlier version''s failure_message_ciphertext in plain.';
COMMENT ON COLUMN idempotency_keys.response_body IS 'Empty: an earlier version''s response_body_ciphertext in plain.';
COMMENT ON COLUMN enrollments.name_ciphertext IS 'What the user calls the device, encrypted.';
COMMENT ON COLUMN enrollments.redirect_url_ciphertext IS 'Where the user approves it at the bank, encrypted.';
COMMENT ON COLUMN enrollments.failure_message_ciphertext IS 'Belvo''s words on why it failed, encrypted.';
COMMENT ON COLUMN payments.failure_message_ciphertext IS 'Belvo''s words on why it failed, encrypted.';
COMMENT ON COLUMN idempotency_keys.response_body_ciphertext IS 'The body that was answered, byte for byte, encrypted.';
