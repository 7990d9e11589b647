-- The index by which a webhook is known again once webhooks are in partitions. None is stored while it is built; the
-- first lines of 0038 say how to build it beforehand. It is a step of its own, since the next one may have to be tried
-- again and again until it gets its lock.
CREATE UNIQUE INDEX IF NOT EXISTS webhook_receipts_by_digest ON webhook_receipts (digest, stored_on);
