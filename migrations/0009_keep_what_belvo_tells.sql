-- Belvo tells of changes by webhooks: at most four times, in no order, sometimes twice. What it tells is stored before
-- it is answered, and worked on afterwards: each one is a hint to read the object again. The same telling again finds
-- its row and is worked on once more, so a hundred copies are one row and few readings.
CREATE TABLE webhook_receipts (
    id               uuid        PRIMARY KEY,
    digest           bytea       NOT NULL,
    webhook_type     text        NOT NULL,
    webhook_code     text        NOT NULL,
    object_id        uuid,
    body_ciphertext  bytea       NOT NULL,
    outcome          text        NOT NULL DEFAULT 'received',
    received_count   integer     NOT NULL DEFAULT 1,
    attempts         integer     NOT NULL DEFAULT 0,
    received_at      timestamptz NOT NULL DEFAULT app_now(),
    last_received_at timestamptz NOT NULL DEFAULT app_now(),
    processed_at     timestamptz,
    version          bigint      NOT NULL DEFAULT 1,
    next_poll_at     timestamptz,
    leased_until     timestamptz,
    CONSTRAINT one_receipt_per_webhook UNIQUE (digest),
    CONSTRAINT webhook_outcome_is_known CHECK (outcome IN ('received', 'done', 'ignored', 'not_ours', 'expired')),
    CONSTRAINT webhooks_to_work_on_name_an_object CHECK (outcome <> 'received' OR object_id IS NOT NULL),
    CONSTRAINT no_orphaned_webhook CHECK ((outcome = 'received') = (next_poll_at IS NOT NULL))
);

CREATE INDEX webhook_receipts_due ON webhook_receipts (next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE INDEX webhook_receipts_of_an_object ON webhook_receipts (object_id);
CREATE INDEX webhook_receipts_by_age ON webhook_receipts (last_received_at);

COMMENT ON TABLE  webhook_receipts IS 'What Belvo told by webhook, stored before it was answered.';
COMMENT ON COLUMN webhook_receipts.digest IS 'Keyed digest of the body after parsing: the same telling is known again.';
COMMENT ON COLUMN webhook_receipts.webhook_type IS
    'ENROLLMENTS, PAYMENT_INTENTS, CHARGES, TRANSACTIONS, or another word.';
COMMENT ON COLUMN webhook_receipts.webhook_code IS 'STATUS_UPDATE, OBJECT_CREATED, or another word.';
COMMENT ON COLUMN webhook_receipts.object_id IS 'What it is about, by Belvo''s id.';
COMMENT ON COLUMN webhook_receipts.body_ciphertext IS 'The body as it came, encrypted.';
COMMENT ON COLUMN webhook_receipts.outcome IS
    'received (to be worked on), done (the object was read), ignored (a type that means nothing here), not_ours '
    '(Belvo has it for no customer of ours, or does not have it), expired (could not be read for days).';
COMMENT ON COLUMN webhook_receipts.received_count IS 'How often the same telling came.';
COMMENT ON COLUMN webhook_receipts.attempts IS 'How often it was worked on.';
COMMENT ON COLUMN webhook_receipts.received_at IS 'When it came first.';
COMMENT ON COLUMN webhook_receipts.last_received_at IS 'When it came last.';
COMMENT ON COLUMN webhook_receipts.processed_at IS 'When it got its outcome.';
COMMENT ON COLUMN webhook_receipts.version IS
    'Grows with every change and every lease; a late write finds another version and loses.';
COMMENT ON COLUMN webhook_receipts.next_poll_at IS 'When it is worked on next; null when it is settled.';
COMMENT ON COLUMN webhook_receipts.leased_until IS 'Until when one server instance is working on it.';
