-- PostgreSQL plans the statements of a function in SQL anew in each statement that calls it, and those of a function in
-- PL/pgSQL once a session, unless it takes plans made for the values of each call to be cheaper. Of a payment's time in
-- the database a fifth went into planning the same lookups. Their answers are the same as before, but for one: a
-- payment that is given up while its user has got a token for the SDK, which its writer could not see, stays polled.
CREATE OR REPLACE FUNCTION holds_widget_token(holder text) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM widget_tokens WHERE widget_tokens.subject = holder AND held_until > app_now());
END
$$;

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
    IF begins AND NEW.priced_by_order IS NULL THEN
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
    -- Nothing that may be paid is left alone, whoever wrote it.
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
                WHERE (other.subject = NEW.subject OR NEW.priced_by_order AND other.priced_by_order)
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
