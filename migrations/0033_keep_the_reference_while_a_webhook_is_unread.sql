-- Belvo says by a webhook that a payment goes on which it has called FAILED, or which was given up here, and its
-- readings may lag, or fail: until the webhook was worked on another payment for the reference could be opened and
-- signed, and both were paid. Views of operators ask the same question, and operators may read the views alone.
CREATE FUNCTION has_unread_webhook(object uuid) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN EXISTS (SELECT FROM webhook_receipts WHERE object_id = object AND outcome = 'received');
END
$$;

COMMENT ON FUNCTION has_unread_webhook(uuid) IS
    'Whether Belvo has named this object of its own in a webhook that has not been worked on.';

CREATE OR REPLACE FUNCTION takes_reference(payment payments) RETURNS boolean LANGUAGE sql STABLE AS $$
    -- What may be paid is polled, and what a token could sign is polled while the user holds one. A foreign payment
    -- that is unsigned could be signed by a token alone. What has failed takes it while a webhook of it is unread.
    SELECT payment.state = 'succeeded' OR payment.contradicted_at IS NOT NULL OR payment.next_poll_at IS NOT NULL AND (
        payment.origin = 'own' OR payment.seen_signed_at IS NOT NULL OR holds_widget_token(payment.subject))
        OR payment.state = 'failed' AND has_unread_webhook(payment.belvo_id)
$$;

ALTER FUNCTION holds_widget_token(text) SECURITY DEFINER;
ALTER FUNCTION holds_widget_token(text) SET search_path FROM CURRENT;
