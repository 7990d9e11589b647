-- A payment that was imported without its name is read once more after an hour. That reading is the server's own and no
-- webhook of Belvo's: once the name was known it kept the payment's reference until then, and counted as late work.
CREATE OR REPLACE FUNCTION has_unread_webhook(payment payments) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN EXISTS (
            SELECT FROM webhook_receipts
            WHERE object_id = payment.belvo_id AND webhook_code <> 'NAMELESS'
                AND counts_as_unread(outcome, absent_since))
        OR EXISTS (
            SELECT FROM webhook_receipts
            WHERE external_id IN (payment.id, payment.belvo_id) AND next_poll_at IS NOT NULL
                AND counts_as_unread(outcome, absent_since));
END
$$;

CREATE OR REPLACE VIEW ops.workload AS
    SELECT 'payments' AS what, count(*) FILTER (WHERE status = 'PENDING') AS pending,
        count(*) FILTER (WHERE in_doubt) AS in_doubt,
        app_now() - min(created_at) FILTER (WHERE status = 'PENDING') AS oldest_pending,
        max(app_now() - next_poll_at) AS most_overdue
    FROM payments WHERE next_poll_at IS NOT NULL
    UNION ALL
    SELECT 'enrollments', count(*) FILTER (WHERE status = 'PENDING'), NULL,
        app_now() - min(created_at) FILTER (WHERE status = 'PENDING'), max(app_now() - next_poll_at)
    FROM enrollments WHERE next_poll_at IS NOT NULL
    UNION ALL
    SELECT 'customers', count(*), NULL, app_now() - min(created_at), max(app_now() - next_poll_at)
    FROM customers WHERE next_poll_at IS NOT NULL
    UNION ALL
    SELECT 'redirects', count(*), NULL, app_now() - min(received_at), max(app_now() - next_poll_at)
    FROM redirect_receipts WHERE next_poll_at IS NOT NULL
    UNION ALL
    SELECT 'webhooks', count(*), NULL, app_now() - min(received_at), max(app_now() - next_poll_at)
    FROM webhook_receipts WHERE next_poll_at IS NOT NULL AND webhook_code <> 'NAMELESS'
    UNION ALL
    SELECT 'events', count(*), NULL, app_now() - min(created_at), max(app_now() - next_attempt_at)
    FROM events WHERE next_attempt_at IS NOT NULL;
