-- An unsigned twin stopped to hold its reference as soon as no token could sign it any more. What the token had signed
-- since the last reading was not known by then: another payment was opened, and both were paid.
CREATE FUNCTION held_widget_token_lately(holder text) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM widget_tokens
        WHERE widget_tokens.subject = holder AND held_until > app_now() - interval '16 minutes');
END
$$;

COMMENT ON FUNCTION held_widget_token_lately(text) IS
    'Whether a user may hold a token for Belvo''s SDK, or did a quarter of an hour ago: what is polled was perhaps not '
    'read since.';

CREATE OR REPLACE FUNCTION takes_reference(payment payments)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $$
    -- What may be paid is polled, and what a token could sign is polled while the user holds one. A foreign payment
    -- that is unsigned could be signed by a token alone; it is read every quarter of an hour, and so once more after
    -- the token's end. What has failed, and what others made, takes it while a webhook of it is unread.
    SELECT payment.state = 'succeeded' OR payment.contradicted_at IS NOT NULL OR payment.next_poll_at IS NOT NULL AND (
        payment.origin = 'own' OR payment.seen_signed_at IS NOT NULL
        OR held_widget_token_lately(payment.subject))
        OR payment.state IN ('failed', 'observed') AND has_unread_webhook(payment)
$$;
