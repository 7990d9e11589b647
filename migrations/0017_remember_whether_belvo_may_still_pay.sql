-- One question decides about money: may Belvo still pay this attempt? It is answered by facts that are written once
-- and that no answer takes back, in the place of what followed from the failure's code, the digest of the signature and
-- who gave the payment up. While the answer is yes, the attempt is polled, no other one is opened for its reference,
-- and its order stays as it is.
--
-- A server of the version before this one may write to these tables while the servers are replaced. The triggers set
-- the facts that it does not know, and keep holds_reference for it; a later migration drops that column.
ALTER TABLE payments
    ADD COLUMN authorize_sent_at timestamptz,
    ADD COLUMN seen_signed_at    timestamptz,
    ADD COLUMN closed_at_belvo   timestamptz,
    ADD COLUMN released_at       timestamptz,
    ADD COLUMN contradicted_at   timestamptz,
    ADD COLUMN priced_by_order   boolean NOT NULL DEFAULT false;

COMMENT ON COLUMN payments.authorize_sent_at IS
    'When its signature first left for Belvo, or may have: no answer of any status takes this back.';
COMMENT ON COLUMN payments.seen_signed_at IS
    'When Belvo first showed it as anything but unsigned: from then on money may move, whoever signed it.';
COMMENT ON COLUMN payments.closed_at_belvo IS 'When Belvo said its last word on it: SUCCEEDED or FAILED.';
COMMENT ON COLUMN payments.released_at IS
    'When it was certain, after it had been given up, that it was not signed: Belvo was read, or never had it.';
COMMENT ON COLUMN payments.contradicted_at IS
    'When Belvo first called it SUCCEEDED after FAILED. Its reference stays taken until somebody has looked into it.';
COMMENT ON COLUMN payments.priced_by_order IS 'Whether its price was an order''s when it was opened.';

-- Until when the user may hold a token for Belvo's SDK, which can sign an intent that was made here.
ALTER TABLE widget_tokens ADD COLUMN held_until timestamptz;
UPDATE widget_tokens SET held_until = coalesce(expires_at, 'infinity') WHERE access_ciphertext IS NOT NULL;

COMMENT ON COLUMN widget_tokens.held_until IS
    'Until when the user may hold a usable token; infinity when one does not say when it ends.';
COMMENT ON TABLE widget_tokens IS
    'The latest token for Belvo''s SDK of each user, and until when the user may hold one.';

CREATE FUNCTION note_token_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.access_ciphertext IS NOT NULL THEN
        NEW.held_until = greatest(NEW.held_until, coalesce(NEW.expires_at, 'infinity'));
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER widget_tokens_are_remembered_while_held
    BEFORE INSERT OR UPDATE ON widget_tokens FOR EACH ROW EXECUTE FUNCTION note_token_holder();

-- The one place in the database that answers the question, for a user who holds no token for the SDK.
CREATE FUNCTION may_belvo_pay(
    closed_at_belvo timestamptz, released_at timestamptz, authorize_sent_at timestamptz, seen_signed_at timestamptz,
    contradicted_at timestamptz
) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT contradicted_at IS NOT NULL OR (closed_at_belvo IS NULL
        AND (released_at IS NULL OR authorize_sent_at IS NOT NULL OR seen_signed_at IS NOT NULL))
$$;

COMMENT ON FUNCTION may_belvo_pay(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz) IS
    'Whether Belvo may still pay an attempt: not after its last word, nor once given up and known to be unsigned.';

