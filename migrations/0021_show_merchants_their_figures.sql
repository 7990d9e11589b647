-- What a merchant wants to know each morning: how many customers came how far, at which bank, and for how much.
--
-- A record counts for the day (UTC) on which it was begun, however late it ended, so that no figure of a step is more
-- than that of the step before. What was made at Belvo without this server (`origin` observed) is in ops.taken_in.
CREATE VIEW enrollment_steps AS
    SELECT enrollments.id, enrollments.created_at, enrollments.institution_id, enrollments.institution_name,
        steps.approved_at IS NOT NULL OR steps.registered_at IS NOT NULL AS is_approved,
        steps.registered_at IS NOT NULL AS is_registered,
        steps.came_back_at - steps.sent_at AS at_bank
    FROM enrollments CROSS JOIN LATERAL (
        SELECT min(changed_at) FILTER (WHERE state_after = 'at_bank') AS sent_at,
            min(changed_at) FILTER (WHERE state_after = 'completing') AS came_back_at,
            min(changed_at) FILTER (
                WHERE state_after IN ('awaiting_fingerprint', 'confirming')) AS approved_at,
            min(changed_at) FILTER (WHERE state_after = 'succeeded') AS registered_at
        FROM state_history WHERE record_type = 'enrollment' AND record_id = enrollments.id
    ) AS steps
    WHERE enrollments.origin = 'own';

COMMENT ON VIEW enrollment_steps IS 'How far each enrollment came that was begun here.';
COMMENT ON COLUMN enrollment_steps.id IS 'The enrollment, ours.';
COMMENT ON COLUMN enrollment_steps.created_at IS 'When it was begun.';
COMMENT ON COLUMN enrollment_steps.institution_id IS 'The bank, by Belvo''s id.';
COMMENT ON COLUMN enrollment_steps.institution_name IS 'The bank, as users know it.';
COMMENT ON COLUMN enrollment_steps.is_approved IS
    'Whether the bank was ready for the fingerprint: the user had approved.';
COMMENT ON COLUMN enrollment_steps.is_registered IS
    'Whether the phone''s key was accepted, also where it was revoked since.';
COMMENT ON COLUMN enrollment_steps.at_bank IS
    'From when the user was sent to the bank until the redirect came back.';

CREATE VIEW ops.enrollment_figures_per_day AS
    SELECT date_trunc('day', created_at AT TIME ZONE 'UTC')::date AS day,
        count(*) AS begun, count(*) FILTER (WHERE is_approved) AS approved,
        count(*) FILTER (WHERE is_registered) AS registered,
        round(100.0 * count(*) FILTER (WHERE is_approved) / count(*), 1) AS approved_percent,
        round(100.0 * count(*) FILTER (WHERE is_registered) / count(*), 1) AS registered_percent,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY at_bank) AS median_at_bank
    FROM enrollment_steps GROUP BY 1 ORDER BY 1 DESC;
COMMENT ON VIEW ops.enrollment_figures_per_day IS
    'How many enrollments began on each day (UTC), how many came to each step, and how long were users at the bank?';

CREATE VIEW ops.payment_figures_per_day AS
    SELECT date_trunc('day', created_at AT TIME ZONE 'UTC')::date AS day,
        count(*) AS begun,
        count(*) FILTER (WHERE is_signed) AS signed,
        count(*) FILTER (WHERE is_paid) AS paid,
        round(100.0 * count(*) FILTER (WHERE is_signed) / count(*), 1) AS signed_percent,
        round(100.0 * count(*) FILTER (WHERE is_paid) / count(*), 1) AS paid_percent,
        count(DISTINCT subject) FILTER (WHERE is_paid) AS payers,
        (coalesce(sum(amount_centavos) FILTER (WHERE is_paid), 0) / 100.0)::numeric(18, 2) AS revenue,
        (avg(amount_centavos) FILTER (WHERE is_paid) / 100.0)::numeric(18, 2) AS mean_amount
    FROM payments CROSS JOIN LATERAL (
        SELECT state = 'succeeded' AS is_paid,
            authorize_sent_at IS NOT NULL OR seen_signed_at IS NOT NULL OR state = 'succeeded' AS is_signed
    ) AS steps
    WHERE origin = 'own' GROUP BY 1 ORDER BY 1 DESC;
