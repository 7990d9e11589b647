"""./dev bench-scale: whether a payment costs the same however many there are a second, and however many there were."""

import json
import pathlib
import statistics
import time
from dataclasses import dataclass, field
from functools import partial
from operator import truediv

from . import report
from .figures import Figures
from .payment import PaymentSite
from .processes import Child, OrderTaker, cpu_ns, fail_with_log, family_cpu_ns, say
from .report import bullets, row, table

_document = pathlib.Path("bench/scale.md")
_flat = 1.2


@dataclass(frozen=True)
class ScaleAmounts:
    finished: tuple[int, ...] = (10_000, 1_000_000)
    # A user takes some two seconds for a payment that Belvo decides after one.
    users: tuple[int, ...] = (20, 200)
    most_users: int = 128
    seconds: float = 10
    pending: int = 1_000
    rounds: int = 2

    @staticmethod
    def least() -> "ScaleAmounts":
        return ScaleAmounts((100, 400), (2, 4), 4, 5, 10, 1)


@dataclass
class ScaleSite(PaymentSite):
    """As for a payment's cost, but between the measurements PostgreSQL tidies up, as it does where this is in use: by
    itself it would do so for one measurement in the time of another."""

    def _cluster_options(self) -> dict[str, object]:
        return {"max_wal_size": "8GB", "autovacuum": "off"}


def _name(finished: int) -> str:
    """The database that has so many finished payments."""
    return f"merchant_{finished}"


