-- The history is kept in partitions by year: the books ask for years of it, and a year that they ask for no longer goes
-- at once (docs/operations.md).
SELECT keep_in_partitions('state_history', 'changed_at');

COMMENT ON TABLE state_history IS
    'What happened to a record: one line for each change of its state. Append-only. Partitioned by year.';

DROP FUNCTION keep_in_partitions(text, text);
