-- Events that the shop was never told wait here for somebody to requeue them. How many there are is asked with every
-- scrape of the metrics, and must not cost more for every event that was ever delivered.
CREATE INDEX events_parked ON events (parked_at) WHERE parked_at IS NOT NULL;
