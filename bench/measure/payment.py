"""./dev bench-payment: what one paid payment costs, counted from outside."""

import json
import pathlib
import re
import time
from collections import Counter
from dataclasses import dataclass, field

from . import crowded, report
from .processes import Child, Failure, OrderTaker, say
from .report import bullets, row, table
from .site import Site

_document = pathlib.Path("bench/payment.md")
_plans_document = pathlib.Path("bench/payment-plans.md")
_users = 8
_most_calls = {"on": 3.3, "off": 4.0}
_most_commits = {"on": 8.5, "off": 6.0}
_most_wal_bytes = {"on": 9_000, "off": 6_000}
_most_statements = 3


@dataclass
class PaymentSite(Site):
    """A Belvo that decides after a second and tells of it, and a PostgreSQL that counts statements."""

    settle_after_ms: int = 1_000

    def _cluster_options(self) -> dict[str, object]:
        return {"shared_preload_libraries": "pg_stat_statements,auto_explain", "autovacuum": "off"}

    def _write_settings(self) -> None:
        super()._write_settings()
        # A bound that no user reaches is read all the same, as it is where this is in use.
        text = self.settings.read_text()
        self.settings.write_text(text.replace("USER_OPEN_PAYMENTS_MAX=0", "USER_OPEN_PAYMENTS_MAX=1000000"))

    def _sandbox_options(self) -> list[object]:
        return [
            "--webhook-url", f"{self.url}/webhooks/belvo", "--webhook-token", self.setting("BELVO_WEBHOOK_TOKEN")]


@dataclass(frozen=True)
class Cost:
    """What was counted until a moment, or between two."""

    payments: int
    calls: Counter
    commits: int
    log_bytes: int
    wal_bytes: int
    page_bytes: int

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(
            self.payments - other.payments, self.calls - other.calls, self.commits - other.commits,
            self.log_bytes - other.log_bytes, self.wal_bytes - other.wal_bytes, self.page_bytes - other.page_bytes)


