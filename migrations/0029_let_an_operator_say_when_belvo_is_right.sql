-- Settling the alarm of a contradiction freed the reference, also where money had moved: the next payment was paid too.
-- Now the payment takes over what Belvo shows from then on. Erasing a person gives an order no other payer, and raised
-- an alarm for each order that was paid. An order keeps its name once a payment was opened for it.
CREATE FUNCTION is_contradiction_settled(payment uuid, contradicted timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(bool_and(settled_at IS NOT NULL) AND max(settled_at) > contradicted, false)
    FROM money_alarms WHERE payment_id = payment AND kind = 'contradiction'
$$;

COMMENT ON FUNCTION is_contradiction_settled IS
    'Whether an operator has settled what was contradicted then: the next last status that Belvo shows is true.';

COMMENT ON COLUMN payments.contradicted_at IS
    'When Belvo first went on after FAILED. Its reference stays taken until an operator has settled the alarm and '
    'Belvo shows a last status again, which the payment takes over.';

CREATE OR REPLACE FUNCTION end_contradiction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE payments SET next_poll_at = app_now(), leased_until = NULL, version = version + 1
    WHERE id = NEW.payment_id AND contradicted_at IS NOT NULL;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION end_contradiction() IS
    'Settling the alarm of a contradiction has the payment read at once: what Belvo shows as its end is true.';

-- Read from now on: also a contradiction whose alarm was settled before that ended it.
UPDATE payments SET next_poll_at = app_now(), leased_until = NULL, version = version + 1
WHERE contradicted_at IS NOT NULL AND is_contradiction_settled(id, contradicted_at);

CREATE OR REPLACE FUNCTION raise_money_alarms() RETURNS trigger LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ordered      record;
    others       text;
BEGIN
    -- What was contradicted counted as paid from that moment on, and its alarms were raised then.
    IF TG_OP = 'UPDATE' AND NEW.state = 'succeeded' AND OLD.contradicted_at IS NOT NULL THEN RETURN NULL; END IF;
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

-- A transaction that erases a person says so: its orders stay what they were.
CREATE FUNCTION is_erasing() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(current_setting('merchant.erasing', true), '') = 'on'
$$;

CREATE OR REPLACE FUNCTION check_what_was_paid_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF is_erasing() THEN RETURN NULL; END IF;
    INSERT INTO money_alarms (kind, payment_id, detail)
    SELECT 'paid_beside_order', id, amount_centavos || ' centavos before the order of ' || NEW.amount_centavos
    FROM payments WHERE subject = NEW.subject AND reference = NEW.reference AND state = 'succeeded'
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

DROP TRIGGER orders_for_another_user_are_held_against_what_was_paid ON orders;
CREATE TRIGGER orders_for_another_user_are_held_against_what_was_paid
    AFTER UPDATE OF subject, reference ON orders FOR EACH ROW
    WHEN ((OLD.subject, OLD.reference) IS DISTINCT FROM (NEW.subject, NEW.reference))
    EXECUTE FUNCTION check_what_was_paid_before();

CREATE OR REPLACE FUNCTION keep_orders_in_use() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place text := coalesce(OLD.reference, NEW.reference);
BEGIN
    IF is_erasing() THEN RETURN coalesce(NEW, OLD); END IF;
    IF TG_OP = 'UPDATE' AND (NEW.reference, NEW.subject, NEW.amount_centavos, NEW.description,
            NEW.statement_description, NEW.expires_at)
        IS NOT DISTINCT FROM (OLD.reference, OLD.subject, OLD.amount_centavos, OLD.description,
            OLD.statement_description, OLD.expires_at)
    THEN
        RETURN NEW;
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'orders are written in transactions of the level READ COMMITTED'
            USING ERRCODE = 'object_not_in_prerequisite_state',
                HINT = 'Another level would not see a payment that has begun meanwhile.';
    END IF;
    -- The order before its reference, as those do who open a payment for it.
    IF TG_OP = 'INSERT' THEN PERFORM FROM orders WHERE reference = place FOR UPDATE; END IF;
    PERFORM lock_reference(place);
    IF NEW.reference <> place THEN PERFORM lock_reference(NEW.reference); END IF;
    -- An insertion that turns out to be a change is checked as one.
    IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM orders WHERE reference = place) THEN RETURN NEW; END IF;
    IF EXISTS (
            SELECT FROM payments
            WHERE reference IN (place, NEW.reference) AND takes_reference(payments)
                -- What was paid keeps the order of its user; a new order beside it raises an alarm.
                AND (state <> 'succeeded' OR TG_OP <> 'INSERT' AND subject = OLD.subject AND reference = place))
        OR TG_OP = 'UPDATE' AND NEW.reference <> place
            AND EXISTS (SELECT FROM payments WHERE reference = place AND priced_by_order)
        -- Its user stays while Belvo has anything open under it: else two users could pay one order. What was
        -- given up unsigned a day ago has lapsed there, also where no webhook said so.
        OR TG_OP = 'UPDATE' AND NEW.subject <> OLD.subject AND EXISTS (
            SELECT FROM payments
            WHERE subject = OLD.subject AND reference = place AND belvo_id IS NOT NULL AND closed_at_belvo IS NULL
                AND (released_at IS NULL OR next_poll_at IS NOT NULL OR released_at > app_now() - interval '1 day'))
    THEN
        RAISE EXCEPTION 'a payment for this order may still be paid, or has paid it'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'orders_in_use_stay_as_they_are',
                TABLE = 'orders';
    END IF;
    RETURN coalesce(NEW, OLD);
END
$$;
