-- Operators look here. Each view answers the question in its comment; none of them shows a ciphertext or a digest, and
-- the role merchant_readonly may read nothing else.
CREATE SCHEMA ops;

COMMENT ON SCHEMA ops IS 'What operators look at: each view answers the question in its comment.';

CREATE VIEW ops.payments_open AS
    SELECT id, belvo_id, subject, reference, state, in_doubt, (amount_centavos / 100.0)::numeric(18, 2) AS amount,
        app_now() - created_at AS age, app_now() - updated_at AS in_this_state_for,
        next_poll_at - app_now() AS next_look_in,
        deadline_at - app_now() AS deadline_in, leased_until > app_now() AS is_being_looked_at, provider_status
    FROM payments WHERE status = 'PENDING' ORDER BY created_at;
COMMENT ON VIEW ops.payments_open IS
    'Which payments are not at their end, how old are they, and when are they looked at next?';

CREATE VIEW ops.enrollments_open AS
    SELECT id, belvo_id, subject, state, institution_name, platform,
        app_now() - created_at AS age, app_now() - updated_at AS in_this_state_for,
        next_poll_at - app_now() AS next_look_in,
        deadline_at - app_now() AS deadline_in, leased_until > app_now() AS is_being_looked_at, provider_status,
        provider_details_status
    FROM enrollments WHERE status = 'PENDING' ORDER BY created_at;
COMMENT ON VIEW ops.enrollments_open IS
    'Which enrollments are not at their end, how old are they, and when are they looked at next?';

CREATE VIEW ops.in_doubt AS
    SELECT id, belvo_id, subject, reference, (amount_centavos / 100.0)::numeric(18, 2) AS amount,
        provider_status, end_to_end_id,
        app_now() - updated_at AS in_doubt_for, next_poll_at - app_now() AS next_look_in
    FROM payments WHERE in_doubt ORDER BY updated_at;
COMMENT ON VIEW ops.in_doubt IS
    'Which payments were authorized and are past their deadline without a word from Belvo on how they ended?';

CREATE VIEW ops.orphans AS
    SELECT 'customer' AS record_type, id, state, updated_at FROM customers
    WHERE state = 'creating' AND next_poll_at IS NULL
    UNION ALL
    SELECT 'enrollment', id, state, updated_at FROM enrollments WHERE status = 'PENDING' AND next_poll_at IS NULL
    UNION ALL
    SELECT 'payment', id, state, updated_at FROM payments WHERE status = 'PENDING' AND next_poll_at IS NULL
    UNION ALL
    SELECT 'redirect', id, outcome, received_at FROM redirect_receipts
    WHERE outcome IN ('received', 'sent') AND next_poll_at IS NULL
    UNION ALL
    SELECT 'webhook', id, outcome, received_at FROM webhook_receipts
    WHERE outcome = 'received' AND next_poll_at IS NULL
    UNION ALL
    SELECT 'event', id, type, created_at FROM events
    WHERE delivered_at IS NULL AND parked_at IS NULL AND next_attempt_at IS NULL;
COMMENT ON VIEW ops.orphans IS 'Which records are neither at their end nor due for a look? There must be none.';

CREATE VIEW ops.overdue AS
    SELECT 'customer' AS record_type, id, state, app_now() - next_poll_at AS late_by FROM customers
    WHERE next_poll_at < app_now() - interval '1 minute'
    UNION ALL
    SELECT 'enrollment', id, state, app_now() - next_poll_at FROM enrollments
    WHERE next_poll_at < app_now() - interval '1 minute'
    UNION ALL
    SELECT 'payment', id, state, app_now() - next_poll_at FROM payments
    WHERE next_poll_at < app_now() - interval '1 minute'
    UNION ALL
    SELECT 'redirect', id, outcome, app_now() - next_poll_at FROM redirect_receipts
    WHERE next_poll_at < app_now() - interval '1 minute'
    UNION ALL
    SELECT 'webhook', id, outcome, app_now() - next_poll_at FROM webhook_receipts
    WHERE next_poll_at < app_now() - interval '1 minute'
    UNION ALL
    SELECT 'event', id, type, app_now() - next_attempt_at FROM events
    WHERE next_attempt_at < app_now() - interval '1 minute';
