-- A twin of a payment that was opened under an order counted as one without an order. Once the shop had given the order
-- to another user, who paid it, a twin of the first user's payment that was paid, too, raised no alarm, and the order
-- read as paid. A twin is under the order of its payment now. While it is unsigned it keeps no other user from paying
-- the order: any user with a token can make twins, and sign none. An order that a twin pays alone is disputed as
-- before.
--
-- An order that was given to another user read as paid by the first one's money: once the alarm of it was settled, and
-- at once where the order had been deleted and was placed anew. It is disputed as long as that money stands for it, as
-- where an amount is not the order's own; and placing it raises the alarm, of which the shop gets an event.
--
-- Where an alarm of its kind about a payment was open already, what the triggers had found was written nowhere: a
-- payment with two transfers beside another payment of its reference said nothing of the other one, and once an
-- operator had settled the first cause nothing said so any more. Each cause stands in the alarm now, once.
CREATE OR REPLACE FUNCTION holds_order(payment payments) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT payment.priced_by_order
        AND (payment.origin = 'own' OR payment.seen_signed_at IS NOT NULL OR has_received_money(payment))
$$;

COMMENT ON FUNCTION holds_order(payments) IS
    'Whether the payment is under an order for other users, too: what was made without us once it is signed or paid.';

COMMENT ON COLUMN payments.priced_by_order IS
    'Whether its price was an order''s when it was opened. A twin has it of its payment.';

CREATE OR REPLACE FUNCTION guard_payment() RETURNS trigger LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    begins     boolean := TG_OP = 'INSERT';
    authorizes boolean := false;
    may_pay    boolean;
BEGIN
    -- What a server of an earlier version does not write.
    IF NEW.state = 'succeeded' OR NEW.failure_authority = 'belvo' THEN
        NEW.closed_at_belvo = coalesce(NEW.closed_at_belvo, app_now());
    END IF;
    IF begins THEN
        IF NEW.origin <> 'own' THEN
            -- What was made without us names a reference only as a twin.
            NEW.priced_by_order = NEW.reference IS NOT NULL AND EXISTS (
                SELECT FROM payments AS own
                WHERE own.reference = NEW.reference AND own.subject = NEW.subject AND own.origin = 'own'
                    AND own.priced_by_order AND own.amount_centavos = NEW.amount_centavos);
        ELSIF NEW.priced_by_order IS NULL THEN
            NEW.priced_by_order = EXISTS (
                SELECT FROM orders
                WHERE orders.reference = NEW.reference AND orders.subject = NEW.subject
                    AND orders.amount_centavos = NEW.amount_centavos);
        END IF;
    END IF;
    IF NOT begins THEN
        authorizes := NEW.state = 'authorizing' AND OLD.state <> 'authorizing';
        IF authorizes THEN NEW.authorize_sent_at = coalesce(NEW.authorize_sent_at, app_now()); END IF;
    END IF;
    may_pay := may_belvo_pay(
        NEW.closed_at_belvo, NEW.released_at, NEW.authorize_sent_at, NEW.seen_signed_at, NEW.contradicted_at);
    NEW.holds_reference = NEW.reference IS NOT NULL AND (may_pay OR NEW.state = 'succeeded');
    -- Nothing that may be paid is left alone, whichever server wrote it.
    IF may_pay AND NEW.next_poll_at IS NULL THEN
        NEW.next_poll_at = app_now() + interval '10 seconds';
        NEW.deadline_at = coalesce(NEW.deadline_at, app_now());
    END IF;

    IF NOT begins AND NEW.released_at IS NOT NULL AND OLD.released_at IS NULL AND NEW.closed_at_belvo IS NULL
        AND NEW.next_poll_at IS NULL AND NEW.failure_code <> 'not_sent'
    THEN
        IF holds_widget_token(NEW.subject) THEN
            NEW.next_poll_at = app_now() + interval '1 second';
            NEW.deadline_at = coalesce(NEW.deadline_at, app_now());
        END IF;
    END IF;

    PERFORM lock_user(NEW.subject);
    IF NEW.reference IS NOT NULL AND (may_pay OR NEW.state = 'succeeded') THEN
        PERFORM lock_reference(NEW.reference);
        -- An order's reference is the whole merchant's, and a payment without an order is not opened beside one. A
        -- payment that was made at Belvo by others exists already: it is not asked whether it may. Each question is an
        -- IF of its own, so that a change that neither begins nor authorizes asks none.
        IF NEW.origin = 'own' AND (begins OR authorizes) THEN
            IF EXISTS (
                SELECT FROM payments AS other
                WHERE (other.subject = NEW.subject OR NEW.priced_by_order AND holds_order(other))
                    AND other.reference = NEW.reference AND other.id <> NEW.id AND takes_reference(other))
                OR begins AND NOT NEW.priced_by_order AND EXISTS (
                    SELECT FROM orders WHERE orders.reference = NEW.reference)
            THEN
                RAISE EXCEPTION 'another payment for this reference has been paid or may still be paid'
                    USING ERRCODE = 'unique_violation', CONSTRAINT = 'one_live_payment_per_reference',
                        TABLE = 'payments';
            END IF;
        END IF;
    END IF;
    IF authorizes THEN
        IF EXISTS (
            SELECT FROM payments AS other
            WHERE other.bears_name_of = NEW.id AND is_twin(other, NEW) AND takes_reference(other))
        THEN
            RAISE EXCEPTION 'Belvo has this payment twice, and the other one has been paid or may still be paid'
                USING ERRCODE = 'unique_violation', CONSTRAINT = 'one_live_payment_per_reference', TABLE = 'payments';
        END IF;
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION keep_orders_of_their_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- The function before this one has locked the reference. An insertion that turns out to be a change is checked as
    -- one.
    IF NOT EXISTS (SELECT FROM orders WHERE reference = NEW.reference) AND EXISTS (
        SELECT FROM payments
        WHERE reference = NEW.reference AND holds_order(payments) AND subject <> NEW.subject
            AND belvo_id IS NOT NULL AND closed_at_belvo IS NULL
            AND (released_at IS NULL OR next_poll_at IS NOT NULL OR released_at > app_now() - interval '1 day'))
    THEN
        RAISE EXCEPTION 'a payment for this order, of another user, may still be open at Belvo'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'orders_in_use_stay_as_they_are',
                TABLE = 'orders';
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION raise_alarm(kind text, about uuid, cause text) RETURNS boolean LANGUAGE sql AS $$
    INSERT INTO money_alarms AS known (kind, payment_id, detail) VALUES (raise_alarm.kind, about, cause)
    ON CONFLICT (payment_id, kind) WHERE settled_at IS NULL
        DO UPDATE SET detail = known.detail || '; ' || excluded.detail,
            -- The shop may have no event of it yet: there may have been no order that it disputes.
            next_poll_at = CASE WHEN known.disputed_reference IS NULL THEN app_now() ELSE known.next_poll_at END,
            leased_until = NULL, version = known.version + 1
        WHERE strpos('; ' || known.detail || ';', '; ' || excluded.detail || ';') = 0
    RETURNING true
