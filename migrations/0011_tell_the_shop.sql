-- What the shop is told. An event is written in the statement that changes the record, so none is forgotten and none
-- is told of a change that did not happen. It leaves at least once, and in order for each record.
CREATE TABLE events (
    id              uuid        PRIMARY KEY,
    sequence        bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    record_type     text        NOT NULL,
    record_id       uuid        NOT NULL,
    type            text        NOT NULL,
    body            json        NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT app_now(),
    attempts        integer     NOT NULL DEFAULT 0,
    last_problem    text,
    delivered_at    timestamptz,
    parked_at       timestamptz,
    version         bigint      NOT NULL DEFAULT 1,
    next_attempt_at timestamptz DEFAULT app_now(),
    leased_until    timestamptz,
    CONSTRAINT event_is_of_a_known_kind CHECK (record_type IN ('enrollment', 'payment')),
    CONSTRAINT no_orphaned_event
        CHECK ((delivered_at IS NULL AND parked_at IS NULL) = (next_attempt_at IS NOT NULL)),
    CONSTRAINT events_end_one_way CHECK (delivered_at IS NULL OR parked_at IS NULL)
);

CREATE INDEX events_due ON events (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX events_waiting_of_a_record ON events (record_id, sequence) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX events_of_a_record ON events (record_id, sequence);
CREATE INDEX events_by_age ON events (created_at);

COMMENT ON TABLE  events IS 'What the shop is told (SHOP_WEBHOOK_URL), from the change of state to the delivery.';
COMMENT ON COLUMN events.id IS 'The webhook-id: the same for every attempt, so that the shop knows a repetition.';
COMMENT ON COLUMN events.sequence IS 'The order in which the events of one record leave.';
COMMENT ON COLUMN events.record_type IS 'enrollment or payment: the table that record_id is in.';
COMMENT ON COLUMN events.record_id IS 'The id of the record, ours.';
COMMENT ON COLUMN events.type IS
    'payment.succeeded, payment.failed, payment.in_doubt, enrollment.succeeded or enrollment.failed.';
COMMENT ON COLUMN events.body IS 'What is sent, byte for byte.';
COMMENT ON COLUMN events.created_at IS 'When the change happened.';
COMMENT ON COLUMN events.attempts IS 'How often it was sent.';
COMMENT ON COLUMN events.last_problem IS 'Why the last attempt did not count: a status, or what happened to it.';
COMMENT ON COLUMN events.delivered_at IS 'When the shop answered 2xx.';
COMMENT ON COLUMN events.parked_at IS 'When it was given up, after three days. merchant requeue sends it again.';
COMMENT ON COLUMN events.version IS
    'Grows with every change and every lease; a late write finds another version and loses.';
COMMENT ON COLUMN events.next_attempt_at IS 'When it is sent next; null once delivered or parked.';
COMMENT ON COLUMN events.leased_until IS 'Until when one server instance is sending it.';
