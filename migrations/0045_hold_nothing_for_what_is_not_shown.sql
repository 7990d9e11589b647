-- A webhook that names an object which Belvo answers 404 for kept its payment's reference, and its payment from being
-- signed, for the hour for which it is read again. An object that the first reading does not show is most often there a
-- moment later, so it counts for a minute.
ALTER TABLE webhook_receipts ADD COLUMN absent_since timestamptz;

-- Partitions that are made later get the comment of the table's default partition.
DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN
        SELECT 'webhook_receipts'::regclass UNION ALL
        SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'webhook_receipts'::regclass
    LOOP
        EXECUTE format('COMMENT ON COLUMN %s.absent_since IS %L', part,
            'Since when Belvo answers that it does not have the object; null where it was shown, or not read yet.');
    END LOOP;
END
$$;

CREATE FUNCTION counts_as_unread(outcome text, absent_since timestamptz) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT outcome = 'received' AND (absent_since IS NULL OR absent_since > app_now() - interval '1 minute')
$$;

COMMENT ON FUNCTION counts_as_unread(text, timestamptz) IS
    'Whether a webhook keeps the payment that it names from being paid again: it was not worked on, and its object may '
    'be there.';

CREATE OR REPLACE FUNCTION has_unread_webhook(payment payments) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN EXISTS (
            SELECT FROM webhook_receipts WHERE object_id = payment.belvo_id AND counts_as_unread(outcome, absent_since))
        OR EXISTS (
            SELECT FROM webhook_receipts
            WHERE external_id IN (payment.id, payment.belvo_id) AND next_poll_at IS NOT NULL
                AND counts_as_unread(outcome, absent_since));
END
$$;

CREATE OR REPLACE FUNCTION refuse_to_sign_beside_an_unread_twin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM webhook_receipts
        WHERE external_id = NEW.id AND next_poll_at IS NOT NULL AND counts_as_unread(outcome, absent_since)
            AND object_id IS DISTINCT FROM NEW.belvo_id)
    THEN
        RAISE EXCEPTION 'Belvo has named another object of this payment, which has not been read'
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'one_live_payment_per_reference', TABLE = 'payments';
    END IF;
    RETURN NEW;
END
$$;
