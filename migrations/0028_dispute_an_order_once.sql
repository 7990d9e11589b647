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

-- An order is in use while no other payment may be begun for its reference: the question is takes_reference in both
-- cases. An unsigned twin that no user can sign kept the order's price while a payment could be begun.
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
            WHERE reference IN (place, NEW.reference) AND takes_reference(payments)
                -- What was paid keeps the order of its user; a new order beside it raises an alarm.
                AND (state <> 'succeeded' OR TG_OP <> 'INSERT' AND subject = OLD.subject AND reference = place))
        -- Its name stays once a payment was opened for it.
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
