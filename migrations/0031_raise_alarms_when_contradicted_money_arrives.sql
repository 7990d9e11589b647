-- An operator's transaction may have begun before the contradiction that it settles: its time of settling was the
-- earlier one, and the contradiction never ended. And an alarm that was settled while Belvo showed the payment under
-- way was not raised again when the money arrived.
CREATE OR REPLACE FUNCTION is_contradiction_settled(payment uuid, contradicted timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    -- Each contradiction begins with an alarm that is open: whatever time it was settled at, it is this one's.
    SELECT contradicted IS NOT NULL AND coalesce(bool_and(settled_at IS NOT NULL), false)
    FROM money_alarms WHERE payment_id = payment AND kind = 'contradiction'
$$;

-- Read from now on: those whose settling was not seen.
UPDATE payments SET next_poll_at = app_now(), leased_until = NULL, version = version + 1
WHERE contradicted_at IS NOT NULL AND is_contradiction_settled(id, contradicted_at);

COMMENT ON COLUMN payments.provider_status IS
    'Belvo''s status, in its own word; UNREADABLE where it is no word. Of a payment that is contradicted, what Belvo '
    'went on to show.';

-- What is contradicted is checked when that begins, and again when Belvo first shows it as paid. One that bears another
-- one's name is checked when it counts as paid: only then its alarm says so.
DROP TRIGGER payments_that_arrive_are_checked ON payments;
CREATE TRIGGER payments_that_arrive_are_checked
    AFTER UPDATE ON payments FOR EACH ROW
    WHEN (
        OLD.contradicted_at IS NULL
            AND (NEW.state = 'succeeded' AND OLD.state <> 'succeeded' OR NEW.contradicted_at IS NOT NULL)
        OR OLD.contradicted_at IS NOT NULL
            AND (NEW.provider_status = 'SUCCEEDED' AND OLD.provider_status IS DISTINCT FROM 'SUCCEEDED'
                OR NEW.state = 'succeeded' AND NEW.bears_name_of IS NOT NULL))
    EXECUTE FUNCTION raise_money_alarms();
