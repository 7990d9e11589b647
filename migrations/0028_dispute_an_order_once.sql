-- The shop gets one event for each dispute. One dispute may raise several alarms, about several payments; each of them
-- led to an event. A new dispute is one that arises when an operator has settled the alarm of which the shop was told.
ALTER TABLE money_alarms ADD COLUMN disputed_reference text;

COMMENT ON COLUMN money_alarms.disputed_reference IS
    'The order about whose dispute the shop got an event because of this alarm.';

CREATE UNIQUE INDEX one_event_for_each_dispute ON money_alarms (disputed_reference) WHERE settled_at IS NULL;

COMMENT ON COLUMN money_alarms.kind IS
    'double_paid: another payment for its reference succeeded too, or another transfer has paid it once more. '
    'paid_beside_order: it succeeded and is not what its order asks for, or another intent that bears its name was '
    'paid. late_success: it succeeded after it had been given up here. contradiction: Belvo took its last word back. '
    'differs: Belvo shows it otherwise than it was asked for, or in a way that cannot be read. end_to_end_id_repeated: '
    'Belvo shows another payment''s transfer for it. created_twice: Belvo has several intents for it.';

-- A payment that was paid by two transfers disputes its order as two payments do.
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
            count(*) FILTER (WHERE takes AND (state = 'succeeded' OR contradicted_at IS NOT NULL)) AS arrived,
            count(*) FILTER (WHERE is_disputed OR takes AND state = 'succeeded' AND (
                NOT priced_by_order OR attempt.amount_centavos <> orders.amount_centavos)) AS astray,
            count(*) FILTER (WHERE takes AND state = 'succeeded') AS paid,
            count(*) FILTER (WHERE takes AND (in_doubt OR state = 'failed')) AS doubtful,
            (array_agg(id ORDER BY state = 'succeeded' DESC, id) FILTER (WHERE takes OR is_disputed))[1] AS deciding
        FROM (
            SELECT payments.*, takes_reference(payments) AS takes,
                EXISTS (
                    SELECT FROM money_alarms
                    WHERE payment_id = payments.id AND kind IN ('paid_beside_order', 'double_paid')
                        AND settled_at IS NULL) AS is_disputed
            FROM payments
            WHERE payments.reference = orders.reference AND (payments.subject = orders.subject OR priced_by_order)
        ) AS attempt
    ) AS payment;
