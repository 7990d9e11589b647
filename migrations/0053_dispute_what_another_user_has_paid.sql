-- An order that was given to another user read as paid by the first one's money: once the alarm of it was settled, and
-- at once where the order had been deleted and was placed anew. It is disputed as long as that money stands for it, as
-- where an amount is not the order's own; and placing it raises the alarm, of which the shop gets an event.
CREATE OR REPLACE FUNCTION check_what_was_paid_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO money_alarms (kind, payment_id, detail)
    SELECT 'paid_beside_order', id,
        amount_centavos || ' centavos before the order of ' || NEW.amount_centavos
            || CASE WHEN subject <> NEW.subject THEN ' of another user' ELSE '' END
    FROM payments
    WHERE reference = NEW.reference AND state = 'succeeded' AND (subject = NEW.subject OR holds_order(payments))
    ON CONFLICT DO NOTHING;
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
