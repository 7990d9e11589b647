-- What was made at Belvo without this server may be paid to any account: it is no income of the shop's, so it is summed
-- by itself.
CREATE OR REPLACE VIEW ops.totals_per_day AS
    SELECT date_trunc('day', created_at AT TIME ZONE 'UTC')::date AS day, status, in_doubt, count(*) AS payments,
        (sum(amount_centavos) / 100.0)::numeric(18, 2) AS amount, origin
    FROM payments GROUP BY 1, 2, 3, 6 ORDER BY 1 DESC, 2, 3, 6 DESC;
COMMENT ON COLUMN ops.totals_per_day.origin IS
    'own; or observed: made at Belvo without this server, and perhaps paid to another account (ops.taken_in).';
