-- An attempt that was given up here, and whose charge had collected money while Belvo showed its intent as pending, did
-- not count beside the attempt that paid its reference: the order read as paid, and no alarm said that money had come
-- twice. Nor did two attempts of which both had collected, and neither was SUCCEEDED.
CREATE FUNCTION has_received_money(payment payments) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    -- What Belvo closed as FAILED beside what had collected is contradicted, until an operator has settled it.
    SELECT payment.state = 'succeeded' OR payment.contradicted_at IS NOT NULL
        OR payment.collected_by IS NOT NULL AND payment.closed_at_belvo IS NULL
$$;

COMMENT ON FUNCTION has_received_money(payments) IS
    'Whether money has arrived for the payment, as far as Belvo has shown: two such payments of one reference are one '
    'too many.';

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

-- What begins to count is written with its reference locked: of two at once the second one sees the first.
DROP TRIGGER payments_are_authorized_alone ON payments;
CREATE TRIGGER payments_are_authorized_alone
    BEFORE UPDATE ON payments FOR EACH ROW WHEN (
        NEW.next_poll_at IS NULL AND may_belvo_pay(
            NEW.closed_at_belvo, NEW.released_at, NEW.authorize_sent_at, NEW.seen_signed_at, NEW.contradicted_at)
        OR (
            OLD.state, OLD.failure_authority, OLD.closed_at_belvo, OLD.released_at, OLD.authorize_sent_at,
            OLD.seen_signed_at, OLD.contradicted_at, OLD.collected_by)
        IS DISTINCT FROM (
            NEW.state, NEW.failure_authority, NEW.closed_at_belvo, NEW.released_at, NEW.authorize_sent_at,
            NEW.seen_signed_at, NEW.contradicted_at, NEW.collected_by))
    EXECUTE FUNCTION guard_payment();

DROP TRIGGER payments_that_arrive_are_checked ON payments;
CREATE TRIGGER payments_that_arrive_are_checked
    AFTER UPDATE ON payments FOR EACH ROW
    WHEN (
        OLD.contradicted_at IS NULL
            AND (NEW.state = 'succeeded' AND OLD.state <> 'succeeded' OR NEW.contradicted_at IS NOT NULL)
        OR OLD.contradicted_at IS NOT NULL
            AND (NEW.provider_status = 'SUCCEEDED' AND OLD.provider_status IS DISTINCT FROM 'SUCCEEDED'
                OR NEW.state = 'succeeded' AND NEW.bears_name_of IS NOT NULL)
        OR OLD.collected_by IS NULL AND NEW.collected_by IS NOT NULL AND NEW.closed_at_belvo IS NULL)
    EXECUTE FUNCTION raise_money_alarms();

DROP TRIGGER payments_that_come_paid_are_checked ON payments;
CREATE TRIGGER payments_that_come_paid_are_checked
    AFTER INSERT ON payments FOR EACH ROW
    WHEN (NEW.state = 'succeeded' OR NEW.collected_by IS NOT NULL AND NEW.closed_at_belvo IS NULL)
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
        SELECT count(*) FILTER (WHERE takes) AS attempts,
            count(*) FILTER (WHERE takes AND has_money) AS arrived,
            count(*) FILTER (WHERE is_disputed OR takes AND state = 'succeeded' AND (
                NOT priced_by_order OR attempt.amount_centavos <> orders.amount_centavos)) AS astray,
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

-- As the alarms have it: a user's payments of one reference, and with them all that were opened under the order.
CREATE OR REPLACE VIEW ops.double_paid AS
    SELECT min(subject) AS subject, reference, count(*) AS payments,
        (sum(amount_centavos) / 100.0)::numeric(18, 2) AS amount, array_agg(id ORDER BY id) AS payment_ids,
        array_agg(end_to_end_id ORDER BY id) AS end_to_end_ids
    FROM (
        SELECT id, subject, reference, amount_centavos, end_to_end_id,
            bool_or(priced_by_order) OVER (PARTITION BY reference, subject) AS is_with_order
        FROM payments WHERE has_received_money(payments) AND reference IS NOT NULL
    ) AS paid
    GROUP BY reference, CASE WHEN NOT is_with_order THEN subject END
    HAVING count(*) > 1;

-- Those that have collected already. They are polled, and the index of what is due finds them.
INSERT INTO money_alarms (kind, payment_id, detail)
SELECT 'double_paid', id, 'collected beside another payment, found when such alarms began'
FROM payments AS late
WHERE next_poll_at IS NOT NULL AND collected_by IS NOT NULL AND closed_at_belvo IS NULL AND EXISTS (
    SELECT FROM payments AS other
    WHERE (other.subject = late.subject OR other.priced_by_order AND late.priced_by_order)
        AND other.reference = late.reference AND other.id <> late.id AND has_received_money(other))
ON CONFLICT DO NOTHING;
