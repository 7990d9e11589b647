-- Operators see which attempts may still be paid, what is wrong with money, and which orders are disputed.
CREATE VIEW ops.may_be_paid AS
    SELECT id, belvo_id, subject, reference, state, (amount_centavos / 100.0)::numeric(18, 2) AS amount,
        provider_status, failure_code, authorize_sent_at, seen_signed_at, contradicted_at,
        app_now() - updated_at AS in_this_state_for, next_poll_at - app_now() AS next_look_in
    FROM payments
    WHERE state = 'failed'
        AND may_belvo_pay(closed_at_belvo, released_at, authorize_sent_at, seen_signed_at, contradicted_at)
    ORDER BY updated_at;
COMMENT ON VIEW ops.may_be_paid IS
    'Which payments that were given up here may Belvo still pay? Their references stay taken until Belvo closes them.';

CREATE VIEW ops.money_alarms AS
    SELECT money_alarms.id, kind, payment_id, subject, reference,
        (amount_centavos / 100.0)::numeric(18, 2) AS amount, end_to_end_id, detail, raised_at
    FROM money_alarms JOIN payments ON payments.id = payment_id
    WHERE settled_at IS NULL ORDER BY raised_at;
COMMENT ON VIEW ops.money_alarms IS 'What is wrong with money and has not been settled? There should be none.';

CREATE OR REPLACE VIEW ops.double_paid AS
    SELECT subject, reference, count(*) AS payments, (sum(amount_centavos) / 100.0)::numeric(18, 2) AS amount,
        array_agg(id ORDER BY id) AS payment_ids, array_agg(end_to_end_id ORDER BY id) AS end_to_end_ids
    FROM payments WHERE (state = 'succeeded' OR contradicted_at IS NOT NULL) AND reference IS NOT NULL
    GROUP BY subject, reference HAVING count(*) > 1;

-- How far an order is: paid only by a payment of its own amount that was opened under it.
CREATE VIEW order_progress AS
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
            AND (state = 'succeeded' OR next_poll_at IS NOT NULL)
    ) AS payment;

COMMENT ON VIEW order_progress IS 'How far each order is, and the payment that decides it.';
COMMENT ON COLUMN order_progress.reference IS 'The shop''s name for what is paid.';
COMMENT ON COLUMN order_progress.payment_id IS 'The payment that has paid it, else one that may.';
COMMENT ON COLUMN order_progress.status IS 'open, live, in_doubt, paid, disputed or expired.';

CREATE OR REPLACE VIEW ops.orders AS
    SELECT orders.reference, orders.subject, (orders.amount_centavos / 100.0)::numeric(18, 2) AS amount,
        order_progress.status, order_progress.payment_id, orders.expires_at, orders.created_at, orders.updated_at
    FROM orders JOIN order_progress USING (reference);

COMMENT ON COLUMN ops.orders.status IS
    'open, live, in_doubt, paid, disputed (money arrived that is not its own payment, once) or expired.';

CREATE OR REPLACE VIEW ops.orphans AS
    SELECT 'customer' AS record_type, id, state, updated_at FROM customers
    WHERE state = 'creating' AND next_poll_at IS NULL
    UNION ALL
    SELECT 'enrollment', id, state, updated_at FROM enrollments WHERE status = 'PENDING' AND next_poll_at IS NULL
    UNION ALL
    SELECT 'payment', id, state, updated_at FROM payments
    WHERE next_poll_at IS NULL AND (status = 'PENDING'
        OR may_belvo_pay(closed_at_belvo, released_at, authorize_sent_at, seen_signed_at, contradicted_at))
    UNION ALL
    SELECT 'redirect', id, outcome, received_at FROM redirect_receipts
    WHERE outcome IN ('received', 'sent') AND next_poll_at IS NULL
    UNION ALL
    SELECT 'webhook', id, outcome, received_at FROM webhook_receipts
    WHERE outcome = 'received' AND next_poll_at IS NULL
    UNION ALL
    SELECT 'event', id, type, created_at FROM events
    WHERE delivered_at IS NULL AND parked_at IS NULL AND next_attempt_at IS NULL;

DO $$
DECLARE
    shown record;
BEGIN
    FOR shown IN
        SELECT relname, attname, meaning
        FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
        JOIN (VALUES
            ('id', 'Ours; merchant inspect takes a payment''s.'),
            ('belvo_id', 'Belvo''s id of it.'),
            ('subject', 'The user''s id, as the shop''s tokens have it.'),
            ('reference', 'The shop''s name for what is paid.'),
            ('state', 'How far it is, in this program''s words.'),
            ('amount', 'In reais.'),
            ('in_this_state_for', 'Since its state or what Belvo says changed.'),
            ('next_look_in', 'Until a server reads it at Belvo by itself; negative when that is overdue.'),
            ('provider_status', 'Belvo''s word for its status.'),
            ('end_to_end_id', 'The Central Bank''s id of the transfer: what a bank asks for.'),
            ('failure_code', 'Why it failed.'),
            ('authorize_sent_at', 'When its signature first left for Belvo.'),
            ('seen_signed_at', 'When Belvo first showed it as anything but unsigned.'),
            ('contradicted_at', 'When Belvo first called it SUCCEEDED after FAILED.'),
            ('kind', 'What is wrong; money_alarms.kind lists the words.'),
            ('payment_id', 'The payment, ours.'),
            ('detail', 'What was found.'),
            ('raised_at', 'When it was found.')
        ) AS meanings (column_name, meaning) ON column_name = attname
        WHERE relnamespace = 'ops'::regnamespace AND relname IN ('may_be_paid', 'money_alarms')
    LOOP
        EXECUTE format('COMMENT ON COLUMN ops.%I.%I IS %L', shown.relname, shown.attname, shown.meaning);
    END LOOP;
END
$$;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'merchant_readonly') THEN
        GRANT SELECT ON ops.may_be_paid, ops.money_alarms TO merchant_readonly;
    END IF;
END
$$;
