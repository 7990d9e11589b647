-- Each change of a record's state leaves a line here in the same statement, so that operators can read what
-- happened to a customer, an enrollment or a payment, in which order, and who caused it.
CREATE TABLE state_history (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    record_type  text        NOT NULL,
    record_id    uuid        NOT NULL,
    state_before text,
    state_after  text        NOT NULL,
    caused_by    text        NOT NULL,
    request_id   text,
    detail       text,
    changed_at   timestamptz NOT NULL DEFAULT app_now(),
    CONSTRAINT history_is_of_a_known_kind CHECK (record_type IN ('customer', 'enrollment', 'payment')),
    CONSTRAINT history_names_who_caused_it
        CHECK (caused_by IN ('app', 'callback', 'webhook', 'poller', 'operator')),
    CONSTRAINT history_tells_of_changes_only CHECK (state_before IS DISTINCT FROM state_after)
);

CREATE INDEX history_of_a_record ON state_history (record_id, id);

-- Append-only: a line that could be changed would prove nothing. What the law wants deleted after its time is
-- deleted by a session that says so.
CREATE FUNCTION refuse_to_change_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('merchant.retention', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'state_history is append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER history_is_append_only
    BEFORE UPDATE OR DELETE ON state_history
    FOR EACH ROW EXECUTE FUNCTION refuse_to_change_history();

COMMENT ON TABLE  state_history IS 'What happened to a record: one line for each change of its state. Append-only.';
COMMENT ON COLUMN state_history.record_type IS 'customer, enrollment or payment: the table that record_id is in.';
COMMENT ON COLUMN state_history.record_id IS 'The id of the record, ours.';
COMMENT ON COLUMN state_history.state_before IS 'The state before the change; null for the first one.';
COMMENT ON COLUMN state_history.state_after IS 'The state after the change.';
COMMENT ON COLUMN state_history.caused_by IS 'app, callback, webhook, poller or operator.';
COMMENT ON COLUMN state_history.request_id IS 'The X-Request-Id of the request in which it happened, if it was one.';
COMMENT ON COLUMN state_history.detail IS 'What led to it: the event of the state machine, and a code for a failure.';
COMMENT ON COLUMN state_history.changed_at IS 'When, by the database''s clock.';
