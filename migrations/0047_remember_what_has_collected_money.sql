-- A charge that had collected money was forgotten where the intent beside it was under way: a later FAILED that showed
-- no charge was believed, and the reference was paid again. And once an operator had settled a contradiction, money
-- that another charge collected raised none.
ALTER TABLE payments ADD COLUMN collected_by text;

COMMENT ON COLUMN payments.collected_by IS
    'The ids of the transfers, charges and transactions that Belvo showed to have collected money for it while it was '
    'not SUCCEEDED here, with a space between them; null where there are none. FAILED beside any is a contradiction.';

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
            AND reference = NEW.reference AND id <> NEW.id AND (state = 'succeeded' OR contradicted_at IS NOT NULL)
        UNION
        SELECT id FROM payments
        WHERE (id = NEW.bears_name_of OR bears_name_of IN (NEW.id, NEW.bears_name_of)) AND is_twin(payments, NEW)
            AND (state = 'succeeded' OR contradicted_at IS NOT NULL)
    ) AS paid;
    IF others IS NOT NULL THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES ('double_paid', NEW.id, 'paid beside ' || others) ON CONFLICT DO NOTHING;
    END IF;
    -- The shop may have given the order to another user since the payment was opened under it.
    SELECT amount_centavos, subject INTO ordered FROM orders
    WHERE orders.reference = NEW.reference AND (orders.subject = NEW.subject OR NEW.priced_by_order);
    IF FOUND AND (
        NOT NEW.priced_by_order OR ordered.amount_centavos <> NEW.amount_centavos OR ordered.subject <> NEW.subject)
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