CREATE FUNCTION holds_widget_token(holder text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT EXISTS (SELECT FROM widget_tokens WHERE widget_tokens.subject = holder AND held_until > app_now())
$$;

COMMENT ON FUNCTION holds_widget_token(text) IS
    'Whether a user may hold a token for Belvo''s SDK, which can sign what was made here.';

-- Existing rows. What history tells of a signature that was sent outlives every answer to it.
UPDATE payments SET
    authorize_sent_at = (
        SELECT min(changed_at) FROM state_history
        WHERE record_id = payments.id AND state_after = 'authorizing'),
    seen_signed_at = CASE
        WHEN provider_status NOT IN ('PENDING', 'REQUIRES_PAYMENT_METHOD', 'REQUIRES_ACTION', 'FAILED', 'CANCELED')
            THEN updated_at END,
    closed_at_belvo = CASE WHEN state = 'succeeded' OR failure_authority = 'belvo' THEN updated_at END;
UPDATE payments SET authorize_sent_at = updated_at WHERE assertion_digest IS NOT NULL AND authorize_sent_at IS NULL;

-- What was given up here long ago has lapsed at Belvo; the rest is read once more, spread over an hour.
UPDATE payments SET released_at = updated_at
    WHERE state = 'failed' AND failure_authority = 'merchant'
        AND (belvo_id IS NULL OR updated_at < app_now() - interval '7 days')
        AND authorize_sent_at IS NULL AND seen_signed_at IS NULL;
UPDATE payments SET
    next_poll_at = app_now() + random() * interval '1 hour', deadline_at = coalesce(deadline_at, app_now())
    WHERE state = 'failed'
        AND may_belvo_pay(closed_at_belvo, released_at, authorize_sent_at, seen_signed_at, contradicted_at);

UPDATE payments SET priced_by_order = true
    WHERE EXISTS (
        SELECT FROM orders
        WHERE orders.reference = payments.reference AND orders.subject = payments.subject
            AND orders.created_at <= payments.created_at);

-- Written by the trigger below, for servers of earlier versions alone.
ALTER TABLE payments ALTER COLUMN holds_reference SET DEFAULT false;

ALTER TABLE payments DROP CONSTRAINT only_authorized_payments_are_in_doubt;
ALTER TABLE payments
    ADD CONSTRAINT only_what_may_be_signed_is_in_doubt
        CHECK (NOT in_doubt OR authorize_sent_at IS NOT NULL OR seen_signed_at IS NOT NULL),
    ADD CONSTRAINT authorized_payments_were_sent CHECK (state <> 'authorizing' OR authorize_sent_at IS NOT NULL),
    ADD CONSTRAINT what_belvo_closed_is_at_its_end
        CHECK (closed_at_belvo IS NULL OR state IN ('succeeded', 'failed')),
    ADD CONSTRAINT only_given_up_payments_are_released CHECK (released_at IS NULL OR state IN ('succeeded', 'failed')),
    ADD CONSTRAINT what_may_be_paid_is_polled CHECK (next_poll_at IS NOT NULL OR NOT may_belvo_pay(
        closed_at_belvo, released_at, authorize_sent_at, seen_signed_at, contradicted_at));

CREATE INDEX payments_of_an_order ON payments (reference) WHERE reference IS NOT NULL;
CREATE INDEX payments_that_may_be_paid ON payments (reference)
    WHERE reference IS NOT NULL
        AND may_belvo_pay(closed_at_belvo, released_at, authorize_sent_at, seen_signed_at, contradicted_at);

-- What is wrong with money is a row from the statement that found it, so that no crash loses it. It is open until
-- somebody has settled it.
CREATE TABLE money_alarms (
    id           uuid        PRIMARY KEY DEFAULT gen_random_uuid(),
    kind         text        NOT NULL,
    payment_id   uuid        NOT NULL,
    detail       text,
    raised_at    timestamptz NOT NULL DEFAULT app_now(),
    settled_at   timestamptz,
    settled_by   text,
    version      bigint      NOT NULL DEFAULT 1,
    next_poll_at timestamptz DEFAULT app_now(),
    leased_until timestamptz,
    CONSTRAINT money_alarm_is_of_a_payment FOREIGN KEY (payment_id) REFERENCES payments (id),
    CONSTRAINT money_alarm_is_of_a_known_kind CHECK (kind IN (
        'double_paid', 'paid_beside_order', 'late_success', 'contradiction', 'differs', 'end_to_end_id_repeated',
        'created_twice')),
    CONSTRAINT settled_alarms_say_who_settled_them CHECK (settled_at IS NULL OR settled_by IS NOT NULL)
);

CREATE UNIQUE INDEX one_open_alarm_of_a_kind ON money_alarms (payment_id, kind) WHERE settled_at IS NULL;
CREATE INDEX money_alarms_due ON money_alarms (next_poll_at) WHERE next_poll_at IS NOT NULL;

COMMENT ON TABLE money_alarms IS
    'What is wrong with money and nobody has settled yet. Settle one with UPDATE … SET settled_at = app_now(), '
    'settled_by = ''who: why''.';
COMMENT ON COLUMN money_alarms.id IS 'Ours.';
COMMENT ON COLUMN money_alarms.kind IS
    'double_paid: another payment for its reference succeeded too. paid_beside_order: it succeeded and is not what its '
    'order asks for. late_success: it succeeded after it had been given up here. contradiction: Belvo took its last '
    'word back. differs: Belvo shows it otherwise than it was asked for. end_to_end_id_repeated: Belvo shows another '
    'payment''s transfer for it. created_twice: Belvo has several intents for it.';
COMMENT ON COLUMN money_alarms.payment_id IS 'The payment, ours.';
COMMENT ON COLUMN money_alarms.detail IS 'What was found.';
COMMENT ON COLUMN money_alarms.raised_at IS 'When it was found.';
COMMENT ON COLUMN money_alarms.settled_at IS 'When somebody settled it.';
COMMENT ON COLUMN money_alarms.settled_by IS 'Who settled it, and how.';
COMMENT ON COLUMN money_alarms.version IS 'Grows with every change and every lease.';
COMMENT ON COLUMN money_alarms.next_poll_at IS 'When the shop is to be told by an event; null once it is written.';
COMMENT ON COLUMN money_alarms.leased_until IS 'Until when one server has it in hand.';

-- What was wrong before is an alarm from the beginning; the shop is told of what comes.
INSERT INTO money_alarms (kind, payment_id, detail, next_poll_at)
    SELECT 'double_paid', id, 'paid beside another payment, found when alarms began', NULL FROM payments AS later
    WHERE state = 'succeeded' AND reference IS NOT NULL AND EXISTS (
        SELECT FROM payments AS earlier
        WHERE earlier.subject = later.subject AND earlier.reference = later.reference
            AND earlier.state = 'succeeded' AND earlier.id < later.id);
INSERT INTO money_alarms (kind, payment_id, detail, next_poll_at)
    SELECT 'paid_beside_order', payments.id, payments.amount_centavos || ' centavos for an order of '
        || orders.amount_centavos || ', found when alarms began', NULL
    FROM payments JOIN orders USING (reference, subject)
    WHERE state = 'succeeded' AND (NOT priced_by_order OR payments.amount_centavos <> orders.amount_centavos);

-- Who changes what is open for a reference holds this lock until the commit, so that each sees what the others did.
CREATE FUNCTION lock_reference(reference text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('reference ' || reference, 0))
$$;

-- Held shared by who writes a user's record, and alone by who erases the user.
CREATE FUNCTION lock_user(subject text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock_shared(hashtextextended('user ' || subject, 0))
$$;

-- The promise "one reference, one payment" rests on this: an attempt begins, and is authorized, only while no other one
-- for its reference has been paid or may still be paid. Each statement in here sees what was committed before the lock
-- was taken.
CREATE FUNCTION guard_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    begins     boolean := TG_OP = 'INSERT';
    authorizes boolean := false;
    may_pay    boolean;
BEGIN
    -- What a server of an earlier version does not write.
    IF NEW.state = 'succeeded' OR NEW.failure_authority = 'belvo' THEN
        NEW.closed_at_belvo = coalesce(NEW.closed_at_belvo, app_now());
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

    PERFORM lock_user(NEW.subject);
    IF NEW.reference IS NOT NULL AND (may_pay OR NEW.state = 'succeeded') THEN
        PERFORM lock_reference(NEW.reference);
        -- An order's reference is the whole merchant's, and what has no order is not opened beside one.
        IF (begins OR authorizes) AND (EXISTS (
            SELECT FROM payments AS other
            WHERE (other.subject = NEW.subject OR NEW.priced_by_order AND other.priced_by_order)
                AND other.reference = NEW.reference AND other.id <> NEW.id
                -- What may be paid is polled, and what a token could sign is polled while the user holds one.
                AND (other.state = 'succeeded' OR other.next_poll_at IS NOT NULL))
            OR begins AND NOT NEW.priced_by_order AND EXISTS (
                SELECT FROM orders WHERE orders.reference = NEW.reference))
        THEN
            RAISE EXCEPTION 'another payment for this reference has been paid or may still be paid'
                USING ERRCODE = 'unique_violation', CONSTRAINT = 'one_live_payment_per_reference', TABLE = 'payments';
        END IF;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER payments_begin_alone
    BEFORE INSERT ON payments FOR EACH ROW EXECUTE FUNCTION guard_payment();
CREATE TRIGGER payments_are_authorized_alone
    BEFORE UPDATE ON payments FOR EACH ROW WHEN (
        NEW.next_poll_at IS NULL AND may_belvo_pay(
            NEW.closed_at_belvo, NEW.released_at, NEW.authorize_sent_at, NEW.seen_signed_at, NEW.contradicted_at)
        OR (
            OLD.state, OLD.failure_authority, OLD.closed_at_belvo, OLD.released_at, OLD.authorize_sent_at,
            OLD.seen_signed_at, OLD.contradicted_at)
        IS DISTINCT FROM (
            NEW.state, NEW.failure_authority, NEW.closed_at_belvo, NEW.released_at, NEW.authorize_sent_at,
            NEW.seen_signed_at, NEW.contradicted_at))
    EXECUTE FUNCTION guard_payment();

DROP INDEX one_live_payment_per_reference;

-- Money that arrives is held against the order and against what arrived before, in the transaction that records it.
CREATE FUNCTION raise_money_alarms() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    order_amount bigint;
    others       text;
BEGIN
    IF NEW.state = 'succeeded' AND TG_OP = 'UPDATE' AND OLD.state = 'failed' THEN
        INSERT INTO money_alarms (kind, payment_id, detail, next_poll_at)
        VALUES ('late_success', NEW.id, 'it had been given up as ' || OLD.failure_code, NULL)
        ON CONFLICT DO NOTHING;
    END IF;
    IF NEW.contradicted_at IS NOT NULL THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES ('contradiction', NEW.id, 'SUCCEEDED after FAILED') ON CONFLICT DO NOTHING;
    END IF;
    IF NEW.reference IS NULL THEN RETURN NULL; END IF;
    SELECT string_agg(id::text, ', ' ORDER BY id) INTO others FROM payments
    WHERE (subject = NEW.subject OR priced_by_order AND NEW.priced_by_order)
        AND reference = NEW.reference AND id <> NEW.id AND (state = 'succeeded' OR contradicted_at IS NOT NULL);
    IF others IS NOT NULL THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES ('double_paid', NEW.id, 'paid beside ' || others) ON CONFLICT DO NOTHING;
    END IF;
    SELECT amount_centavos INTO order_amount FROM orders
    WHERE orders.reference = NEW.reference AND orders.subject = NEW.subject;
    IF FOUND AND (NOT NEW.priced_by_order OR order_amount <> NEW.amount_centavos) THEN
        INSERT INTO money_alarms (kind, payment_id, detail)
        VALUES ('paid_beside_order', NEW.id, NEW.amount_centavos || ' centavos for an order of ' || order_amount)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER payments_that_arrive_are_checked
    AFTER UPDATE ON payments FOR EACH ROW WHEN (
        NEW.state = 'succeeded' AND OLD.state <> 'succeeded'
        OR NEW.contradicted_at IS NOT NULL AND OLD.contradicted_at IS NULL)
    EXECUTE FUNCTION raise_money_alarms();

-- An order stays what the user saw while any attempt for its reference may still be paid, also a new one beside which
-- an attempt without an order is under way; and for good once it was paid.
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
    -- The order before its reference, as those do who open a payment for it.
    IF TG_OP = 'INSERT' THEN PERFORM FROM orders WHERE reference = place FOR UPDATE; END IF;
    PERFORM lock_reference(place);
    IF NEW.reference <> place THEN PERFORM lock_reference(NEW.reference); END IF;
    -- An insertion that turns out to be a change is checked as one.
    IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM orders WHERE reference = place) THEN RETURN NEW; END IF;
    IF EXISTS (
            SELECT FROM payments
            WHERE reference IN (place, NEW.reference)
                AND may_belvo_pay(closed_at_belvo, released_at, authorize_sent_at, seen_signed_at, contradicted_at))
        OR EXISTS (
            SELECT FROM payments
            WHERE subject = coalesce(OLD.subject, NEW.subject) AND reference = place
                AND (TG_OP <> 'INSERT' AND state = 'succeeded' OR state = 'failed' AND next_poll_at IS NOT NULL))
        -- Its user stays while Belvo has anything open under it: else two users could pay one order.
        OR TG_OP = 'UPDATE' AND NEW.subject <> OLD.subject AND EXISTS (
            SELECT FROM payments
            WHERE subject = OLD.subject AND reference = place AND belvo_id IS NOT NULL AND closed_at_belvo IS NULL)
    THEN
        RAISE EXCEPTION 'a payment for this order may still be paid, or has paid it'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'orders_in_use_stay_as_they_are',
                TABLE = 'orders';
    END IF;
    RETURN coalesce(NEW, OLD);
END
$$;

DROP TRIGGER orders_in_use_stay_as_they_are ON orders;
CREATE TRIGGER orders_in_use_stay_as_they_are
    BEFORE INSERT OR UPDATE OR DELETE ON orders
    FOR EACH ROW EXECUTE FUNCTION keep_orders_in_use();

CREATE FUNCTION check_what_was_paid_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO money_alarms (kind, payment_id, detail)
    SELECT 'paid_beside_order', id, amount_centavos || ' centavos before the order of ' || NEW.amount_centavos
    FROM payments WHERE subject = NEW.subject AND reference = NEW.reference AND state = 'succeeded'
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER new_orders_are_held_against_what_was_paid
    AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION check_what_was_paid_before();

-- Who is being erased gets no new enrollment beside it.
CREATE FUNCTION guard_enrollment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lock_user(NEW.subject);
    RETURN NEW;
END
$$;

CREATE TRIGGER enrollments_begin_for_users_who_stay
    BEFORE INSERT ON enrollments FOR EACH ROW EXECUTE FUNCTION guard_enrollment();
CREATE TRIGGER enrollments_change_for_users_who_stay
    BEFORE UPDATE ON enrollments FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION guard_enrollment();
