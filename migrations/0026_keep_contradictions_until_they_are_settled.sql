-- A FAILED that Belvo takes back keeps its reference until an operator has settled the alarm: one reading that lags was
-- enough to free it, and the next payment and the first one were both paid. An order that the shop gives to another
-- user is disputed, with an alarm and an event, as it is where the user stays. Orders are changed by transactions that
-- see what was committed before each statement: an older snapshot shows no payment that has begun since.
COMMENT ON COLUMN payments.contradicted_at IS
    'When Belvo first went on after FAILED. Its reference stays taken until an operator has settled the alarm.';

CREATE OR REPLACE FUNCTION takes_reference(payment payments) RETURNS boolean LANGUAGE sql STABLE AS $$
    -- What may be paid is polled, and what a token could sign is polled while the user holds one. A foreign payment
    -- that is unsigned could be signed by a token alone.
    SELECT payment.state = 'succeeded' OR payment.contradicted_at IS NOT NULL OR payment.next_poll_at IS NOT NULL AND (
        payment.origin = 'own' OR payment.seen_signed_at IS NOT NULL OR holds_widget_token(payment.subject))
$$;

CREATE FUNCTION end_contradiction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE payments SET contradicted_at = NULL, next_poll_at = NULL, leased_until = NULL, version = version + 1
    WHERE id = NEW.payment_id AND contradicted_at IS NOT NULL;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION end_contradiction() IS
    'Settling the alarm of a contradiction ends it: the operator has found out what is true.';

CREATE TRIGGER settled_contradictions_end
    AFTER UPDATE OF settled_at ON money_alarms FOR EACH ROW
    WHEN (NEW.kind = 'contradiction' AND OLD.settled_at IS NULL AND NEW.settled_at IS NOT NULL)
    EXECUTE FUNCTION end_contradiction();

CREATE OR REPLACE FUNCTION raise_money_alarms() RETURNS trigger LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan AS $$
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

CREATE TRIGGER orders_for_another_user_are_held_against_what_was_paid
    AFTER UPDATE OF subject ON orders FOR EACH ROW WHEN (OLD.subject <> NEW.subject)
    EXECUTE FUNCTION check_what_was_paid_before();

CREATE OR REPLACE FUNCTION keep_orders_in_use() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place text := coalesce(OLD.reference, NEW.reference);
BEGIN
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
            WHERE reference IN (place, NEW.reference)
                AND may_belvo_pay(closed_at_belvo, released_at, authorize_sent_at, seen_signed_at, contradicted_at))
        OR EXISTS (
            SELECT FROM payments
            WHERE subject = coalesce(OLD.subject, NEW.subject) AND reference = place
                AND (TG_OP <> 'INSERT' AND state = 'succeeded' OR state = 'failed' AND next_poll_at IS NOT NULL))
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

-- An order's payments are of one reference, of all users.
CREATE OR REPLACE VIEW ops.double_paid AS
    SELECT min(subject) AS subject, reference, count(*) AS payments,
        (sum(amount_centavos) / 100.0)::numeric(18, 2) AS amount, array_agg(id ORDER BY id) AS payment_ids,
        array_agg(end_to_end_id ORDER BY id) AS end_to_end_ids
    FROM payments WHERE (state = 'succeeded' OR contradicted_at IS NOT NULL) AND reference IS NOT NULL
    GROUP BY
        reference,
        CASE WHEN NOT EXISTS (SELECT FROM orders WHERE orders.reference = payments.reference) THEN subject END
    HAVING count(*) > 1;

COMMENT ON COLUMN reconciliation_differences.kind IS
    'unknown_here, unknown_at_belvo, status, amount, external_id, end_to_end_id, charge_status, charge_amount, '
    'charged_twice, double_paid or unreadable.';
