-- Before another attempt for a reference Belvo is read once more about the last one that was signed and has FAILED.
-- Where that one was being polled at the time, it was neither refused nor read: another attempt was opened unread. The
-- insertion asks itself now, when it has the reference's lock, whether the last one is the one that was read.
CREATE FUNCTION may_have_been_signed(payment payments) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT payment.belvo_id IS NOT NULL AND (
        payment.authorize_sent_at IS NOT NULL OR payment.seen_signed_at IS NOT NULL
        OR held_widget_token_lately(payment.subject))
$$;

COMMENT ON FUNCTION may_have_been_signed(payments) IS
    'Whether the payment was signed here, was seen to be signed, or could be signed by a token of its user''s.';

CREATE FUNCTION require_failure_read(made payments, read uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    last uuid;
BEGIN
    IF made.reference IS NULL THEN RETURN true; END IF;
    SELECT other.belvo_id INTO last FROM payments AS other
    WHERE other.reference = made.reference AND other.id <> made.id AND other.state = 'failed'
        AND other.closed_at_belvo IS NOT NULL AND may_have_been_signed(other)
        AND (other.subject = made.subject OR other.priced_by_order AND made.priced_by_order)
    -- By the database's clock: ids are made by those of servers, which differ.
    ORDER BY other.closed_at_belvo DESC, other.id DESC LIMIT 1;
    IF last IS NOT NULL AND last IS DISTINCT FROM read THEN
        RAISE EXCEPTION 'the last attempt for this reference was signed, and Belvo was not read again since it failed'
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'last_failure_was_read', TABLE = 'payments';
    END IF;
    RETURN true;
END
$$;

COMMENT ON FUNCTION require_failure_read(payments, uuid) IS
    'Refuses a payment that was just inserted unless the last attempt for its reference that was signed and has failed '
    'is the one of this id at Belvo, which was read again. It sees what was committed until now, and not only what the '
    'statement does that calls it.';
