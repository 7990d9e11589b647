-- A webhook names its object by Belvo's id, and by the `external_id` that was given to it. Where the creation's answer
-- was lost or refused only the name leads to the payment; and an object that was made twice bears the name of the
-- payment that is to be signed. Until such a webhook was worked on another payment for the reference could be opened
-- and signed, and both were paid.
ALTER TABLE webhook_receipts ADD COLUMN external_id uuid;

COMMENT ON COLUMN webhook_receipts.external_id IS
    'The name that the object bears at Belvo: the id of a payment or an enrollment here.';

CREATE INDEX webhook_receipts_unread_by_name ON webhook_receipts (external_id)
    WHERE external_id IS NOT NULL AND next_poll_at IS NOT NULL;

CREATE FUNCTION has_unread_webhook(payment payments) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN EXISTS (SELECT FROM webhook_receipts WHERE object_id = payment.belvo_id AND outcome = 'received')
        OR EXISTS (
            SELECT FROM webhook_receipts
            WHERE external_id = payment.id AND next_poll_at IS NOT NULL AND outcome = 'received');
END
$$;

COMMENT ON FUNCTION has_unread_webhook(payments) IS
    'Whether Belvo has named this payment in a webhook that has not been worked on, by its own id or by ours.';

CREATE OR REPLACE FUNCTION takes_reference(payment payments) RETURNS boolean LANGUAGE sql STABLE AS $$
    -- What may be paid is polled, and what a token could sign is polled while the user holds one. A foreign payment
    -- that is unsigned could be signed by a token alone. What has failed, and what others made, takes it while a
    -- webhook of it is unread.
    SELECT payment.state = 'succeeded' OR payment.contradicted_at IS NOT NULL OR payment.next_poll_at IS NOT NULL AND (
        payment.origin = 'own' OR payment.seen_signed_at IS NOT NULL OR holds_widget_token(payment.subject))
        OR payment.state IN ('failed', 'observed') AND has_unread_webhook(payment)
$$;

DROP FUNCTION has_unread_webhook(uuid);

-- A payment is not signed while a webhook of another object that bears its name is unread: that one may be paid.
CREATE FUNCTION refuse_to_sign_beside_an_unread_twin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM webhook_receipts
        WHERE external_id = NEW.id AND next_poll_at IS NOT NULL AND outcome = 'received'
            AND object_id IS DISTINCT FROM NEW.belvo_id)
    THEN
        RAISE EXCEPTION 'Belvo has named another object of this payment, which has not been read'
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'one_live_payment_per_reference', TABLE = 'payments';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER refuse_to_sign_beside_an_unread_twin BEFORE UPDATE OF state ON payments FOR EACH ROW
    WHEN (NEW.state = 'authorizing' AND OLD.state <> 'authorizing')
    EXECUTE FUNCTION refuse_to_sign_beside_an_unread_twin();