COMMENT ON VIEW ops.overdue IS
    'What should have been looked at more than a minute ago? Rows here mean that no server is at work, or too few.';

CREATE VIEW ops.double_paid AS
    SELECT subject, reference, count(*) AS payments, (sum(amount_centavos) / 100.0)::numeric(18, 2) AS amount,
        array_agg(id ORDER BY id) AS payment_ids, array_agg(end_to_end_id ORDER BY id) AS end_to_end_ids
    FROM payments WHERE state = 'succeeded' AND reference IS NOT NULL
    GROUP BY subject, reference HAVING count(*) > 1;
COMMENT ON VIEW ops.double_paid IS 'Which references were paid more than once? There must be none.';

CREATE VIEW ops.late_corrections AS
    SELECT changed_at, record_type, record_id, state_before, state_after, caused_by, request_id, detail
    FROM state_history
    WHERE state_before IN ('failed', 'succeeded') ORDER BY changed_at DESC;
COMMENT ON VIEW ops.late_corrections IS
    'Which records changed after their end: given up here and settled by Belvo, revoked, revived by a redirect?';

CREATE VIEW ops.webhooks_unprocessed AS
    SELECT id, webhook_type, webhook_code, object_id, received_count, attempts, app_now() - received_at AS age,
        next_poll_at - app_now() AS next_look_in
    FROM webhook_receipts WHERE outcome = 'received' ORDER BY received_at;
COMMENT ON VIEW ops.webhooks_unprocessed IS 'Which of Belvo''s webhooks have not been worked on?';

CREATE VIEW ops.redirects_unsettled AS
    SELECT id, enrollment_id, outcome, is_error, app_now() - received_at AS age,
        next_poll_at - app_now() AS next_look_in
    FROM redirect_receipts WHERE outcome IN ('received', 'sent') ORDER BY received_at;
COMMENT ON VIEW ops.redirects_unsettled IS 'Which redirects of banks has Belvo not taken yet?';

CREATE VIEW ops.events_undelivered AS
    SELECT id, type, record_type, record_id, attempts, last_problem, app_now() - created_at AS age,
        next_attempt_at - app_now() AS next_attempt_in, parked_at
    FROM events WHERE delivered_at IS NULL ORDER BY created_at;
COMMENT ON VIEW ops.events_undelivered IS
    'What has the shop not been told, and why? Parked ones are not tried again by themselves.';

CREATE VIEW ops.orders AS
    SELECT orders.reference, orders.subject, (orders.amount_centavos / 100.0)::numeric(18, 2) AS amount,
        CASE
            WHEN payment.state = 'succeeded' THEN 'paid'
            WHEN payment.in_doubt THEN 'in_doubt'
            WHEN payment.id IS NOT NULL THEN 'live'
            WHEN orders.expires_at <= app_now() THEN 'expired'
            ELSE 'open'
        END AS status,
        payment.id AS payment_id, orders.expires_at, orders.created_at, orders.updated_at
    FROM orders LEFT JOIN LATERAL (
        SELECT id, state, in_doubt FROM payments
        WHERE payments.subject = orders.subject AND payments.reference = orders.reference
            AND (state = 'succeeded' OR holds_reference)
        ORDER BY state = 'succeeded' DESC, id
        LIMIT 1
    ) AS payment ON true;
COMMENT ON VIEW ops.orders IS 'How far is each order, and which payment decides it?';

CREATE VIEW ops.totals_per_day AS
    SELECT date_trunc('day', created_at AT TIME ZONE 'UTC')::date AS day, status, in_doubt, count(*) AS payments,
        (sum(amount_centavos) / 100.0)::numeric(18, 2) AS amount
    FROM payments GROUP BY 1, 2, 3 ORDER BY 1 DESC, 2, 3;
COMMENT ON VIEW ops.totals_per_day IS 'How many payments began on each day (UTC), how did they end, and for how much?';

