-- A paid payment wrote 19 kB of PostgreSQL's log with webhooks and 11 kB without, and half of that were entries of
-- indexes: each new version of a row has one in every index of its table, unless no indexed column has changed and the
-- new version stands on the same page. So indexes go that nobody asks, pages keep room for the next version, and what
-- changes while a payment is polled is in no index. A server of the version before this one works as before: it asks
-- for nothing that only an index that is gone here could tell.
--
-- The two indexes that are built here can be built beforehand, without keeping anybody waiting:
--     CREATE UNIQUE INDEX CONCURRENTLY end_to_end_ids_are_unique ON payments (end_to_end_id)
--         WHERE end_to_end_id IS NOT NULL;
--     CREATE INDEX CONCURRENTLY payments_to_hollow_out_by_id ON payments (id)
--         WHERE hollowed_at IS NULL AND state IN ('succeeded', 'failed');

-- Nothing asks for the payments of an enrollment; no enrollment is ever deleted.
DROP INDEX payments_of_an_enrollment;
-- Of a reference there are few payments: payments_of_an_order finds them.
DROP INDEX payments_of_a_reference;
-- What may be paid is polled, and so stands in payments_due.
DROP INDEX payments_that_may_be_paid;
-- A line of history is found by its record.
ALTER TABLE state_history DROP CONSTRAINT state_history_pkey;
-- Found by their ids, which grow with the time.
DROP INDEX webhook_receipts_by_age;

-- A payment has no end-to-end id until it is paid, and no entry until then.
CREATE UNIQUE INDEX IF NOT EXISTS end_to_end_ids_are_unique ON payments (end_to_end_id)
    WHERE end_to_end_id IS NOT NULL;
ALTER TABLE payments DROP CONSTRAINT one_payment_per_end_to_end_id;
ALTER INDEX end_to_end_ids_are_unique RENAME TO one_payment_per_end_to_end_id;

-- By age, too, but without updated_at, which changes with each version.
CREATE INDEX IF NOT EXISTS payments_to_hollow_out_by_id ON payments (id)
    WHERE hollowed_at IS NULL AND state IN ('succeeded', 'failed');
DROP INDEX payments_to_hollow_out;

-- A payment is twice as long at its end as at its beginning, and an idempotency key eight times as long once it has its
-- answer. A version on the page of the one before it is logged without what both have in common.
ALTER TABLE payments SET (fillfactor = 50);
ALTER TABLE idempotency_keys SET (fillfactor = 15);
ALTER TABLE webhook_receipts SET (fillfactor = 75);

-- Ids of ours begin with the milliseconds since 1970 (RFC 9562, section 5.7).
CREATE FUNCTION first_id_at(moment timestamptz) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT rpad(lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

COMMENT ON FUNCTION first_id_at(timestamptz) IS 'The least id that a record made at this moment can have.';
