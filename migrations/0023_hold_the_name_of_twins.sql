-- Belvo may have made two intents for one payment that has no reference. The one whose id is not the payment's bears
-- its name: once it may be paid, the payment is not authorized, and where both are paid the alarm is raised, as for a
-- reference.
CREATE INDEX payments_that_bear_a_name ON payments (bears_name_of) WHERE bears_name_of IS NOT NULL;

COMMENT ON COLUMN payments.bears_name_of IS
    'The payment of ours whose id Belvo shows as its name, where no reference binds the two: it is another payment, of '
    'another amount for example, or the same one twice.';

CREATE FUNCTION is_twin(one payments, other payments) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT (one.bears_name_of = other.id OR other.bears_name_of = one.id OR one.bears_name_of = other.bears_name_of)
        AND one.amount_centavos = other.amount_centavos AND one.id <> other.id
$$;

COMMENT ON FUNCTION is_twin(payments, payments) IS
    'Whether Belvo has several intents for one payment, and these are two of them; with a reference they have that in '
    'common.';

CREATE OR REPLACE FUNCTION guard_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    begins     boolean := TG_OP = 'INSERT';
    authorizes boolean := false;
    may_pay    boolean;
BEGIN
    -- What a server of an earlier version does not write.
    IF NEW.state = 'succeeded' OR NEW.failure_authority = 'belvo' THEN
        NEW.closed_at_belvo = coalesce(NEW.closed_at_belvo, app_now());
    END IF;
    IF begins AND NEW.priced_by_order IS NULL THEN
        NEW.priced_by_order = EXISTS (
            SELECT FROM orders
            WHERE orders.reference = NEW.reference AND orders.subject = NEW.subject
                AND orders.amount_centavos = NEW.amount_centavos);
    END IF;
    IF NOT begins THEN
        authorizes := NEW.state = 'authorizing' AND OLD.state <> 'authorizing';
        IF authorizes THEN NEW.authorize_sent_at = coalesce(NEW.authorize_sent_at, app_now()); END IF;
    END IF;
    may_pay := may_belvo_pay(
        NEW.closed_at_belvo, NEW.released_at, NEW.authorize_sent_at, NEW.seen_signed_at, NEW.contradicted_at);
    NEW.holds_reference = NEW.reference IS NOT NULL AND (may_pay OR NEW.state = 'succeeded');
    -- Nothing that may be paid is left alone, whoever wrote it.
    IF may_pay AND NEW.next_poll_at IS NULL THEN
        NEW.next_poll_at = app_now() + interval '10 seconds';
        NEW.deadline_at = coalesce(NEW.deadline_at, app_now());
    END IF;

    PERFORM lock_user(NEW.subject);
    IF NEW.reference IS NOT NULL AND (may_pay OR NEW.state = 'succeeded') THEN
        PERFORM lock_reference(NEW.reference);
        -- An order's reference is the whole merchant's, and what has no order is not opened beside one.
        -- What somebody else has made exists already: it is not asked whether it may.
        IF NEW.origin = 'own' AND (begins OR authorizes) AND (EXISTS (
            SELECT FROM payments AS other
            WHERE (other.subject = NEW.subject OR NEW.priced_by_order AND other.priced_by_order)
                AND other.reference = NEW.reference AND other.id <> NEW.id AND takes_reference(other))
            OR begins AND NOT NEW.priced_by_order AND EXISTS (
                SELECT FROM orders WHERE orders.reference = NEW.reference))
        THEN
            RAISE EXCEPTION 'another payment for this reference has been paid or may still be paid'
                USING ERRCODE = 'unique_violation', CONSTRAINT = 'one_live_payment_per_reference', TABLE = 'payments';
        END IF;
    END IF;
    IF authorizes AND EXISTS (
        SELECT FROM payments AS other
        WHERE other.bears_name_of = NEW.id AND is_twin(other, NEW) AND takes_reference(other))
    THEN
        RAISE EXCEPTION 'Belvo has this payment twice, and the other one has been paid or may still be paid'
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'one_live_payment_per_reference', TABLE = 'payments';
    END IF;
    RETURN NEW;
END
$$;

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

-- Belvo's clock need not be this one's: a token counts as held for two minutes longer than it says.
CREATE OR REPLACE FUNCTION note_token_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.access_ciphertext IS NOT NULL THEN
        NEW.held_until = greatest(NEW.held_until, coalesce(NEW.expires_at + interval '2 minutes', 'infinity'));
    END IF;
    RETURN NEW;
END
$$;