CREATE VIEW ops.failures_per_day AS
    SELECT date_trunc('day', created_at AT TIME ZONE 'UTC')::date AS day, 'payment' AS record_type, failure_code,
        failure_authority, count(*) AS records
    FROM payments WHERE state = 'failed' GROUP BY 1, 3, 4
    UNION ALL
    SELECT date_trunc('day', created_at AT TIME ZONE 'UTC')::date, 'enrollment', failure_code, failure_authority,
        count(*)
    FROM enrollments WHERE state = 'failed' GROUP BY 1, 3, 4
    ORDER BY 1 DESC, 2, 5 DESC;
COMMENT ON VIEW ops.failures_per_day IS 'Why did payments and enrollments fail on each day (UTC), and who said so?';

CREATE VIEW ops.history AS
    SELECT changed_at, record_type, record_id, state_before, state_after, caused_by, request_id, detail
    FROM state_history ORDER BY id DESC;
COMMENT ON VIEW ops.history IS 'What happened, newest first? Narrow it with WHERE record_id = ….';

CREATE VIEW ops.workload AS
    SELECT 'payments' AS what, count(*) FILTER (WHERE status = 'PENDING') AS pending,
        count(*) FILTER (WHERE in_doubt) AS in_doubt,
        app_now() - min(created_at) FILTER (WHERE status = 'PENDING') AS oldest_pending,
        max(app_now() - next_poll_at) AS most_overdue
    FROM payments WHERE next_poll_at IS NOT NULL
    UNION ALL
    SELECT 'enrollments', count(*) FILTER (WHERE status = 'PENDING'), NULL,
        app_now() - min(created_at) FILTER (WHERE status = 'PENDING'), max(app_now() - next_poll_at)
    FROM enrollments WHERE next_poll_at IS NOT NULL
    UNION ALL
    SELECT 'customers', count(*), NULL, app_now() - min(created_at), max(app_now() - next_poll_at)
    FROM customers WHERE next_poll_at IS NOT NULL
    UNION ALL
    SELECT 'redirects', count(*), NULL, app_now() - min(received_at), max(app_now() - next_poll_at)
    FROM redirect_receipts WHERE next_poll_at IS NOT NULL
    UNION ALL
    SELECT 'webhooks', count(*), NULL, app_now() - min(received_at), max(app_now() - next_poll_at)
    FROM webhook_receipts WHERE next_poll_at IS NOT NULL
    UNION ALL
    SELECT 'events', count(*), NULL, app_now() - min(created_at), max(app_now() - next_attempt_at)
    FROM events WHERE next_attempt_at IS NOT NULL;
COMMENT ON VIEW ops.workload IS
    'How much is pending of each kind, how old is the oldest, and how late is the next look?';

-- What `merchant reconcile` found: where Belvo and we differ.
CREATE TABLE reconciliation_differences (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    day         date        NOT NULL,
    kind        text        NOT NULL,
    payment_id  uuid,
    belvo_id    uuid,
    ours        text,
    theirs      text,
    found_at    timestamptz NOT NULL DEFAULT app_now(),
    gone_at     timestamptz
);

CREATE INDEX differences_of_a_day ON reconciliation_differences (day);

COMMENT ON TABLE  reconciliation_differences IS 'Where Belvo''s intents and charges differ from our payments.';
COMMENT ON COLUMN reconciliation_differences.day IS 'The day (UTC) that was compared.';
COMMENT ON COLUMN reconciliation_differences.kind IS
    'unknown_here, unknown_at_belvo, status, amount, external_id, end_to_end_id, charge_status, charge_amount, '
    'charged_twice or double_paid.';
COMMENT ON COLUMN reconciliation_differences.payment_id IS 'Our payment, if there is one.';
COMMENT ON COLUMN reconciliation_differences.belvo_id IS 'Belvo''s payment intent, if there is one.';
COMMENT ON COLUMN reconciliation_differences.ours IS 'What we have.';
COMMENT ON COLUMN reconciliation_differences.theirs IS 'What Belvo has.';
COMMENT ON COLUMN reconciliation_differences.found_at IS 'When it was found first.';
COMMENT ON COLUMN reconciliation_differences.gone_at IS 'When a later run did not find it any more.';