COMMENT ON VIEW ops.payment_figures_per_day IS
    'How many payments began on each day (UTC), how many were signed and paid, by how many users, and for how much?';

CREATE VIEW ops.figures_by_bank AS
    SELECT coalesce(enrolled.institution_name, paying.institution_name) AS institution_name,
        coalesce(begun, 0) AS enrollments_begun, coalesce(approved, 0) AS enrollments_approved,
        coalesce(registered, 0) AS enrollments_registered,
        round(100.0 * registered / nullif(begun, 0), 1) AS registered_percent, median_at_bank,
        coalesce(payments, 0) AS payments, coalesce(paid, 0) AS payments_paid,
        round(100.0 * paid / nullif(payments, 0), 1) AS paid_percent,
        coalesce(revenue, 0)::numeric(18, 2) AS revenue
    FROM (
        SELECT institution_id, max(institution_name) AS institution_name, count(*) AS begun,
            count(*) FILTER (WHERE is_approved) AS approved, count(*) FILTER (WHERE is_registered) AS registered,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY at_bank) AS median_at_bank
        FROM enrollment_steps WHERE created_at >= app_now() - interval '30 days' GROUP BY 1
    ) AS enrolled FULL JOIN (
        SELECT institution_id, max(institution_name) AS institution_name, count(*) AS payments,
            count(*) FILTER (WHERE payments.state = 'succeeded') AS paid,
            sum(amount_centavos) FILTER (WHERE payments.state = 'succeeded') / 100.0 AS revenue
        FROM payments JOIN enrollments ON enrollments.id = payments.enrollment_id
        WHERE payments.origin = 'own' AND payments.created_at >= app_now() - interval '30 days' GROUP BY 1
    ) AS paying USING (institution_id)
    ORDER BY payments_paid DESC, enrollments_begun DESC, institution_name;
COMMENT ON VIEW ops.figures_by_bank IS
    'How did enrollments and payments of the last 30 days go at each bank, and what did they bring?';

DO $$
DECLARE
    shown record;
BEGIN
    FOR shown IN
        SELECT relname, attname, meaning
        FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
        JOIN (VALUES
            ('day', 'The day in UTC on which they were begun.'),
            ('begun', 'How many were begun.'),
            ('approved', 'How many of them were approved at the bank.'),
            ('registered', 'How many of them ended with a registered phone.'),
            ('approved_percent', 'The share that was approved, of those begun.'),
            ('registered_percent', 'The share that ended with a registered phone, of those begun.'),
            ('median_at_bank', 'Half of the users who came back were at the bank for no longer.'),
            ('signed', 'How many of them left with a signature for Belvo.'),
            ('paid', 'How many of them were paid.'),
            ('signed_percent', 'The share that was signed, of those begun.'),
            ('paid_percent', 'The share that was paid, of those begun.'),
            ('payers', 'How many users paid.'),
            ('revenue', 'What was paid, in reais.'),
            ('mean_amount', 'What was paid at a time, in reais, on the average.'),
            ('institution_name', 'The bank.'),
            ('enrollments_begun', 'How many enrollments were begun.'),
            ('enrollments_approved', 'How many of them were approved.'),
            ('enrollments_registered', 'How many of them ended with a registered phone.'),
            ('payments', 'How many payments were begun.'),
            ('payments_paid', 'How many of them were paid.')
        ) AS meanings (column_name, meaning) ON column_name = attname
        WHERE relnamespace = 'ops'::regnamespace
            AND relname IN ('enrollment_figures_per_day', 'payment_figures_per_day', 'figures_by_bank')
    LOOP
        EXECUTE format('COMMENT ON COLUMN ops.%I.%I IS %L', shown.relname, shown.attname, shown.meaning);
    END LOOP;
END
$$;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'merchant_readonly') THEN
        GRANT SELECT ON ops.enrollment_figures_per_day, ops.payment_figures_per_day, ops.figures_by_bank
            TO merchant_readonly;
    END IF;
END
$$;
