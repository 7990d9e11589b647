-- A user may give up a payment while nobody knows yet whether Belvo has it. The wish is kept until that is known, and
-- the payment ends then; a restart must not forget it, or the payment could still be signed.
ALTER TABLE payments ADD COLUMN cancel_requested boolean NOT NULL DEFAULT false;

ALTER TABLE payments ADD CONSTRAINT canceled_payments_are_never_authorized
    CHECK (NOT (cancel_requested AND state = 'authorizing'));

COMMENT ON COLUMN payments.cancel_requested IS
    'The user has given it up: FAILED canceled as soon as its creation is known or known to be lost, and never '
    'authorized from here.';
COMMENT ON COLUMN payments.failure_code IS
    'Why it failed: Belvo''s failure_code, or timed_out, canceled, creation_lost, …';

-- Enrollments have keys as well.
COMMENT ON COLUMN idempotency_keys.route IS 'The route that it was used on: a scope of its own.';
COMMENT ON COLUMN idempotency_keys.request_digest IS
    'Keyed digest of the body after parsing, risk signals included: another body under the same key is refused. The '
    'signals themselves are not kept.';
COMMENT ON COLUMN idempotency_keys.record_id IS 'The payment or enrollment that the request made.';
