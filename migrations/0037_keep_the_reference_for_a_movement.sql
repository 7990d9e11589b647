-- A webhook about a transaction names the intent that was paid, by Belvo's id. Until it was worked on another payment
-- for the reference could be opened and signed, and both were paid.
COMMENT ON COLUMN webhook_receipts.external_id IS
    'The name that the object bears at Belvo: an id of ours; of a movement without one its intent, by Belvo''s id.';

CREATE OR REPLACE FUNCTION has_unread_webhook(payment payments) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN EXISTS (SELECT FROM webhook_receipts WHERE object_id = payment.belvo_id AND outcome = 'received')
        OR EXISTS (
            SELECT FROM webhook_receipts
            WHERE external_id IN (payment.id, payment.belvo_id) AND next_poll_at IS NOT NULL AND outcome = 'received');
END
$$;

COMMENT ON FUNCTION has_unread_webhook(payments) IS
    'Whether Belvo has named this payment in a webhook that has not been worked on, by its own id or by ours.';