CREATE VIEW ops.reconciliation_differences AS
    SELECT day, kind, payment_id, belvo_id, ours, theirs, found_at
    FROM reconciliation_differences WHERE gone_at IS NULL ORDER BY day DESC, id;
COMMENT ON VIEW ops.reconciliation_differences IS 'Where do Belvo and we differ, as merchant reconcile found it last?';

-- A column means the same in every view.
DO $$
DECLARE
    shown record;
BEGIN
    FOR shown IN
        SELECT relname, attname, meaning
        FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
        JOIN (VALUES
            ('id', 'Ours; merchant inspect takes it.'),
            ('belvo_id', 'Belvo''s id of it.'),
            ('subject', 'The user''s id, as the shop''s tokens have it.'),
            ('reference', 'The shop''s name for what is paid.'),
            ('state', 'How far it is, in this program''s words.'),
            ('status', 'The contract''s word; of an order open, live, in_doubt, paid or expired.'),
            ('in_doubt', 'Whether it was authorized and is past its deadline without a word from Belvo.'),
            ('amount', 'In reais; where rows are counted, of all of them.'),
            ('age', 'Since it was created or received.'),
            ('in_this_state_for', 'Since its state or what Belvo says changed.'),
            ('in_doubt_for', 'Since nobody knows how it ended.'),
            ('next_look_in', 'Until a server looks at it by itself; negative when that is overdue.'),
            ('next_attempt_in', 'Until it is sent again; empty when it will not be.'),
            ('deadline_in', 'Until this state has lasted too long; negative when it has.'),
            ('is_being_looked_at', 'Whether a server has it in hand.'),
            ('provider_status', 'Belvo''s word for its status.'),
            ('provider_details_status', 'Belvo''s word for the step that an enrollment is at.'),
            ('institution_name', 'The bank.'),
            ('platform', 'IOS, ANDROID or BROWSER.'),
            ('end_to_end_id', 'The Central Bank''s id of the transfer: what a bank asks for.'),
            ('record_type', 'The kind of record.'),
            ('record_id', 'The record''s id, ours.'),
            ('late_by', 'For how long the look has been due.'),
            ('payments', 'How many payments.'),
            ('payment_ids', 'Their ids, ours, oldest first.'),
            ('end_to_end_ids', 'The transfers'' ids, in the order of payment_ids.'),
            ('changed_at', 'When it happened.'),
            ('state_before', 'The state before; empty for a record''s first line.'),
            ('state_after', 'The state after.'),
            ('caused_by', 'app, callback, webhook, poller or operator.'),
            ('request_id', 'The request in which it happened, as the logs have it.'),
            ('detail', 'What led to it, and a failure''s code.'),
            ('webhook_type', 'The kind of object that Belvo told of.'),
            ('webhook_code', 'What Belvo says happened to it.'),
            ('object_id', 'Belvo''s id of the object.'),
            ('received_count', 'How often the same was told.'),
            ('attempts', 'How often it was tried.'),
            ('enrollment_id', 'The enrollment that it belongs to, ours.'),
            ('outcome', 'What became of it so far.'),
            ('is_error', 'Whether the bank sent an error in place of a code.'),
            ('type', 'The event''s type.'),
            ('last_problem', 'Why the last attempt did not count.'),
            ('parked_at', 'Since when it is not tried any more; merchant requeue sends it again.'),
            ('payment_id', 'The payment that decides it, ours.'),
            ('expires_at', 'Until when it may be paid.'),
            ('created_at', 'When it was made.'),
            ('updated_at', 'When it was changed last.'),
            ('day', 'The day in UTC.'),
            ('failure_code', 'Why it failed.'),
            ('failure_authority', 'Who says so: belvo, or merchant when we gave up.'),
            ('records', 'How many records.'),
            ('what', 'The kind of record.'),
            ('pending', 'How many are not at their end.'),
            ('oldest_pending', 'Age of the oldest of them.'),
            ('most_overdue', 'For how long the most overdue look is due; negative when none is.'),
            ('kind', 'What differs; reconciliation_differences.kind lists the words.'),
            ('ours', 'What we have.'),
            ('theirs', 'What Belvo has.'),
            ('found_at', 'When it was found first.')
        ) AS meanings (column_name, meaning) ON column_name = attname
        WHERE relnamespace = 'ops'::regnamespace AND relkind = 'v'
    LOOP
        EXECUTE format('COMMENT ON COLUMN ops.%I.%I IS %L', shown.relname, shown.attname, shown.meaning);
    END LOOP;
