-- A user becomes a customer of Belvo's once, before the first enrollment. The row exists before Belvo is asked,
-- so that a crash in between leaves something to look Belvo up by: our id, which Belvo keeps as external_id.
CREATE TABLE customers (
    id                   uuid        PRIMARY KEY,
    subject              text        NOT NULL,
    state                text        NOT NULL,
    belvo_id             uuid,
    belvo_created_at     timestamptz,
    person_ciphertext    bytea       NOT NULL,
    tax_id_lookup        bytea       NOT NULL,
    failure_code         text,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint      NOT NULL DEFAULT 1,
    next_poll_at         timestamptz,
    deadline_at          timestamptz,
    leased_until         timestamptz,
    CONSTRAINT one_customer_per_user UNIQUE (subject),
    CONSTRAINT one_customer_per_belvo_id UNIQUE (belvo_id),
    CONSTRAINT user_id_has_1_to_128_characters CHECK (char_length(subject) BETWEEN 1 AND 128),
    CONSTRAINT customer_state_is_known CHECK (state IN ('creating', 'created', 'failed')),
    CONSTRAINT created_customers_are_known_at_belvo
        CHECK (state <> 'created' OR (belvo_id IS NOT NULL AND belvo_created_at IS NOT NULL)),
    CONSTRAINT no_orphaned_customer
        CHECK (state <> 'creating' OR (next_poll_at IS NOT NULL AND deadline_at IS NOT NULL))
);

CREATE INDEX customers_due ON customers (next_poll_at) WHERE next_poll_at IS NOT NULL;

COMMENT ON TABLE  customers IS 'The merchant''s users as Belvo''s customers, one per user.';
COMMENT ON COLUMN customers.id IS 'Ours; Belvo knows it as external_id.';
COMMENT ON COLUMN customers.subject IS 'The merchant''s own user id: sub of the user''s token.';
COMMENT ON COLUMN customers.state IS
    'creating: asked for, outcome not known yet. created: Belvo has it. failed: Belvo refused it; the user may '
    'try again.';
COMMENT ON COLUMN customers.belvo_id IS 'Belvo''s id; null until known.';
COMMENT ON COLUMN customers.belvo_created_at IS 'When Belvo created it; its day is the account tenure.';
COMMENT ON COLUMN customers.person_ciphertext IS 'Name, CPF or CNPJ, email and phone, encrypted.';
COMMENT ON COLUMN customers.tax_id_lookup IS 'Keyed digest of the CPF or CNPJ, to compare without decrypting.';
COMMENT ON COLUMN customers.failure_code IS 'Why the last attempt failed.';
COMMENT ON COLUMN customers.version IS
    'Grows with every change and every lease: who writes names the version that was read, and a late write finds '
    'another.';
COMMENT ON COLUMN customers.next_poll_at IS 'When it is looked at next; null when nothing is left to find out.';
COMMENT ON COLUMN customers.deadline_at IS 'Until when Belvo may still not know it.';
COMMENT ON COLUMN customers.leased_until IS 'Until when one server instance is looking at it.';
