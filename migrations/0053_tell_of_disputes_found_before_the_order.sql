-- An order that was placed where an alarm about its reference was open read as disputed, and the shop heard nothing of
-- it: the alarm had been handled while there was no order. Such alarms are handled again when an order is placed.
--
-- A twin that was paid where there was no order raised no alarm that its money had come: created_twice, of when it was
-- first seen, may have been settled by then.
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
        PERFORM raise_alarm(
            'paid_beside_order', NEW.bears_name_of, 'another intent of its name was paid: ' || NEW.belvo_id);
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
        PERFORM raise_alarm('double_paid', NEW.id, 'paid beside ' || others);
    END IF;
    -- The shop may have given the order to another user since the payment was opened under it.
    SELECT amount_centavos, subject INTO ordered FROM orders
    WHERE orders.reference = NEW.reference AND (orders.subject = NEW.subject OR NEW.priced_by_order);
    IF FOUND AND (
        NOT NEW.priced_by_order OR NEW.origin <> 'own' OR ordered.amount_centavos <> NEW.amount_centavos
            OR ordered.subject <> NEW.subject)
    THEN
        PERFORM raise_alarm(
            'paid_beside_order', NEW.id, NEW.amount_centavos || ' centavos for an order of ' || ordered.amount_centavos
                || CASE WHEN ordered.subject <> NEW.subject THEN ' of another user' ELSE '' END);
    -- A twin has the reference of its payment, and there is no order that asks for its money.
    ELSIF NOT FOUND AND NEW.origin <> 'own' AND NEW.reference IS NOT NULL THEN
        PERFORM raise_alarm(
            'paid_beside_order', NEW.id, NEW.amount_centavos || ' centavos by an intent that was made without us');
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION check_what_was_paid_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM raise_alarm(
        'paid_beside_order', id,
        amount_centavos || ' centavos before the order of ' || NEW.amount_centavos
            || CASE WHEN subject <> NEW.subject THEN ' of another user' ELSE '' END)
    FROM payments
    WHERE reference = NEW.reference AND state = 'succeeded' AND (subject = NEW.subject OR holds_order(payments));
    -- There was no order that an alarm of before disputes.
    UPDATE money_alarms SET next_poll_at = app_now(), leased_until = NULL, version = money_alarms.version + 1
    FROM payments
    WHERE payments.id = money_alarms.payment_id AND payments.reference = NEW.reference
        AND (payments.subject = NEW.subject OR holds_order(payments))
        AND money_alarms.kind IN ('paid_beside_order', 'double_paid') AND money_alarms.settled_at IS NULL
        AND money_alarms.disputed_reference IS NULL;
    RETURN NULL;
END
$$;
