-- The history, the events and the webhooks only grow, and letting go of them row by row writes each of them once more.
-- So they are partitioned by time, in steps under which servers of the version before go on. What there is becomes the
-- first partition as it stands, and no row is copied. This step bounds it: for a month at least, until 0043 has run, no
-- row can lie beyond the first partition, and nothing is asked of the rows that are there.
--
-- A webhook gets the day on which it was stored, since a partitioned table knows no other uniqueness than one that
-- names the key. Rows that are there get the day of this step, as a value of the catalog's. The same webhook on another
-- day is another row, and is worked on as another copy would be.
--
-- On a large database, column and index of 0040 can be made beforehand, without keeping any client waiting for long:
--     ALTER TABLE webhook_receipts
--         ADD COLUMN stored_on date NOT NULL DEFAULT (app_now() AT TIME ZONE 'UTC')::date;
--     CREATE UNIQUE INDEX CONCURRENTLY webhook_receipts_by_digest ON webhook_receipts (digest, stored_on);
ALTER TABLE webhook_receipts
    ADD COLUMN IF NOT EXISTS stored_on date NOT NULL DEFAULT (app_now() AT TIME ZONE 'UTC')::date;

COMMENT ON COLUMN webhook_receipts.stored_on IS
    'The day (UTC) on which it came first, which says in which partition it is.';

DO $$
DECLARE
    -- A month from now at least.
    soon  timestamp := (app_now() AT TIME ZONE 'UTC') + interval '1 month';
    month text := to_char(date_trunc('month', soon) + interval '1 month', 'YYYY-MM-DD');
    year  text := to_char(date_trunc('year', soon) + interval '1 year', 'YYYY-MM-DD');
BEGIN
    EXECUTE format(
        'ALTER TABLE webhook_receipts ADD CONSTRAINT rows_are_of_the_first_partition '
        'CHECK (stored_on < %L::date) NOT VALID', month);
    EXECUTE format(
        'ALTER TABLE events ADD CONSTRAINT rows_are_of_the_first_partition '
        'CHECK (created_at < %L::timestamptz) NOT VALID', month || ' 00:00:00+00');
    EXECUTE format(
        'ALTER TABLE state_history ADD CONSTRAINT rows_are_of_the_first_partition '
        'CHECK (changed_at < %L::timestamptz) NOT VALID', year || ' 00:00:00+00');
END
$$;
