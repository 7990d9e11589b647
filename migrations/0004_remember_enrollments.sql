-- The bond between a device and a bank. The row exists before Belvo is asked. What identifies a person or a
-- device is encrypted; risk signals, codes and attestations are not kept at all.
CREATE TABLE enrollments (
    id                             uuid        PRIMARY KEY,
    subject                        text        NOT NULL,
    customer_id                    uuid        NOT NULL,
    state                          text        NOT NULL,
    status                         text        NOT NULL GENERATED ALWAYS AS (
        CASE state WHEN 'succeeded' THEN 'SUCCEEDED' WHEN 'failed' THEN 'FAILED' ELSE 'PENDING' END) STORED,
    belvo_id                       uuid,
    institution_id                 uuid        NOT NULL,
    institution_name               text        NOT NULL,
    institution_icon               text,
    platform                       text        NOT NULL,
    name                           text,
    callback_url                   text        NOT NULL,
    redirect_url                   text,
    redirect_state_lookup          bytea,
    device_ciphertext              bytea       NOT NULL,
    device_lookup                  bytea       NOT NULL,
    registration_options_ciphertext bytea,
    confirmation_digest            bytea,
    confirmation_accepted          boolean     NOT NULL DEFAULT false,
    provider_status                text,
    provider_details_status        text,
    expires_at                     text,
    payer_information_ciphertext   bytea,
    failure_code                   text,
    failure_message                text,
    failure_authority              text,
    metadata                       json,
    created_at                     timestamptz NOT NULL,
    updated_at                     timestamptz NOT NULL,
    version                        bigint      NOT NULL DEFAULT 1,
    next_poll_at                   timestamptz,
    deadline_at                    timestamptz,
    leased_until                   timestamptz,
    CONSTRAINT enrollment_belongs_to_a_customer
        FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE RESTRICT,
    CONSTRAINT one_enrollment_per_belvo_id UNIQUE (belvo_id),
    CONSTRAINT enrollment_state_is_known CHECK (state IN (
        'creating', 'at_bank', 'completing', 'awaiting_options', 'awaiting_fingerprint', 'confirming',
        'succeeded', 'failed')),
    CONSTRAINT platform_is_known CHECK (platform IN ('IOS', 'ANDROID', 'BROWSER')),
    CONSTRAINT enrollments_past_creation_are_known_at_belvo
        CHECK (state IN ('creating', 'completing', 'failed') OR belvo_id IS NOT NULL),
    CONSTRAINT failed_enrollments_say_why
        CHECK ((state = 'failed') = (failure_code IS NOT NULL AND failure_authority IS NOT NULL)),
    CONSTRAINT enrollment_failure_is_somebodys_word CHECK (failure_authority IN ('belvo', 'merchant')),
    CONSTRAINT no_orphaned_enrollment
        CHECK (state IN ('succeeded', 'failed') OR (next_poll_at IS NOT NULL AND deadline_at IS NOT NULL))
);

