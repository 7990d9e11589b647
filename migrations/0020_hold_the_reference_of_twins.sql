-- Belvo may have made two intents for one payment of ours: an answer was lost, or something sent the creation twice.
-- The one whose id is not the payment's is taken in as made by somebody else, and names the reference too: once it may
-- be paid, nothing else is opened or authorized for it, and once it is paid the alarms are raised. And nobody forgets a
-- token that may still sign.
ALTER TABLE payments DROP CONSTRAINT observed_payments_hold_no_reference;

COMMENT ON COLUMN payments.contradicted_at IS
    'When Belvo first called it SUCCEEDED after FAILED. Its reference stays taken for as long as Belvo says so.';

-- Whoever leaves it out is a server of an earlier version; the trigger below sees whether there is an order.
ALTER TABLE payments ALTER COLUMN priced_by_order DROP DEFAULT;

CREATE FUNCTION takes_reference(payment payments) RETURNS boolean LANGUAGE sql STABLE AS $$
    -- What may be paid is polled, and what a token could sign is polled while the user holds one. What somebody else
    -- has made and nobody has signed could be signed by a token alone.
    SELECT payment.state = 'succeeded' OR payment.next_poll_at IS NOT NULL AND (
        payment.origin = 'own' OR payment.seen_signed_at IS NOT NULL OR holds_widget_token(payment.subject))
$$;

COMMENT ON FUNCTION takes_reference(payments) IS
    'Whether a payment has been paid or may still be: while there is one, no other is opened or authorized for its '
    'reference.';

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
        VALUES ('contradiction', NEW.id, 'SUCCEEDED after FAILED') ON CONFLICT DO NOTHING;
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

CREATE TRIGGER payments_that_come_paid_are_checked
    AFTER INSERT ON payments FOR EACH ROW WHEN (NEW.state = 'succeeded')
    EXECUTE FUNCTION raise_money_alarms();

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
        SELECT count(*) AS attempts,
            count(*) FILTER (WHERE state = 'succeeded' OR contradicted_at IS NOT NULL) AS arrived,
            count(*) FILTER (WHERE state = 'succeeded' AND (
                NOT priced_by_order OR payments.amount_centavos <> orders.amount_centavos)) AS astray,
            count(*) FILTER (WHERE state = 'succeeded') AS paid,
            count(*) FILTER (WHERE in_doubt OR state = 'failed') AS doubtful,
            (array_agg(id ORDER BY state = 'succeeded' DESC, id))[1] AS deciding
        FROM payments
        WHERE payments.reference = orders.reference AND (payments.subject = orders.subject OR priced_by_order)
            AND takes_reference(payments)
    ) AS payment;

-- Who deletes the row of a token forgets that its user may sign with it.
CREATE FUNCTION keep_held_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF least(OLD.held_until, OLD.obtained_at + interval '1 day') > app_now() THEN
        RAISE EXCEPTION 'the user % may hold this token until %', OLD.subject, OLD.held_until
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'held_tokens_are_remembered',
                TABLE = 'widget_tokens',
                HINT = 'Empty its columns instead, as docs/widget-token.md says; held_until has to stay.';
    END IF;
    RETURN OLD;
END
$$;

CREATE TRIGGER held_tokens_are_remembered
    BEFORE DELETE ON widget_tokens FOR EACH ROW EXECUTE FUNCTION keep_held_tokens();
