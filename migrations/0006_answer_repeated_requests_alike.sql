-- A phone that lost its answer asks again with the same Idempotency-Key. The key is claimed in the statement that
-- remembers the payment, and the answer is stored in the statement that records the outcome.
CREATE TABLE idempotency_keys (
    subject         text        NOT NULL,
    route           text        NOT NULL,
    key             text        NOT NULL,
    request_digest  bytea       NOT NULL,
    record_id       uuid        NOT NULL,
    response_status integer,
    response_body   bytea,
    outcome_unknown boolean     NOT NULL DEFAULT false,
    claimed_at      timestamptz NOT NULL DEFAULT app_now(),
    CONSTRAINT idempotency_keys_are_scoped PRIMARY KEY (subject, route, key),
    CONSTRAINT key_has_1_to_255_characters CHECK (char_length(key) BETWEEN 1 AND 255),
    CONSTRAINT answers_are_whole CHECK ((response_status IS NULL) = (response_body IS NULL))
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (claimed_at);

COMMENT ON TABLE  idempotency_keys IS 'Idempotency-Keys of apps and the answers they got, for 72 hours.';
COMMENT ON COLUMN idempotency_keys.subject IS 'Whose key it is.';
COMMENT ON COLUMN idempotency_keys.route IS 'The route that it was used on.';
COMMENT ON COLUMN idempotency_keys.key IS 'The key, as the app sent it.';
COMMENT ON COLUMN idempotency_keys.request_digest IS
    'Keyed digest of the body after parsing: another body under the same key is refused.';
COMMENT ON COLUMN idempotency_keys.record_id IS 'What the request made.';
COMMENT ON COLUMN idempotency_keys.response_status IS
    'The status that was answered; null while the outcome is not known.';
COMMENT ON COLUMN idempotency_keys.outcome_unknown IS
    'Whether the app was told 202: the request with this key is no longer being worked on.';
COMMENT ON COLUMN idempotency_keys.response_body IS 'The body that was answered, byte for byte.';
