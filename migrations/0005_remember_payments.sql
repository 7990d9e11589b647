-- One attempt to pay. The row exists before Belvo is asked, with the identity under which Belvo will know it.
CREATE TABLE payments (
    id                       uuid        PRIMARY KEY,
    subject                  text        NOT NULL,
    enrollment_id            uuid        NOT NULL,
    state                    text        NOT NULL,
    status                   text        NOT NULL GENERATED ALWAYS AS (
        CASE state WHEN 'succeeded' THEN 'SUCCEEDED' WHEN 'failed' THEN 'FAILED' ELSE 'PENDING' END) STORED,
    in_doubt                 boolean     NOT NULL DEFAULT false,
    belvo_id                 uuid,
    belvo_idempotency_key    uuid        NOT NULL,
    reference                text,
    holds_reference          boolean     NOT NULL,
    amount_centavos          bigint      NOT NULL,
    description              text        NOT NULL,
    statement_description    text        NOT NULL,
    belvo_customer_id        uuid        NOT NULL,
    belvo_enrollment_id      uuid        NOT NULL,
    beneficiary_bank_account uuid        NOT NULL,
    provider_status          text,
    provider                 text,
    consent_id               text,
    end_to_end_id            text,
    external_payment_id      text,
    provider_request_id      text,
    fido_options             json,
    assertion_digest         bytea,
    authorization_accepted   boolean     NOT NULL DEFAULT false,
    failure_code             text,
    failure_message          text,
    failure_authority        text,
    metadata                 json,
    created_at               timestamptz NOT NULL,
    updated_at               timestamptz NOT NULL,
    version                  bigint      NOT NULL DEFAULT 1,
    next_poll_at             timestamptz,
    deadline_at              timestamptz,
    leased_until             timestamptz,
    CONSTRAINT payment_uses_an_enrollment
        FOREIGN KEY (enrollment_id) REFERENCES enrollments (id) ON DELETE RESTRICT,
    CONSTRAINT one_payment_per_belvo_id UNIQUE (belvo_id),
    CONSTRAINT one_payment_per_end_to_end_id UNIQUE (end_to_end_id),
    CONSTRAINT payment_state_is_known CHECK (state IN (
        'creating', 'awaiting_options', 'awaiting_signature', 'authorizing', 'succeeded', 'failed')),
    CONSTRAINT amount_is_positive CHECK (amount_centavos > 0),
    CONSTRAINT only_authorized_payments_are_in_doubt CHECK (NOT in_doubt OR state = 'authorizing'),
    CONSTRAINT payments_past_creation_are_known_at_belvo
        CHECK (state IN ('creating', 'failed') OR belvo_id IS NOT NULL),
    CONSTRAINT signed_payments_remember_their_signature
        CHECK (state <> 'authorizing' OR assertion_digest IS NOT NULL),
    CONSTRAINT failed_payments_say_why
        CHECK ((state = 'failed') = (failure_code IS NOT NULL AND failure_authority IS NOT NULL)),
    CONSTRAINT payment_failure_is_somebodys_word CHECK (failure_authority IN ('belvo', 'merchant')),
    CONSTRAINT only_referenced_payments_hold_a_reference CHECK (NOT holds_reference OR reference IS NOT NULL),
    CONSTRAINT no_orphaned_payment
        CHECK (state IN ('succeeded', 'failed') OR (next_poll_at IS NOT NULL AND deadline_at IS NOT NULL))
);

-- The promise "one reference, one payment" rests on this index. A payment holds its reference from the moment it
-- is remembered until it is known to have failed.
CREATE UNIQUE INDEX one_live_payment_per_reference ON payments (subject, reference) WHERE holds_reference;
CREATE INDEX payments_of_a_reference ON payments (subject, reference, id DESC) WHERE reference IS NOT NULL;
CREATE INDEX payments_due ON payments (next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE INDEX payments_of_a_user ON payments (subject, id DESC);
CREATE INDEX payments_of_an_enrollment ON payments (enrollment_id);

COMMENT ON TABLE  payments IS 'Attempts to pay, each one payment intent at Belvo.';
COMMENT ON COLUMN payments.id IS 'Ours; Belvo knows it as external_id.';
COMMENT ON COLUMN payments.subject IS 'The merchant''s own user id.';
COMMENT ON COLUMN payments.state IS
    'creating, awaiting_options, awaiting_signature (waits for the user), authorizing (money may move), '
    'succeeded, failed.';
COMMENT ON COLUMN payments.status IS 'What apps see: PENDING, SUCCEEDED or FAILED.';
COMMENT ON COLUMN payments.in_doubt IS 'Authorized, past its deadline, not decided: only Belvo''s word ends it.';
COMMENT ON COLUMN payments.belvo_id IS 'Belvo''s id of the payment intent; null until known.';
COMMENT ON COLUMN payments.belvo_idempotency_key IS 'The Belvo-Idempotency-Key of its creation.';
COMMENT ON COLUMN payments.reference IS 'The merchant''s own name for what is paid.';
COMMENT ON COLUMN payments.holds_reference IS
    'Whether another payment for the same reference is refused because of this one.';
COMMENT ON COLUMN payments.amount_centavos IS 'BRL, in centavos.';
COMMENT ON COLUMN payments.belvo_customer_id IS 'The payer, as Belvo knows one.';
COMMENT ON COLUMN payments.belvo_enrollment_id IS 'The enrollment, as Belvo knows it.';
COMMENT ON COLUMN payments.beneficiary_bank_account IS 'The merchant''s account at Belvo that is paid.';
COMMENT ON COLUMN payments.provider_status IS 'Belvo''s status, in its own word.';
COMMENT ON COLUMN payments.end_to_end_id IS 'The Pix end-to-end id; unique in all of Pix.';
COMMENT ON COLUMN payments.fido_options IS 'What the phone signs, exactly as Belvo gave it.';
COMMENT ON COLUMN payments.assertion_digest IS
    'Digest of the signature that was sent to Belvo, to know the same one again.';
COMMENT ON COLUMN payments.authorization_accepted IS 'Whether Belvo said that it took the signature.';
COMMENT ON COLUMN payments.failure_code IS 'Why it failed: Belvo''s failure_code, or timed_out, creation_lost, …';
COMMENT ON COLUMN payments.failure_authority IS
    'belvo: Belvo said so. merchant: we gave it up; Belvo''s word may still correct it.';
COMMENT ON COLUMN payments.version IS
    'Grows with every change and every lease; a late write finds another version and loses.';
COMMENT ON COLUMN payments.next_poll_at IS 'When it is looked at next; null once terminal.';
COMMENT ON COLUMN payments.deadline_at IS 'Until when the present state may last.';
COMMENT ON COLUMN payments.leased_until IS 'Until when one server instance is looking at it.';