@dataclass
class Payments:
    site: PaymentSite
    seconds: int
    pending: tuple[int, ...]
    crowded: crowded.Crowded
    costs: dict[str, Cost] = field(default_factory=dict)
    statements: list[tuple[float, str]] = field(default_factory=list)
    plans: dict[str, str] = field(default_factory=dict)
    #: With webhooks and without: the bytes of log that each table and index takes for a payment.
    places: dict[str, dict[str, float]] = field(default_factory=dict)
    #: Of each number of payments that wait: calls a second, by kind, and the seconds until decisions are seen.
    waiting: dict[int, tuple[Counter, float]] = field(default_factory=dict)
    _calls: Counter = field(default_factory=Counter)
    _last_call: int = 0

    def measure(self) -> None:
        site = self.site
        for name in ("pg_stat_statements", "pg_walinspect"):
            site.database.query(f"CREATE EXTENSION {name}")
        merchant = site.start_merchant()
        crowd = site.start_crowd(_users, "--references")
        for webhooks in ("on", "off"):
            say(f"Eight users pay, webhooks {webhooks} ...")
            self._send_webhooks(webhooks == "on")
            self.costs[webhooks] = self._cost_of_paying(merchant, crowd, webhooks)
        say("One user opens payments ...")
        self._count_statements(crowd)
        for count in self.pending:
            say(f"{count} payments wait for Belvo ...")
            self._measure_waiting(merchant, crowd, count)
        site.stop(crowd.child)
        site.stop(merchant)
        site.database.query("""
            UPDATE payments SET next_poll_at = app_now() + interval '1 day' WHERE state = 'authorizing'""")
        self._let_belvo_decide("after_ms:1000")
        say("One payment, with the plans of its statements ...")
        self._take_plans()
        # A server that logs every plan is slow.
        site.database.query("ALTER DATABASE merchant RESET ALL")
        self._send_webhooks(False)
        self._let_belvo_decide("after_ms:0")
        self.crowded.measure()

    def _send_webhooks(self, wanted: bool) -> None:
        self.site.get(
            self.site.sandbox_url + "/sandbox/variants", "--request", "PATCH", "--header",
            "content-type: application/json", "--data", json.dumps({"webhook_copies": int(wanted)}))

    def _let_belvo_decide(self, when: str) -> None:
        self.site.get(
            self.site.sandbox_url + "/sandbox/variants", "--request", "PATCH", "--header",
            "content-type: application/json", "--data", json.dumps({"payment_settlement": when}))

    def _measure_waiting(self, merchant: Child, crowd: OrderTaker, count: int) -> None:
        """What is asked of Belvo each second while so many payments wait, and how soon a decision is seen."""
        query = self.site.database.query
        self._let_belvo_decide("when_told")
        crowd.order("begin", "sign", _users)
        while int(query("SELECT count(*) FROM payments WHERE state = 'authorizing'")) < count:
            time.sleep(0.5)
            # In pieces: an answer with all of them would be longer than the sandbox holds for one client.
            self._until_now(merchant)
        crowd.order("end")
        # For as long as it takes, due at moments spread over one interval; and no more than were asked for.
        # The server writes to many of them at once, too, and in another order.
        query(f"""
            BEGIN;
            LOCK TABLE payments IN SHARE ROW EXCLUSIVE MODE;
            UPDATE payments SET deadline_at = app_now() + interval '1 day', in_doubt = false,
                next_poll_at = app_now() + random() * interval '2 seconds'
                    + CASE WHEN place > {count} THEN interval '1 day' ELSE interval '0' END
            FROM (SELECT id AS placed, row_number() OVER (ORDER BY id) AS place FROM payments
                WHERE state = 'authorizing') AS places
            WHERE id = placed;
            COMMIT""")
        time.sleep(5)
        self._until_now(merchant)
        before, begin = Counter(self._calls), time.monotonic()
        time.sleep(10)
        self._until_now(merchant)
        seconds = time.monotonic() - begin
        calls = Counter({kind: number / seconds for kind, number in (self._calls - before).items()})
        decided = query("SELECT string_agg(belvo_id::text, ' ') FROM (SELECT belvo_id FROM payments "
                        f"WHERE state = 'authorizing' ORDER BY id LIMIT {min(count, 20)}) AS first").split()
        begin = time.monotonic()
        for intent in decided:
            self.site.get(f"{self.site.sandbox_url}/sandbox/payment-intents/{intent}/settle", "--request", "POST")
        ids = ", ".join(f"'{intent}'" for intent in decided)
        while query(f"SELECT count(*) FROM payments WHERE state = 'authorizing' AND belvo_id IN ({ids})") != "0":
            if time.monotonic() > begin + 60:
                raise Failure("what Belvo has decided was not seen.")
            time.sleep(0.05)
        self.waiting[count] = calls, time.monotonic() - begin

    def _cost_of_paying(self, merchant: Child, crowd: OrderTaker, name: str) -> Cost:
        """Everything that is done from when all is quiet until all is quiet again."""
        self._await_quiet()
        before = self._until_now(merchant)
        first = self.site.database.query("SELECT pg_current_wal_insert_lsn()")
        crowd.order("begin", "pay", _users)
        time.sleep(self.seconds)
        crowd.order("end")
        self._await_quiet()
        last = self.site.database.query("SELECT pg_current_wal_insert_lsn()")
        cost = self._until_now(merchant) - before
        # A transaction that writes ends in a record of its own in the log of PostgreSQL; none other does.
        commits, wal_bytes, page_bytes = self.site.database.query(f"""
            SELECT count(*) FILTER (WHERE resource_manager = 'Transaction' AND record_type LIKE 'COMMIT%'),
                '{last}'::pg_lsn - '{first}'::pg_lsn, sum(fpi_length)
            FROM pg_get_wal_records_info('{first}', '{last}')""").split("|")
        if not cost.payments:
            raise Failure("nothing was paid.")
        places = json.loads(self.site.database.query(f"""
            SELECT json_object_agg(place, bytes) FROM (
                SELECT CASE
                        WHEN found.relkind = 'i' THEN 'indexes of ' || owner.relname
                        ELSE coalesce(owner.relname, 'ends of transactions and the rest') END AS place,
                    sum(record_length) AS bytes
                FROM pg_get_wal_records_info('{first}', '{last}')
                LEFT JOIN pg_class AS found
                    ON relfilenode = (regexp_match(block_ref, 'rel [0-9]+/[0-9]+/([0-9]+)'))[1]::oid
                LEFT JOIN pg_index ON indexrelid = found.oid
                LEFT JOIN pg_inherits ON inhrelid = coalesce(indrelid, found.oid)
                LEFT JOIN pg_class AS owner ON owner.oid = coalesce(inhparent, indrelid, found.oid)
                GROUP BY 1) AS places"""))
        self.places[name] = {place: bytes / cost.payments for place, bytes in places.items()}
        return Cost(cost.payments, cost.calls, int(commits), cost.log_bytes, int(wal_bytes), int(page_bytes))

    def _until_now(self, merchant: Child) -> Cost:
        paid = int(self.site.database.query("SELECT count(*) FROM payments WHERE state = 'succeeded'"))
        answer = json.loads(self.site.get(f"{self.site.sandbox_url}/sandbox/calls?after={self._last_call}"))
        for call in answer["results"]:
            self._calls[call["endpoint"]] += 1
            self._last_call = call["number"]
        return Cost(paid, Counter(self._calls), 0, merchant.log.stat().st_size, 0, 0)

    def _await_quiet(self) -> None:
        """Until nothing of a payment is under way, here or at Belvo; and a moment longer."""
        deadline = time.monotonic() + 60
        while self.site.database.query("""
            SELECT (SELECT count(*) FROM payments WHERE state NOT IN ('succeeded', 'failed', 'awaiting_signature')
                    AND next_poll_at < app_now() + interval '1 hour')
                + (SELECT count(*) FROM webhook_receipts WHERE outcome = 'received')""") != "0":
            if time.monotonic() > deadline:
                raise Failure("what was paid did not come to its end.")
            time.sleep(0.2)
        time.sleep(3)

    def _count_statements(self, crowd: OrderTaker) -> None:
        """Of one user who opens payments and leaves them: nothing else is to be done then."""
        query = self.site.database.query
        query("SELECT pg_stat_statements_reset()")
        crowd.order("begin", "create", 1)
        time.sleep(min(self.seconds, 5))
        crowd.order("end")
        opened = int(crowd.order("count")[0])
        found = json.loads(query("""
            SELECT coalesce(json_agg(json_build_array(calls, query) ORDER BY calls DESC), '[]')
            FROM pg_stat_statements JOIN pg_database ON oid = dbid
            WHERE datname = 'merchant' AND toplevel AND query NOT LIKE '%pg_stat_statements%'"""))
        if not opened:
            raise Failure("no payment was opened.")
        # The statements of workers, and those that notify other instances: no app's answer waits for them.
        self.statements = [
            (calls / opened, " ".join(text.split())) for calls, text in found
            if " AS place " not in text and "pg_notify" not in text and calls >= opened / 2]

    @property
    def on_the_way(self) -> float:
        return sum(calls for calls, _ in self.statements)

    def _take_plans(self) -> None:
        """The plans of a payment's statements, as they were carried out, from the log of PostgreSQL."""
        site = self.site
        site.database.query("VACUUM ANALYZE")
        for name, value in {
                "log_min_duration": "0", "log_analyze": "on", "log_buffers": "on", "log_wal": "on",
                "log_timing": "off", "log_level": "log"}.items():
            site.database.query(f"ALTER DATABASE merchant SET auto_explain.{name} = '{value}'")
        merchant = site.start_merchant()
        crowd = site.start_crowd(1, "--references", name="planned")
        self._send_webhooks(True)
        begin = site.database.child.log.stat().st_size
        crowd.order("begin", "pay", 1)
        time.sleep(6)
        crowd.order("end")
        self._await_quiet()
        text = site.database.child.log.read_bytes()[begin:].decode(errors="replace")
        site.stop(crowd.child)
        site.stop(merchant)
        # Each ends where a line begins that is not moved in.
        for found in re.finditer(r"duration: [\d.]+ ms  plan:\n((?:\t.*\n)+)", text):
            lines = [line[1:] for line in found[1].splitlines()]
            head = next((place for place, line in enumerate(lines) if re.match(r"\S.*\(cost=", line)), len(lines))
            query = re.sub(r"^Query Text: ", "", " ".join(" ".join(lines[:head]).split()))
            if not query.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")) or " AS place " in query:
                continue
            if any(word in query for word in ("pg_settings", "outcome = 'received'", "state NOT IN")):
                continue
            # An array that is only handed over is a plan of its own.
            text = re.sub(r"^ *InitPlan \d+ .*\n *->  Result  .*\n", "", "\n".join(lines[head:]) + "\n", flags=re.M)
            plan = [re.sub(r"'[^']{40,}'", "'…'", line)[:160] for line in text.splitlines()]
            self.plans[query] = "\n".join(plan)

    def report(self) -> str:
        on, off = self.costs["on"], self.costs["off"]
        kinds = sorted(set(on.calls) | set(off.calls), key=lambda kind: -on.calls[kind])

        def line(what: str, most: object, values: list[float], targets: list[float], digits: int) -> str:
            met = ["yes" if value <= target else "**no**" for value, target in zip(values, targets)]
            return row(what, *(f"{value:.{digits}f}" for value in values), most, " and ".join(met))

        # What was counted the same way before webhooks were gathered, of the same sandbox and on the same machine.
        before = table("before | webhooks on | webhooks off", [
            row("calls to Belvo", "8.05", "4.00"), row("transactions that write", "14.95", "6.60"),
            row("bytes of PostgreSQL's log (WAL)", "17,457", "11,393"),
            row("statements on the way to the answer of create", "8.00", "8.00")])
        rows = [
            line("calls to Belvo", "≤ 3.3 and ≤ 4", [sum(c.calls.values()) / c.payments for c in (on, off)],
                 list(_most_calls.values()), 2),
            *(row(f"of them `{kind}`", *(f"{c.calls[kind] / c.payments:.2f}" for c in (on, off)), "", "")
              for kind in kinds),
            line("transactions that write", "≤ 8.5 and ≤ 6", [c.commits / c.payments for c in (on, off)],
                 list(_most_commits.values()), 2),
            line("bytes of PostgreSQL's log (WAL)", "≤ 9,000 and ≤ 6,000",
                 [c.wal_bytes / c.payments for c in (on, off)], list(_most_wal_bytes.values()), 0),
            row("of them images of whole pages", *(f"{c.page_bytes / c.payments:.0f}" for c in (on, off)), "", ""),
            row("bytes of the server's own log", *(f"{c.log_bytes / c.payments:.0f}" for c in (on, off)), "", "")]
        shapes = table("for each payment opened | statement", [
            row(f"{calls:.2f}", f"`{_shown(text)}`") for calls, text in self.statements])
        met = "yes" if self.on_the_way <= _most_statements + 0.1 else "**no**"
        waits = table("payments that wait | calls a second | of them | wanted | until 20 decisions were seen", [
            row(count, f"{sum(calls.values()):.1f}",
                ", ".join(f"`{kind}` {number:.1f}" for kind, number in calls.items()),
                "≤ 5" if count <= 150 else "≤ 15", f"{seconds:.1f} s")
            for count, (calls, seconds) in self.waiting.items()])
        known = [place for place, bytes in sorted(self.places["on"].items(), key=lambda item: -item[1]) if bytes >= 50]
        places = table("bytes of log for each paid payment | webhooks on | webhooks off", [
            row(place, *(f"{self.places[name].get(place, 0):.0f}" for name in ("on", "off"))) for place in known])
        return report.reflow(f"""# What a payment costs

Written by `./dev bench-payment`, which counts from outside what is done for payments that come to a good end: {_users}
users who open a payment with a reference of its own, sign it, and look until it is paid, one after the other, for
{self.seconds} s. Belvo decides after 1 s. Counted is everything from a quiet moment to the next one, and divided by the
payments that were paid meanwhile. Calls are those that the sandbox has seen, whoever made them. A transaction that
writes is one whose end stands in PostgreSQL's log (a `COMMIT` record, `pg_walinspect`), so that one without effect does
not count; a webhook is a transaction of its own where it did not come with others.

{bullets([*report.origin(self.site), f"on {report.processor()}, {report.kernel()}", report.versions(self.site)])}

{table("for each paid payment | webhooks on | webhooks off | wanted | met", rows)}

Paid were {on.payments} with webhooks and {off.payments} without. The same before, at commit b1a39a3, on 2026-11-22:

{before}

## Where the log goes

{places}

What is left, and why: each payment is five or six versions of its row, of which three are logged nearly whole, since
what changes stands before and behind the texts in them; each has an entry in every index but those of an acceptance and
a claim. The answer to the creation is kept byte for byte, encrypted, which nothing compresses afterwards: 1.3 kB. A
webhook is kept as it came, encrypted, and its row written twice, with an entry in three indexes each time.

## The statements on the way to the answer of create

Counted by `pg_stat_statements` while one user opens payments with references and leaves them, without what workers ask
in any case and without the notice to other instances, for which no answer waits. Each is one round trip: nothing is
sent before the last one is answered. {self.on_the_way:.2f} for each payment, of which at most {_most_statements} are
wanted: {met}.

{shapes}

## While payments wait

Payments that were signed and that Belvo has not decided, without webhooks, polled every 2 s; counted over 10 s. Then 20
of them are decided, and the time counts from the first decision, of which each takes a moment to make, to when the last
one is recorded.

{waits}

## Many users at once

{crowded.users} users who pay one after the other, without webhooks, polled every 100 ms, Belvo deciding at once; and
pgbench's `tpcb-like` script with 16 clients at scale 16 on the same cluster. {self.crowded.rounds} rounds of
{self.crowded.seconds:.0f} s of each, in turn. Server, PostgreSQL, sandbox, the users' phones and pgbench share two
cores, and the users' own work is most of it: payments a second are a figure to compare with another state of this
program, not what a server bears.

{self.crowded.table()}

{_looked_into}

The plans of a payment's statements stand in [payment-plans.md](payment-plans.md).""")

    def plans_report(self) -> str:
        finished = sum(self.costs[webhooks].payments for webhooks in ("on", "off"))
        plans = "\n\n".join(
            f"`{_shown(query)}`\n\n```text\n{plan}\n```" for query, plan in self.plans.items())
        return report.reflow(f"""# The plans of a payment's statements

Written by `./dev bench-payment` beside [payment.md](payment.md), in the same run. Of one payment that was opened,
signed, told of by three webhooks and paid, beside {finished} finished ones: what `EXPLAIN (ANALYZE, BUFFERS, WAL)` says
of each statement, taken by `auto_explain` while it was carried out, the last time where there were several. What
triggers read and write is told as the time of their trigger alone, and arrays that are handed over are left out.
""".rstrip()) + f"\n\n{plans}\n"


