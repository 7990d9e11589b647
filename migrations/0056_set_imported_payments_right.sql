-- A payment that was imported while Belvo showed another amount is set right by what Belvo shows later. Whether it
-- counts for an order, and what alarms its money raises, was decided by the amount that it had before.
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
    IF NEW.origin <> 'own' THEN
        IF begins OR NEW.reference IS DISTINCT FROM OLD.reference
            OR NEW.amount_centavos IS DISTINCT FROM OLD.amount_centavos
        THEN
            -- What was made without us names a reference only as a twin.
            NEW.priced_by_order = NEW.reference IS NOT NULL AND EXISTS (
                SELECT FROM payments AS own
                WHERE own.reference = NEW.reference AND own.subject = NEW.subject AND own.origin = 'own'
                    AND own.priced_by_order AND own.amount_centavos = NEW.amount_centavos);
        END IF;
    ELSIF begins AND NEW.priced_by_order IS NULL THEN
        NEW.priced_by_order = EXISTS (
            SELECT FROM orders
            WHERE orders.reference = NEW.reference AND orders.subject = NEW.subject
                AND orders.amount_centavos = NEW.amount_centavos);
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

CREATE OR REPLACE TRIGGER imported_payments_are_named
    BEFORE UPDATE OF reference, amount_centavos ON payments FOR EACH ROW
    WHEN (
        NEW.origin <> 'own'
        AND (NEW.reference, NEW.amount_centavos) IS DISTINCT FROM (OLD.reference, OLD.amount_centavos))
    EXECUTE FUNCTION guard_payment();

CREATE OR REPLACE TRIGGER imported_payments_are_checked_when_named
    AFTER UPDATE OF reference, bears_name_of, amount_centavos ON payments FOR EACH ROW
    WHEN (
        NEW.origin <> 'own'
        AND (NEW.reference, NEW.bears_name_of, NEW.amount_centavos)
            IS DISTINCT FROM (OLD.reference, OLD.bears_name_of, OLD.amount_centavos)
        AND has_received_money(NEW.*))
    EXECUTE FUNCTION raise_money_alarms();
