-- Of many that placed one new order at once some waited for each other: one held its reference and wanted the row that
-- another had placed meanwhile, and a third held the row and wanted the reference. Each such round took PostgreSQL a
-- second to find out.
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
    -- The order before its reference, as those do who open a payment for it. Where there is no order yet, those who
    -- place it take turns: else one that waits for the reference would find the order held by one that came later.
    IF TG_OP = 'INSERT' THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('order ' || place, 0));
        PERFORM FROM orders WHERE reference = place FOR UPDATE;
    END IF;
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
