-- An order is disputed, too, when money came under the name of one of its payments and was none of its own.
--
-- Belvo can have an intent that bears the name of a payment of ours and is another one: an app's SDK gives it any name.
-- Where it is paid the alarm is `paid_beside_order`, and the order says so until somebody has settled that.
ALTER TABLE payments
    ADD COLUMN bears_name_of uuid,
    ADD CONSTRAINT names_are_of_payments FOREIGN KEY (bears_name_of) REFERENCES payments (id),
    ADD CONSTRAINT only_observed_payments_bear_other_names CHECK (bears_name_of IS NULL OR origin = 'observed');

COMMENT ON COLUMN payments.bears_name_of IS
    'The payment of ours whose id Belvo shows as its name, where it is another one: of another amount, for example.';

-- What Belvo took its last word back of had no time from which on it is read less often.
UPDATE payments SET deadline_at = app_now() WHERE contradicted_at IS NOT NULL AND deadline_at IS NULL;

CREATE OR REPLACE FUNCTION raise_money_alarms() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    order_amount bigint;
    others       text;
BEGIN
    IF NEW.state = 'succeeded' AND TG_OP = 'UPDATE' AND OLD.state = 'failed' THEN
        INSERT INTO money_alarms (kind, payment_id, detail, next_poll_at)
        VALUES ('late_success', NEW.id, 'it had been given up as ' || OLD.failure_code, NULL)
        ON CONFLICT DO NOTHING;
    END IF;
    IF NEW.contradicted_at IS NOT NULL THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES ('contradiction', NEW.id, 'it goes on after FAILED') ON CONFLICT DO NOTHING;
    END IF;
    IF NEW.bears_name_of IS NOT NULL AND NEW.state = 'succeeded' THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES ('paid_beside_order', NEW.bears_name_of, 'another intent of its name was paid: ' || NEW.belvo_id)
        ON CONFLICT DO NOTHING;
    END IF;
    IF NEW.reference IS NULL THEN RETURN NULL; END IF;
    SELECT string_agg(id::text, ', ' ORDER BY id) INTO others FROM payments
    WHERE (subject = NEW.subject OR priced_by_order AND NEW.priced_by_order)
        AND reference = NEW.reference AND id <> NEW.id AND (state = 'succeeded' OR contradicted_at IS NOT NULL);
    IF others IS NOT NULL THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES ('double_paid', NEW.id, 'paid beside ' || others) ON CONFLICT DO NOTHING;
    END IF;
    SELECT amount_centavos INTO order_amount FROM orders
    WHERE orders.reference = NEW.reference AND orders.subject = NEW.subject;
    IF FOUND AND (NOT NEW.priced_by_order OR order_amount <> NEW.amount_centavos) THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES ('paid_beside_order', NEW.id, NEW.amount_centavos || ' centavos for an order of ' || order_amount)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE VIEW order_progress AS
    SELECT orders.reference, deciding AS payment_id,
        CASE
            WHEN arrived > 1 OR astray > 0 THEN 'disputed'
            WHEN paid > 0 THEN 'paid'
            WHEN doubtful > 0 THEN 'in_doubt'
            WHEN attempts > 0 THEN 'live'
            WHEN orders.expires_at <= app_now() THEN 'expired'
            ELSE 'open'
        END AS status
    FROM orders CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE takes) AS attempts,
            count(*) FILTER (WHERE takes AND (state = 'succeeded' OR contradicted_at IS NOT NULL)) AS arrived,
            count(*) FILTER (WHERE is_beside OR takes AND state = 'succeeded' AND (
                NOT priced_by_order OR attempt.amount_centavos <> orders.amount_centavos)) AS astray,
            count(*) FILTER (WHERE takes AND state = 'succeeded') AS paid,
            count(*) FILTER (WHERE takes AND (in_doubt OR state = 'failed')) AS doubtful,
            (array_agg(id ORDER BY state = 'succeeded' DESC, id) FILTER (WHERE takes OR is_beside))[1] AS deciding
        FROM (
            SELECT payments.*, takes_reference(payments) AS takes,
                EXISTS (
                    SELECT FROM money_alarms
                    WHERE payment_id = payments.id AND kind = 'paid_beside_order' AND settled_at IS NULL) AS is_beside
            FROM payments
            WHERE payments.reference = orders.reference AND (payments.subject = orders.subject OR priced_by_order)
        ) AS attempt
    ) AS payment;

COMMENT ON COLUMN enrollments.provider_status IS 'Belvo''s status, in its own word; UNREADABLE where it is no word.';
COMMENT ON COLUMN payments.provider_status IS 'Belvo''s status, in its own word; UNREADABLE where it is no word.';

COMMENT ON COLUMN money_alarms.kind IS
    'double_paid: another payment for its reference succeeded too. paid_beside_order: it succeeded and is not what its '
    'order asks for, or another intent that bears its name was paid. late_success: it succeeded after it had been '
    'given up here. contradiction: Belvo took its last word back. differs: Belvo shows it otherwise than it was asked '
    'for, or in a way that cannot be read. end_to_end_id_repeated: Belvo shows another payment''s transfer for it. '
    'created_twice: Belvo has several intents for it.';

COMMENT ON COLUMN webhook_receipts.outcome IS
    'received (to be worked on), done (the object was read, or it repeats what is known of a payment that is closed), '
    'ignored (a type that means nothing here), not_ours (Belvo has it for no customer of ours, or does not have it), '
    'expired (could not be read for days).';
