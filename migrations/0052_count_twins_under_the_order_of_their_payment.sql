-- A twin of a payment that was opened under an order counted as one without an order. Once the shop had given the order
-- to another user, who paid it, a twin of the first user's payment that was paid, too, raised no alarm, and the order
-- read as paid. A twin is under the order of its payment now; an order that it pays alone is disputed as before, since
-- no payment that was made without us is counted as the order's.
UPDATE payments SET priced_by_order = true
WHERE origin = 'observed' AND NOT priced_by_order AND EXISTS (
    SELECT FROM payments AS own
    WHERE own.reference = payments.reference AND own.subject = payments.subject AND own.priced_by_order);

COMMENT ON COLUMN payments.priced_by_order IS
    'Whether its price was an order''s when it was opened. A twin has it of its payment.';

CREATE OR REPLACE FUNCTION raise_money_alarms()
 RETURNS trigger
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
AS $$
DECLARE
    ordered      record;
    others       text;
BEGIN
    IF NEW.state = 'succeeded' AND TG_OP = 'UPDATE' AND OLD.state = 'failed' THEN
        INSERT INTO money_alarms (kind, payment_id, detail, next_poll_at)
        VALUES ('late_success', NEW.id, 'it had been given up as ' || OLD.failure_code, NULL)
        ON CONFLICT DO NOTHING;
    END IF;
    IF NEW.contradicted_at IS NOT NULL THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES (
            'contradiction', NEW.id,
            'it goes on after FAILED' || coalesce(', collected by ' || NEW.collected_by, ''))
        ON CONFLICT DO NOTHING;
    END IF;
    IF NEW.bears_name_of IS NOT NULL AND NEW.state = 'succeeded' THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES ('paid_beside_order', NEW.bears_name_of, 'another intent of its name was paid: ' || NEW.belvo_id)
        -- Each of several that are paid stands in the alarm.
        ON CONFLICT (payment_id, kind) WHERE settled_at IS NULL
            DO UPDATE SET detail = money_alarms.detail || '; ' || excluded.detail;
    END IF;
    SELECT string_agg(id::text, ', ' ORDER BY id) INTO others FROM (
        SELECT id FROM payments
        WHERE (subject = NEW.subject OR priced_by_order AND NEW.priced_by_order)
            AND reference = NEW.reference AND id <> NEW.id AND has_received_money(payments)
        UNION
        SELECT id FROM payments
        WHERE (id = NEW.bears_name_of OR bears_name_of IN (NEW.id, NEW.bears_name_of)) AND is_twin(payments, NEW)
            AND has_received_money(payments)
    ) AS paid;
    -- What had collected counted already before Belvo closed it as FAILED.
    IF others IS NOT NULL AND NOT (
        TG_OP = 'UPDATE' AND OLD.collected_by IS NOT NULL AND OLD.closed_at_belvo IS NULL AND NEW.state = 'failed')
    THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES ('double_paid', NEW.id, 'paid beside ' || others) ON CONFLICT DO NOTHING;
    END IF;
    -- The shop may have given the order to another user since the payment was opened under it.
    SELECT amount_centavos, subject INTO ordered FROM orders
    WHERE orders.reference = NEW.reference AND (orders.subject = NEW.subject OR NEW.priced_by_order);
    IF FOUND AND (
        NOT NEW.priced_by_order OR NEW.origin <> 'own' OR ordered.amount_centavos <> NEW.amount_centavos
            OR ordered.subject <> NEW.subject)
    THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES (
            'paid_beside_order', NEW.id, NEW.amount_centavos || ' centavos for an order of ' || ordered.amount_centavos
                || CASE WHEN ordered.subject <> NEW.subject THEN ' of another user' ELSE '' END)
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
            count(*) FILTER (WHERE takes AND has_money) AS arrived,
            count(*) FILTER (WHERE is_disputed OR takes AND state = 'succeeded' AND (
                NOT priced_by_order OR origin <> 'own'
                    OR attempt.amount_centavos <> orders.amount_centavos)) AS astray,
            count(*) FILTER (WHERE takes AND state = 'succeeded') AS paid,
            count(*) FILTER (WHERE takes AND (in_doubt OR state = 'failed')) AS doubtful,
            (array_agg(id ORDER BY state = 'succeeded' DESC, id) FILTER (WHERE takes OR is_disputed))[1] AS deciding
        FROM (
            SELECT payments.*, takes_reference(payments) AS takes, has_received_money(payments) AS has_money,
                EXISTS (
                    SELECT FROM money_alarms
                    WHERE payment_id = payments.id AND kind IN ('paid_beside_order', 'double_paid')
                        AND settled_at IS NULL) AS is_disputed
            FROM payments
            WHERE payments.reference = orders.reference AND (payments.subject = orders.subject OR priced_by_order)
        ) AS attempt
    ) AS payment;
