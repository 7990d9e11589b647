-- An order that was deleted, and placed anew for another user, let two users have something open at Belvo under it: a
-- change of its user is refused then. And the view of what was paid twice showed more than the alarms: the payment of a
-- user for a reference of their own, beside that of another user for the shop's order of the same name.
CREATE FUNCTION keep_orders_of_their_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- The function before this one has locked the reference. An insertion that turns out to be a change is checked as
    -- one.
    IF NOT EXISTS (SELECT FROM orders WHERE reference = NEW.reference) AND EXISTS (
        SELECT FROM payments
        WHERE reference = NEW.reference AND priced_by_order AND subject <> NEW.subject
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

COMMENT ON FUNCTION keep_orders_of_their_user() IS
    'An order is not placed anew for another user while Belvo has a payment open under it, for a day at most.';

-- Triggers of one event run in the order of their names: behind orders_in_use_stay_as_they_are.
CREATE TRIGGER orders_placed_anew_stay_with_their_user
    BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION keep_orders_of_their_user();

-- As the alarms have it: a user's payments of one reference, and with them all that were opened under the order.
CREATE OR REPLACE VIEW ops.double_paid AS
    SELECT min(subject) AS subject, reference, count(*) AS payments,
        (sum(amount_centavos) / 100.0)::numeric(18, 2) AS amount, array_agg(id ORDER BY id) AS payment_ids,
        array_agg(end_to_end_id ORDER BY id) AS end_to_end_ids
    FROM (
        SELECT id, subject, reference, amount_centavos, end_to_end_id,
            bool_or(priced_by_order) OVER (PARTITION BY reference, subject) AS is_with_order
        FROM payments WHERE (state = 'succeeded' OR contradicted_at IS NOT NULL) AND reference IS NOT NULL
    ) AS paid
    GROUP BY reference, CASE WHEN NOT is_with_order THEN subject END
    HAVING count(*) > 1;