$$;

COMMENT ON FUNCTION raise_alarm(text, uuid, text) IS
    'Raises an alarm about a payment, or adds the cause to the one of its kind that is open; null where it stands '
    'there.';

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
    RETURN NULL;
END
$$;

-- What paid the order as it is comes before what else was paid for it.
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
                NOT is_orders_own OR attempt.amount_centavos <> orders.amount_centavos)) AS astray,
            count(*) FILTER (WHERE takes AND state = 'succeeded') AS paid,
            count(*) FILTER (WHERE takes AND (in_doubt OR state = 'failed')) AS doubtful,
            (array_agg(
                id ORDER BY state = 'succeeded' DESC,
                    is_orders_own AND attempt.amount_centavos = orders.amount_centavos DESC, id)
                FILTER (WHERE takes OR is_disputed))[1] AS deciding
        FROM (
            SELECT payments.*, takes_reference(payments) AS takes, has_received_money(payments) AS has_money,
                -- The shop may have given the order to another user since the payment was opened under it.
                priced_by_order AND origin = 'own' AND payments.subject = orders.subject AS is_orders_own,
                EXISTS (
                    SELECT FROM money_alarms
                    WHERE payment_id = payments.id AND kind IN ('paid_beside_order', 'double_paid')
                        AND settled_at IS NULL) AS is_disputed
            FROM payments
            WHERE payments.reference = orders.reference
                AND (payments.subject = orders.subject OR holds_order(payments))
        ) AS attempt
    ) AS payment;

-- The twins that are there, with the alarms that they would have raised.
WITH twins AS (
    UPDATE payments SET priced_by_order = true
    WHERE origin <> 'own' AND NOT priced_by_order AND EXISTS (
        SELECT FROM payments AS own
        WHERE own.reference = payments.reference AND own.subject = payments.subject AND own.origin = 'own'
            AND own.priced_by_order AND own.amount_centavos = payments.amount_centavos)
    RETURNING id, reference, subject, has_received_money(payments) AS is_paid
)
INSERT INTO money_alarms (kind, payment_id, detail)
SELECT 'double_paid', id, 'paid beside another user''s payment, found when such alarms began'
FROM twins
WHERE is_paid AND EXISTS (
    SELECT FROM payments AS other
    WHERE other.reference = twins.reference AND other.subject <> twins.subject AND other.priced_by_order
        AND has_received_money(other))
UNION ALL
SELECT 'paid_beside_order', id, 'paid for an order of another user, found when such alarms began'
FROM twins JOIN orders USING (reference)
WHERE is_paid AND orders.subject <> twins.subject
ON CONFLICT DO NOTHING;