END
$$;

COMMENT ON COLUMN ops.workload.in_doubt IS 'How many payments are in doubt.';

-- Columns that earlier migrations left to their names.
COMMENT ON COLUMN customers.created_at IS 'When the user became one.';
COMMENT ON COLUMN customers.updated_at IS 'When the row''s state or person changed last.';
COMMENT ON COLUMN enrollments.callback_url IS 'Where the bank sends the user back to.';
COMMENT ON COLUMN enrollments.created_at IS 'When it was begun.';
COMMENT ON COLUMN enrollments.customer_id IS 'The customer whose device it is.';
COMMENT ON COLUMN enrollments.failure_message IS 'Belvo''s words on why it failed; never shown to users.';
COMMENT ON COLUMN enrollments.institution_icon IS 'Address of the bank''s logo.';
COMMENT ON COLUMN enrollments.institution_id IS 'The bank, by Belvo''s id.';
COMMENT ON COLUMN enrollments.institution_name IS 'The bank, as users know it.';
COMMENT ON COLUMN enrollments.name IS 'What the user calls the device.';
COMMENT ON COLUMN enrollments.platform IS 'IOS, ANDROID or BROWSER.';
COMMENT ON COLUMN enrollments.updated_at IS 'When its state or what Belvo says changed last.';
COMMENT ON COLUMN idempotency_keys.claimed_at IS 'When the first request with the key came; keys go some days later.';
COMMENT ON COLUMN payments.consent_id IS 'The bank''s consent, as Belvo names it.';
COMMENT ON COLUMN payments.created_at IS 'When it was begun.';
COMMENT ON COLUMN payments.description IS 'What the user reads while paying.';
COMMENT ON COLUMN payments.enrollment_id IS 'The enrollment that pays.';
COMMENT ON COLUMN payments.external_payment_id IS 'The payment''s id at Belvos provider.';
COMMENT ON COLUMN payments.failure_message IS 'Belvo''s words on why it failed; never shown to users.';
COMMENT ON COLUMN payments.metadata IS 'What the app or the shop added, passed on to Belvo.';
COMMENT ON COLUMN payments.provider IS 'Who carries payments out for Belvo.';
COMMENT ON COLUMN payments.provider_request_id IS 'The provider''s id of the request, for inquiries.';
COMMENT ON COLUMN payments.statement_description IS 'What the user reads on the bank''s statement.';
COMMENT ON COLUMN payments.updated_at IS 'When its state or what Belvo says changed last.';
COMMENT ON COLUMN reconciliation_differences.id IS 'In the order of finding.';
COMMENT ON COLUMN redirect_receipts.id IS 'Ours; the ciphertext is bound to it.';
COMMENT ON COLUMN redirect_receipts.leased_until IS 'Until when a server has it in hand.';
COMMENT ON COLUMN redirect_receipts.received_at IS 'When the bank''s redirect arrived.';
COMMENT ON COLUMN redirect_receipts.version IS 'Grows with every change and lease.';
COMMENT ON COLUMN state_history.id IS 'In the order of happening.';
COMMENT ON COLUMN webhook_receipts.id IS 'Ours; the ciphertext is bound to it.';

-- The role is of the whole cluster, and making one takes a right that the migrating user may not have: then somebody
-- who has it says CREATE ROLE merchant_readonly NOLOGIN and grants the same.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'merchant_readonly') THEN
        BEGIN
            CREATE ROLE merchant_readonly NOLOGIN;
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL;
            WHEN insufficient_privilege THEN
                RAISE WARNING 'the role merchant_readonly could not be made; see docs/operations.md';
        END;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'merchant_readonly') THEN
        GRANT USAGE ON SCHEMA ops TO merchant_readonly;
        GRANT SELECT ON ALL TABLES IN SCHEMA ops TO merchant_readonly;
    END IF;
END
$$;
