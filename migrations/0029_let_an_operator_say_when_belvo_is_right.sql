-- Settling the alarm of a contradiction freed the reference, also where money had moved: the next payment was paid too.
-- Now the payment takes over what Belvo shows from then on. Erasing a person gives an order no other payer, and raised
-- an alarm for each order that was paid.
CREATE FUNCTION is_contradiction_settled(payment uuid, contradicted timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(bool_and(settled_at IS NOT NULL) AND max(settled_at) > contradicted, false)
    FROM money_alarms WHERE payment_id = payment AND kind = 'contradiction'
$$;

COMMENT ON FUNCTION is_contradiction_settled IS
    'Whether an operator has settled what was contradicted then: the next last status that Belvo shows is true.';

COMMENT ON COLUMN payments.contradicted_at IS
    'When Belvo first went on after FAILED. Its reference stays taken until an operator has settled the alarm and '
    'Belvo shows a last status again, which the payment takes over.';

CREATE OR REPLACE FUNCTION end_contradiction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE payments SET next_poll_at = app_now(), leased_until = NULL, version = version + 1
    WHERE id = NEW.payment_id AND contradicted_at IS NOT NULL;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION end_contradiction() IS
    'Settling the alarm of a contradiction has the payment read at once: what Belvo shows as its end is true.';

-- Read from now on: also a contradiction whose alarm was settled before that ended it.
UPDATE payments SET next_poll_at = app_now(), leased_until = NULL, version = version + 1
WHERE contradicted_at IS NOT NULL AND is_contradiction_settled(id, contradicted_at);

-- What was contradicted counted as paid from that moment on, and its alarms were raised then.
DROP TRIGGER payments_that_arrive_are_checked ON payments;
CREATE TRIGGER payments_that_arrive_are_checked
    AFTER UPDATE ON payments FOR EACH ROW
    WHEN (OLD.contradicted_at IS NULL
        AND (NEW.state = 'succeeded' AND OLD.state <> 'succeeded' OR NEW.contradicted_at IS NOT NULL))
    EXECUTE FUNCTION raise_money_alarms();

-- A transaction that erases a person says so: its orders stay what they were.
CREATE FUNCTION is_erasing() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(current_setting('merchant.erasing', true), '') = 'on'
$$;

DROP TRIGGER orders_for_another_user_are_held_against_what_was_paid ON orders;
CREATE TRIGGER orders_for_another_user_are_held_against_what_was_paid
    AFTER UPDATE OF subject, reference ON orders FOR EACH ROW
    WHEN ((OLD.subject, OLD.reference) IS DISTINCT FROM (NEW.subject, NEW.reference) AND NOT is_erasing())
    EXECUTE FUNCTION check_what_was_paid_before();

DROP TRIGGER orders_in_use_stay_as_they_are ON orders;
CREATE TRIGGER orders_in_use_stay_as_they_are
    BEFORE INSERT OR UPDATE OR DELETE ON orders FOR EACH ROW WHEN (NOT is_erasing())
    EXECUTE FUNCTION keep_orders_in_use();
