-- Events are kept in partitions by month, as webhooks are since the step before.
SELECT keep_in_partitions('events', 'created_at');

COMMENT ON TABLE events IS
    'What the shop is told (SHOP_WEBHOOK_URL), from the change of state to the delivery. Partitioned by month.';