# No run measures this: it was found out once, with the figures of that day.
_looked_into = """### What this was before, and where the time goes

Looked into on 2026-11-23, when the figures of one state differed by a sixth from one round to the next. The first
figures of all (1.08 ms here, 1.92 ms in PostgreSQL) are not this machine's of that day: a state of the evening of
2026-11-22, with 24 migrations, measured with the same driver within the same minutes as the present one 1.87 ms here
and 4.82 ms in PostgreSQL, at 160 payments a second. Commit b1a39a3 itself was not built again. The present state
measured 1.63 ms (1.41–1.84) and 3.71 ms (3.28–4.15), at 201; with the notice to other instances planned once, 2.16 ms
(2.01–2.31) and 4.20 ms (3.82–4.59), at 177: what that spares cannot be told from the noise. Nor can it be told whether
apps read every 100 ms or wait for the end with `wait`, where the two states measured 3.98 ms and 3.67 ms in PostgreSQL.

What PostgreSQL needs for small statements, each a transaction of its own, of four sessions on one processor:

| statement | processor µs |
|---|---|
| `SELECT 1` | 15 |
| `SELECT id FROM payments` by its key | 20 |
| an update of `payments` by its key, of three columns without an index | 256 |
| the same without calls of `may_belvo_pay` in a condition and a constraint, and with a shorter condition | 223 |
| and without the trigger `payments_are_authorized_alone`, whose condition is false | 195 |
| and without `payments_that_arrive_are_checked`, whose condition is false | 177 |
| and without the 19 `CHECK` constraints | 84 |

So two thirds of such an update are its conditions and constraints, and not what they compute: PostgreSQL reads their
stored text again and simplifies it in every statement that writes (`stringToNode` 18 % and `expression_planner` 12 % of
all samples), however many rows that has. A payment has five such statements. Conditions as functions in PL/pgSQL would
be read once a session, but would cost more for each row where many are written at once, as lists do. Nothing of a
payment is planned anew, says `pg_stat_statements`, but the notice to other instances, of which two thirds were
planning. At 128 users functions in PL/pgSQL are 12 % of the samples, and a payment is read 6.7 times, 49 µs each.

Looked into again on 2026-11-25, by the samples of all sessions at 128 users: what begins a statement is 17 % of
PostgreSQL's time (`ExecutorStart`), constraints 9 % and stored conditions that are read again 6 %, triggers in
PL/pgSQL 12 %, plans that are looked up 8 %; no function has more than 6 %. Tried with a payment's five statements by
pgbench, the least of seven runs of each: the locks of `guard_payment` without a function of their own, no difference;
the condition of `payments_are_authorized_alone` inside its function, 8 % less; `holds_widget_token` as a subquery, 3
µs of 16 for a row. None was worth a change of the guards. Of the log, the stored answer would be half as long when
deflated (650 bytes less for a payment), and without its copy of the FIDO options a fifth shorter; both would still miss
6,000.

**The server's own time.** Looked into on 2026-11-28, by 8 s of samples of the server at 128 users: 21 % in the kernel
(sockets), 16 % in Swift's standard library (texts, dictionaries, arrays), 11 % in `malloc`, 9 % in talking to
PostgreSQL, 7 % in counting references, 5 % in looking up types, 3 % in tasks, 2 % in encryption; JSON, HTTP and the
gate of Belvo's calls have 2 % each. Reading rows of payments is 8.5 %, and no function of its own has more than 1 %.
Nothing is left whose absence would show: 600 µs is half of it, and would take half of the statements and of the
objects.

**What would shorten the log, and by how much.** By kinds of records, for each payment with webhooks: three of a
payment's updates are logged nearly whole (690 bytes each) and each of its four versions that are no HOT update has an
entry in seven indexes (600 bytes); the stored answer is 1,380; three webhooks are 610 each as they come, and 240 and
300 in four indexes each time that one is worked on. With the columns of `payments` in another order, those that do not
change first, some 1,200 bytes less, for which the table has to be written anew; with the webhooks' turns in a table of
their own, some 800; with bodies and answers deflated before they are encrypted, some 1,200. All three together leave
10,700 of 13,900, and 9,000 are not reached.

**Beside TPC-B-like transactions.** One such transaction is one commit, a payment is 5.1. If each of these cost no more
than a whole TPC-B-like transaction, there could be 0.20 payments for one: 1.8 is out of reach as long as a payment
commits before and after each call to Belvo. What can be compared is commits: 201 payments a second are about 1,030,
beside 2,160, which is 0.48, while the server, the sandbox and the phones use the same processors."""


def _shown(text: str) -> str:
    """The beginning of a statement, as one word of code in a table."""
    short = re.sub(r"\s+", " ", text).replace("|", "¦").replace("`", "'")
    return short if len(short) <= 110 else short[:109] + "..."


def run(site: PaymentSite, seconds: int, pending: tuple[int, ...], keep: bool) -> str:
    """Measures everything, and writes the document anew."""
    payments = Payments(site, seconds, pending, crowded.Crowded(site, *((3, 6) if keep else (1, 2))))
    payments.measure()
    text = payments.report()
    if keep:
        report.write(_document, text)
        report.write(_plans_document, payments.plans_report())
    return text