CREATE INDEX enrollments_due ON enrollments (next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE INDEX enrollments_of_a_user ON enrollments (subject, id DESC);
CREATE INDEX enrollments_of_a_device ON enrollments (device_lookup, subject, id DESC);
CREATE INDEX enrollments_by_redirect_state ON enrollments (redirect_state_lookup)
    WHERE redirect_state_lookup IS NOT NULL;

COMMENT ON TABLE  enrollments IS 'Bonds between a user''s device and a bank, from the first tap to the end.';
COMMENT ON COLUMN enrollments.id IS 'Ours; Belvo knows it as external_id.';
COMMENT ON COLUMN enrollments.subject IS 'The merchant''s own user id.';
COMMENT ON COLUMN enrollments.state IS
    'creating, at_bank (waits for the user''s approval), completing (redirect is passed on), awaiting_options, '
    'awaiting_fingerprint (waits for the user), confirming (the bank decides), succeeded, failed.';
COMMENT ON COLUMN enrollments.status IS 'What apps see: PENDING, SUCCEEDED or FAILED.';
COMMENT ON COLUMN enrollments.belvo_id IS 'Belvo''s id; null until known.';
COMMENT ON COLUMN enrollments.redirect_url IS 'Where the user approves it at the bank.';
COMMENT ON COLUMN enrollments.redirect_state_lookup IS
    'Keyed digest of the state parameter of redirect_url; null where the bank hides it.';
COMMENT ON COLUMN enrollments.device_ciphertext IS 'The device id from the risk signals, encrypted.';
COMMENT ON COLUMN enrollments.device_lookup IS 'Keyed digest of the device id, to find a device''s enrollments.';
COMMENT ON COLUMN enrollments.registration_options_ciphertext IS
    'The FIDO registration options exactly as Belvo gave them, encrypted: they name the account''s holder.';
COMMENT ON COLUMN enrollments.confirmation_digest IS
    'Digest of the registration that was sent to Belvo, to know the same one again.';
COMMENT ON COLUMN enrollments.confirmation_accepted IS 'Whether Belvo said that it took the registration.';
COMMENT ON COLUMN enrollments.provider_status IS 'Belvo''s status, in its own word.';
COMMENT ON COLUMN enrollments.provider_details_status IS 'Belvo''s details.status, in its own word.';
COMMENT ON COLUMN enrollments.expires_at IS 'When the bond ends, as Belvo wrote it.';
COMMENT ON COLUMN enrollments.payer_information_ciphertext IS 'The payer''s account as Belvo gave it, encrypted.';
COMMENT ON COLUMN enrollments.failure_code IS
    'Why it failed: Belvo''s status_reason_code, or timed_out, creation_lost, …';
COMMENT ON COLUMN enrollments.failure_authority IS
    'belvo: Belvo said so. merchant: we gave it up; Belvo''s word may still correct it.';
COMMENT ON COLUMN enrollments.metadata IS 'The app''s own JSON.';
COMMENT ON COLUMN enrollments.version IS
    'Grows with every change and every lease; a late write finds another version and loses.';
COMMENT ON COLUMN enrollments.next_poll_at IS 'When it is looked at next; null once terminal.';
COMMENT ON COLUMN enrollments.deadline_at IS 'Until when the present state may last.';
COMMENT ON COLUMN enrollments.leased_until IS 'Until when one server instance is looking at it.';

-- The bank's redirects, kept before they are passed on. The code and the id_token are one-shot secrets: they are
-- here encrypted until Belvo has them, and never longer than a user may take.
CREATE TABLE redirect_receipts (
    id               uuid        PRIMARY KEY,
    digest           bytea       NOT NULL,
    state_lookup     bytea       NOT NULL,
    enrollment_id    uuid,
    posted_by        text,
    is_error         boolean     NOT NULL,
    body_ciphertext  bytea,
    outcome          text        NOT NULL DEFAULT 'received',
    received_at      timestamptz NOT NULL DEFAULT app_now(),
    sent_at          timestamptz,
    version          bigint      NOT NULL DEFAULT 1,
    next_poll_at     timestamptz,
    leased_until     timestamptz,
    CONSTRAINT one_receipt_per_redirect UNIQUE (digest),
    CONSTRAINT receipt_belongs_to_an_enrollment
        FOREIGN KEY (enrollment_id) REFERENCES enrollments (id) ON DELETE CASCADE,
    CONSTRAINT receipt_outcome_is_known
        CHECK (outcome IN ('received', 'sent', 'taken', 'refused', 'unknown', 'expired')),
    CONSTRAINT settled_receipts_keep_no_secret
        CHECK (outcome IN ('received', 'sent') OR body_ciphertext IS NULL),
    CONSTRAINT no_orphaned_receipt CHECK (outcome NOT IN ('received', 'sent') OR next_poll_at IS NOT NULL)
);

CREATE INDEX redirect_receipts_due ON redirect_receipts (next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE INDEX redirect_receipts_of_an_enrollment ON redirect_receipts (enrollment_id);

COMMENT ON TABLE  redirect_receipts IS
    'What banks sent back through the user''s browser or app, stored before Belvo is told.';
COMMENT ON COLUMN redirect_receipts.digest IS 'Keyed digest of all parameters: the same redirect is known again.';
COMMENT ON COLUMN redirect_receipts.state_lookup IS 'Keyed digest of the state parameter.';
COMMENT ON COLUMN redirect_receipts.enrollment_id IS 'Whose it is; null until that is known.';
COMMENT ON COLUMN redirect_receipts.posted_by IS 'The user whose app posted it; null when it came through a browser.';
COMMENT ON COLUMN redirect_receipts.is_error IS 'Whether the bank reported an error.';
COMMENT ON COLUMN redirect_receipts.body_ciphertext IS 'The parameters, encrypted; gone as soon as Belvo has them.';
COMMENT ON COLUMN redirect_receipts.outcome IS
    'received, sent (on its way), taken by Belvo, refused by Belvo, unknown (only reading the enrollment can '
    'tell), expired (never could be sent).';
COMMENT ON COLUMN redirect_receipts.sent_at IS 'When it was last sent to Belvo.';
COMMENT ON COLUMN redirect_receipts.next_poll_at IS 'When it is tried next; null when settled.';
