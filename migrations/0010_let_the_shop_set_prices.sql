-- The price of a payment is the shop's word, never the app's. An order says what a user is to pay; the shop writes it
-- through the API or with plain SQL, and the checks below hold for both.
CREATE TABLE orders (
    reference             text        NOT NULL,
    subject               text        NOT NULL,
    amount_centavos       bigint      NOT NULL,
    description           text        NOT NULL,
    statement_description text,
    expires_at            timestamptz,
    created_at            timestamptz NOT NULL DEFAULT app_now(),
    updated_at            timestamptz NOT NULL DEFAULT app_now(),
    CONSTRAINT one_order_per_reference PRIMARY KEY (reference),
    CONSTRAINT order_amount_is_positive CHECK (amount_centavos > 0),
    CONSTRAINT order_reference_is_a_line_of_1_to_64_characters
        CHECK (char_length(reference) BETWEEN 1 AND 64 AND reference !~ '[[:cntrl:]]' AND reference ~ '[^[:space:]]'),
    CONSTRAINT order_subject_is_a_line_of_1_to_128_characters
        CHECK (char_length(subject) BETWEEN 1 AND 128 AND subject !~ '[[:cntrl:]]' AND subject ~ '[^[:space:]]'),
    CONSTRAINT order_description_is_a_line_of_1_to_140_characters
        CHECK (char_length(description) BETWEEN 1 AND 140 AND description !~ '[[:cntrl:]]'
            AND description ~ '[^[:space:]]'),
    CONSTRAINT order_statement_description_is_a_line_of_1_to_140_characters
        CHECK (char_length(statement_description) BETWEEN 1 AND 140 AND statement_description !~ '[[:cntrl:]]'
            AND statement_description ~ '[^[:space:]]')
);

CREATE INDEX orders_of_a_user ON orders (subject);

-- While a payment for an order is live, in doubt or paid, the order stays what the user saw. Its user stays the same
-- for as long as any earlier payment may still turn out to have been paid: otherwise two users could pay one order.
-- The row is locked when this looks, and a new payment locks it too, so neither overtakes the other.
CREATE FUNCTION keep_orders_in_use() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.reference, NEW.subject, NEW.amount_centavos, NEW.description,
            NEW.statement_description, NEW.expires_at)
        IS NOT DISTINCT FROM (OLD.reference, OLD.subject, OLD.amount_centavos, OLD.description,
            OLD.statement_description, OLD.expires_at)
    THEN
        RETURN NEW;
    END IF;
    IF EXISTS (
        SELECT FROM payments
        WHERE subject = OLD.subject AND reference = OLD.reference
            AND (state <> 'failed' OR (
                failure_authority = 'merchant' AND failure_code <> 'not_sent'
                AND (TG_OP = 'DELETE' OR (NEW.reference, NEW.subject) <> (OLD.reference, OLD.subject))))
    ) THEN
        RAISE EXCEPTION 'a payment for this order is live, in doubt or paid'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'orders_in_use_stay_as_they_are',
                TABLE = 'orders';
    END IF;
    RETURN coalesce(NEW, OLD);
END
$$;

CREATE TRIGGER orders_in_use_stay_as_they_are
    BEFORE UPDATE OR DELETE ON orders
    FOR EACH ROW EXECUTE FUNCTION keep_orders_in_use();

COMMENT ON TABLE  orders IS 'What users are to pay, as the shop says. INSERT here or use PUT /orders/{reference}.';
COMMENT ON COLUMN orders.reference IS 'The shop''s own name for what is paid; payments name it too.';
COMMENT ON COLUMN orders.subject IS 'The merchant''s own id of the user who may pay it.';
COMMENT ON COLUMN orders.amount_centavos IS 'BRL, in centavos.';
COMMENT ON COLUMN orders.description IS 'What the payer''s bank shows before the fingerprint; 1 to 140 characters.';
COMMENT ON COLUMN orders.statement_description IS
    'What the payment is called on the account statement; null: like the description.';
COMMENT ON COLUMN orders.expires_at IS 'From when on no payment for it may begin; null: never.';
COMMENT ON COLUMN orders.created_at IS 'When it was placed.';
COMMENT ON COLUMN orders.updated_at IS 'When it was last changed.';