@dataclass
class Scale:
    site: ScaleSite
    amounts: ScaleAmounts
    figures: Figures = field(default_factory=Figures)
    sizes: dict[int, str] = field(default_factory=dict)
    _last_call: int = 0

    def measure(self) -> None:
        site, amounts = self.site, self.amounts
        site.database.query("CREATE EXTENSION pg_walinspect")
        crowd = self._enrolled(max(*amounts.users, amounts.most_users))
        for finished in amounts.finished:
            self._fill(finished)
            site.database.query(f"CREATE DATABASE {_name(finished)} TEMPLATE merchant", database="postgres")
        # In turn, since the machine's pace changes with its neighbors' work.
        for round in range(amounts.rounds):
            say(f"Round {round + 1} of {amounts.rounds}.")
            for users in (*amounts.users, None):
                for finished in amounts.finished[::-1 if round % 2 else 1]:
                    if users is None:
                        self._pay(finished, "most", crowd, amounts.most_users, "after_ms:0", 100)
                        self._wait(finished, crowd)
                    else:
                        self._pay(finished, f"{users}", crowd, users, "after_ms:1000", 2_000)

    def _part_by_month(self) -> None:
        """Has partitions for the sixty days, as a database has that has been in use for so long."""
        query = self.site.database.query
        for table in ("webhook_receipts", "events"):
            query(f"ALTER TABLE {table} DETACH PARTITION {table}_first")
            for months in (2, 1, 0):
                query("CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE "
                      f"AS 'SELECT now() - interval ''{months} months'''; SELECT make_partitions('{table}')")
            query(f"INSERT INTO {table} SELECT * FROM {table}_first; DROP TABLE {table}_first")
        query("CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE "
              "AS 'SELECT now()'")

    def _enrolled(self, users: int) -> OrderTaker:
        merchant = self.site.start_merchant()
        say(f"Enrolling {users} phones ...")
        crowd = self.site.start_crowd(users, "--references", name="scale")
        self._vary(webhook_copies=0)
        # Patterns for what is filled in.
        crowd.order("begin", "pay", min(users, 20))
        time.sleep(5)
        crowd.order("end")
        self.site.stop(merchant)
        self._part_by_month()
        return crowd

    def _vary(self, **variants: object) -> None:
        self.site.get(
            self.site.sandbox_url + "/sandbox/variants", "--request", "PATCH", "--header",
            "content-type: application/json", "--data", json.dumps(variants))

    def _fill(self, finished: int) -> None:
        """Makes paid payments until there are so many, as like those that were paid here as rows can be: with their
        history, three webhooks and an event each, and the keys of the last three of sixty days. Retention has gone over
        those that are older than thirty days, or else it would do all of that while payments are measured."""
        query = self.site.database.query
        here = int(query("SELECT count(*) FROM payments WHERE state = 'succeeded'"))
        say(f"Filling in {max(0, finished - here)} finished payments ...")
        is_redacted = "moment < app_now() - interval '30 days'"
        own = {
            "id": "(left(replace(first_id_at(moment)::text, '-', ''), 12) || '7' || substr(md5(n || 'i'), 1, 3) || '8'"
                  " || substr(md5(n || 'j'), 1, 15))::uuid",
            "subject": "'before-' || n / 20", "belvo_id": "md5(n || 'b')::uuid",
            "belvo_idempotency_key": "md5(n || 'k')::uuid", "reference": "md5(n || 'r')",
            "consent_id": "'urn:mockbank:' || md5(n || 'c')::uuid",
            "end_to_end_id": "'E43215815' || left(md5(n || 'e'), 23)",
            "external_payment_id": "md5(n || 'x')", "provider_request_id": "md5(n || 'q')",
            "created_at": "moment", "updated_at": "moment + interval '3 seconds'",
            "authorize_sent_at": "moment + interval '1 second'", "closed_at_belvo": "moment + interval '3 seconds'",
            "hollowed_at": f"CASE WHEN {is_redacted} THEN moment + interval '30 days' END",
            **{
                column: f"CASE WHEN {is_redacted} THEN NULL ELSE pattern.{column} END"
                for column in ("fido_options", "failure_message", "failure_message_ciphertext")}}
        columns = query("SELECT string_agg(attname, ',') FROM pg_attribute WHERE attrelid = 'payments'::regclass "
                        "AND attnum > 0 AND NOT attisdropped AND attgenerated = ''").split(",")
        values = ", ".join(own.get(column, f"pattern.{column}") for column in columns)
        # Pages on which payments were made one by one have no room for another. Those filled in would have, and each
        # new payment would cost an image of one.
        query("ALTER TABLE payments SET (fillfactor = 90)")
        for first in range(here, finished, 50_000):
            last = min(first + 50_000, finished) - 1
            query(f"""
                SET session_replication_role = replica;
                CREATE TEMPORARY TABLE filled AS
                SELECT n, app_now() - interval '60 days' * (1 - n::float8 / {finished}) - interval '1 minute' AS moment
                FROM generate_series({first}, {last}) AS n;
                WITH pattern AS (SELECT * FROM payments WHERE state = 'succeeded' ORDER BY id LIMIT 1)
                INSERT INTO payments ({", ".join(columns)}) SELECT {values} FROM filled, pattern;
                INSERT INTO state_history (
                    record_type, record_id, state_before, state_after, caused_by, request_id, detail, changed_at)
                SELECT 'payment', {own["id"]}, state_before, state_after, caused_by, md5(n || 'h')::uuid::text,
                    'reported', moment
                FROM filled, (VALUES (NULL, 'creating', 'app'), ('creating', 'awaiting_signature', 'app'),
                    ('awaiting_signature', 'authorizing', 'app'), ('authorizing', 'succeeded', 'webhook')
                ) AS steps (state_before, state_after, caused_by);
                INSERT INTO webhook_receipts (
                    id, digest, webhook_type, webhook_code, object_id, body_ciphertext, outcome, attempts, received_at,
                    last_received_at, processed_at, stored_on)
                SELECT
                    (left(replace(first_id_at(moment)::text, '-', ''), 12) || left(md5(n || kind), 20))::uuid,
                    decode(md5(n || kind) || md5(kind || n), 'hex'), kind, 'STATUS_UPDATE',
                    CASE kind WHEN 'PAYMENT_INTENTS' THEN md5(n || 'b')::uuid ELSE md5(n || kind || 'o')::uuid END,
                    decode(repeat(md5(n || kind || 'y'), 22), 'hex'), 'done', 1, moment, moment, moment,
                    (moment AT TIME ZONE 'UTC')::date
                FROM filled, unnest(ARRAY['PAYMENT_INTENTS', 'CHARGES', 'TRANSACTIONS']) AS kind;
                INSERT INTO events (
                    id, record_type, record_id, type, body, created_at, attempts, delivered_at, version,
                    next_attempt_at)
                SELECT
                    (left(replace(first_id_at(moment)::text, '-', ''), 12) || '7' || substr(md5(n || 'v'), 1, 3) || '8'
                        || substr(md5(n || 'w'), 1, 15))::uuid,
                    'payment', {own["id"]}, 'payment.succeeded', json_build_object(
                        'type', 'payment.succeeded', 'timestamp', moment, 'data', json_build_object(
                            'id', {own["id"]}, 'belvo_id', {own["belvo_id"]}, 'reference', {own["reference"]},
                            'subject', {own["subject"]}, 'status', 'SUCCEEDED', 'amount', '19.90', 'currency', 'BRL',
                            'end_to_end_id', {own["end_to_end_id"]}, 'failure_code', NULL)),
                    moment, 1, moment + interval '1 second', 3, NULL
                FROM filled;
                INSERT INTO idempotency_keys (
                    subject, route, key, request_digest, record_id, response_status, response_body_ciphertext,
                    claimed_at)
                SELECT 'before-' || n / 20, 'POST /v1/payment-intents', md5(n || 'key'), decode(md5(n || 'd'), 'hex'),
                    {own["id"]}, 201, decode(repeat(md5(n || 'z'), 81), 'hex'), moment
                FROM filled WHERE moment > app_now() - interval '3 days'""")
        query("ALTER TABLE payments SET (fillfactor = 50)")
        query("VACUUM ANALYZE")
        self.sizes[finished] = query("SELECT pg_size_pretty(pg_database_size('merchant'))")

    def _pay(self, finished: int, name: str, crowd: OrderTaker, users: int, decides: str, poll_ms: int) -> None:
        """Payments from first to last, and then openings alone for the time that one takes."""
        site = self.site
        say(f"{users} users pay beside {finished} finished payments ...")
        self._vary(payment_settlement=decides)
        self._put_off(finished)
        merchant = self._start_merchant(finished, POLL_INTERVAL_MS=poll_ms)
        site.database.query("CHECKPOINT")
        crowd.order("begin", "pay", users)
        time.sleep(4)
        place = f"{finished}_{name}"
        done, elapsed, *_ = self._watch(place, merchant, crowd)
        self.figures.take(f"{place}_rate", done * 1e6 / elapsed)
        crowd.order("end")
        if name == "most":
            crowd.order("begin", "create", 8)
            time.sleep(1)
            crowd.order("count")
            time.sleep(self.amounts.seconds / 2)
            opened = [float(word) for word in crowd.order("count")]
            crowd.order("end")
            self.figures.take_all(f"{finished}_create", p50_us=opened[3], p99_us=opened[4])
        site.stop(merchant)

    def _wait(self, finished: int, crowd: OrderTaker) -> None:
        """Payments that wait for Belvo, polled every 2 s by lists."""
        site, count = self.site, self.amounts.pending
        query = partial(site.database.query, database=_name(finished))
        say(f"{count} payments wait beside {finished} finished ones ...")
        self._vary(payment_settlement="when_told")
        merchant = self._start_merchant(finished)
        self._put_off(finished)
        crowd.order("begin", "sign", 8)
        pending = ("SELECT count(*) FROM payments "
                   "WHERE state = 'authorizing' AND next_poll_at < app_now() + interval '1 h'")
        while int(query(pending)) < count:
            time.sleep(0.2)
        crowd.order("end")
        # The server writes to many of them at once, too, and in another order.
        query(f"""
            BEGIN;
            LOCK TABLE payments IN SHARE ROW EXCLUSIVE MODE;
            UPDATE payments SET deadline_at = app_now() + interval '1 day', in_doubt = false,
                next_poll_at = app_now() + random() * interval '2 seconds'
                    + CASE WHEN place > {count} THEN interval '1 day' ELSE interval '0' END
            FROM (SELECT id AS placed, row_number() OVER (ORDER BY id) AS place FROM payments
                WHERE state = 'authorizing' AND next_poll_at < app_now() + interval '1 h') AS places
            WHERE id = placed;
            COMMIT""")
        time.sleep(4)
        query("CHECKPOINT")
        self._watch(f"{finished}_wait", merchant, None)
        site.stop(merchant)

    def _start_merchant(self, finished: int, **settings: object) -> Child:
        return self.site.start_merchant(DATABASE_URL=self.site.database.url(_name(finished)), **settings)

    def _put_off(self, finished: int) -> None:
        """Nothing that was left before is polled any more, nor tidied up in a measurement of something else."""
        query = partial(self.site.database.query, database=_name(finished))
        query("UPDATE payments SET next_poll_at = app_now() + interval '1 day' WHERE next_poll_at IS NOT NULL")
        query("VACUUM")

    def _watch(self, place: str, merchant: Child, crowd: OrderTaker | None) -> list[float]:
        """What is used in a while, for each payment that is paid, or for each one that waits and second."""
        site, seconds = self.site, self.amounts.seconds
        if crowd:
            crowd.order("count")
        calls, first = self._calls(), self._wal()
        here, there = cpu_ns(merchant.pid), family_cpu_ns(site.database.child.pid)
        begin = time.monotonic()
        time.sleep(seconds)
        result = [float(word) for word in crowd.order("count")] if crowd else []
        elapsed = time.monotonic() - begin
        here = cpu_ns(merchant.pid) - here
        there = family_cpu_ns(site.database.child.pid) - there
        last, calls = self._wal(), self._calls() - calls
        # Where nothing was written there is nothing to read either.
        records, images = "0", "0"
        if first != last:
            records, images = site.database.query(f"""
                SELECT coalesce(sum(record_length - fpi_length), 0), coalesce(sum(fpi_length), 0)
                FROM pg_get_wal_records_info('{first}', '{last}')""").split("|")
        if crowd and (result[1] or not result[0]):
            raise fail_with_log(f"{result[1]:.0f} payments failed", crowd.child.log)
        each = result[0] if crowd else elapsed * self.amounts.pending
        self.figures.take_all(
            place, merchant_us=here / 1000 / each, postgres_us=there / 1000 / each, wal_bytes=int(records) / each,
            image_bytes=int(images) / each, calls=calls / (each if crowd else elapsed))
        return [result[0], result[2]] if crowd else []

    def _wal(self) -> str:
        return self.site.database.query("SELECT pg_current_wal_flush_lsn()")

    def _calls(self) -> int:
        """The number of the last call. Asked for from the one before: all at once would be too long an answer."""
        answer = json.loads(self.site.get(f"{self.site.sandbox_url}/sandbox/calls?after={self._last_call}"))
        if answer["results"]:
            self._last_call = answer["results"][-1]["number"]
        return self._last_call

    def report(self) -> str:
        figures, amounts = self.figures, self.amounts
        least, greatest = amounts.finished[0], amounts.finished[-1]
        kinds = {"merchant_us": 0, "postgres_us": 0, "wal_bytes": 0, "calls": 2}
        places = [*map(str, amounts.users), "most"]
        rows = [
            row(f"{finished:,}", figures.median(f"{finished}_{place}_rate", digits=1),
                *(figures.median(f"{finished}_{place}_{kind}", digits=digits) for kind, digits in kinds.items()),
                figures.median(f"{finished}_{place}_image_bytes"))
            for finished in amounts.finished for place in places]
        waits = [
            row(f"{finished:,}", figures.median(f"{finished}_wait_calls", digits=1),
                figures.median(f"{finished}_wait_merchant_us", digits=1),
                figures.median(f"{finished}_wait_postgres_us", digits=1), figures.median(f"{finished}_wait_wal_bytes"),
                figures.median(f"{finished}_wait_image_bytes")) for finished in amounts.finished]
        creates = [
            row(f"{finished:,}", figures.median(f"{finished}_create_p50_us", 0.001, 1),
                figures.median(f"{finished}_create_p99_us", 0.001, 1)) for finished in amounts.finished]

        def compared(what: str, more: str, less: str) -> str:
            values = [
                statistics.median(map(truediv, figures.values[f"{more}_{kind}"], figures.values[f"{less}_{kind}"]))
                for kind in kinds]
            steep = [kind for kind, value in zip(kinds, values) if value > _flat]
            return row(what, *(f"{value:.2f}" for value in values), "**no**" if steep else "yes")

        flat = [compared(f"{greatest:,} finished beside {least:,}, {place} users" if place != "most"
                         else f"{greatest:,} finished beside {least:,}, as many a second as it bears",
                         f"{greatest}_{place}", f"{least}_{place}") for place in places]
        flat += [compared(f"{places[1]} users beside {places[0]}, {finished:,} finished",
                          f"{finished}_{places[1]}", f"{finished}_{places[0]}") for finished in amounts.finished]
        paid = table(
            "finished payments | paid a second | µs here | µs in PostgreSQL | log bytes | calls to Belvo | images",
            rows)
        compared_rows = table("what beside what | µs here | µs in PostgreSQL | log bytes | calls | flat", flat)
        waiting = table(
            "finished payments | calls a second in all | µs here | µs in PostgreSQL | log bytes | images, bytes", waits)
        sizes = " and ".join(f"{size} with {finished:,}" for finished, size in self.sizes.items())
        return report.reflow(f"""# What a payment costs as the work grows

Written by `./dev bench-scale`. Payments are paid from first to last, without webhooks, while finished ones fill the
tables: each with four lines of history, three webhooks and an event for the shop, spread over sixty days, and with the
idempotency keys of the last three. They are filled in by SQL in the form of a payment that was paid; the database then
takes {sizes}. Ten million need some 60 GB and hours to fill in, and are not measured.

{bullets([*report.origin(self.site), f"on {report.processor()}, {report.kernel()}, {report.memory()}",
          report.versions(self.site), report.database(self.site)])}

Everything shares the two cores, the phones, the bank and Belvo's stand-in with it. Each line is the median of
{amounts.rounds} rounds of {amounts.seconds:.0f} s, in which the databases take turns; what is paid in one round is
there in the next, and tidied up between them. Each begins right after a checkpoint, so that images of whole pages are
as many as they can be: they are told apart, in bytes, since they are written once for each page and checkpoint, and not
once for each payment. The rate of few users is set by their number, since Belvo decides after 1 s and is polled every
2 s; the last rate of each size is that of {amounts.most_users} users whose payments Belvo decides at once and who are
polled every 100 ms.

{paid}

## Flat

A figure as a multiple of the same one with less work, in the same round, and of the rounds the median; flat is at most
{_flat}. A server that has little to do asks
every second all the same what is due, and each such question is shared by fewer payments.

{compared_rows}

## While payments wait

{amounts.pending} payments that Belvo has not decided, polled every 2 s by lists; for each of them and second.

{waiting}

## Opening a payment

Eight users who open payments and do nothing else.

{table("finished payments | p50 ms | p99 ms", creates)}""") + "\n"


def run(site: ScaleSite, amounts: ScaleAmounts, keep: bool) -> str:
    """Measures everything, and writes the document anew."""
    scale = Scale(site, amounts)
    scale.measure()
    text = scale.report()
    if keep:
        report.write(_document, text)
    return text
