"""./dev bench: speed and memory of the server, in sections that each know how to measure and how to report."""

import pathlib
import signal
import time
from dataclasses import dataclass, field

from . import report
from .amounts import Amounts
from .figures import Figures
from .processes import Child, Failure, OrderTaker, cpu_us, fail_with_log, say, status_field
from .report import row, table
from .polling import Polling
from .site import Site
from .tools import run_wrk, run_wrk_beside
from .waiting import Waiting
from .webhooks import Webhooks

_document = pathlib.Path("bench/results.md")
_mib = 1 / 1024


def run(site: Site, amounts: Amounts, section: str | None, keep: bool) -> str:
    """Measures everything, or one section of the report; keeps the report, and gives what is new in it."""
    parts = {"waiting": Waiting, "polling": Polling, "webhooks": Webhooks}
    if section is None:
        text = "\n\n".join(part(site, amounts).measure() for part in (Speed, *parts.values()))
        if keep:
            report.write(_document, text)
    elif section in parts:
        text = parts[section](site, amounts).measure()
        if keep:
            report.replace_section(_document, text)
    else:
        raise Failure(f'there is no section "{section}"; there are {", ".join(parts)}.')
    return text


@dataclass
class Speed:
    """Starting, memory, /livez, creations and whole payments."""

    site: Site
    amounts: Amounts
    figures: Figures = field(default_factory=Figures)

    def measure(self) -> str:
        amounts = self.amounts
        self._measure_starts()
        # The polling interval would be most of a payment's time, and the users are not what is measured.
        merchant = self.site.start_merchant(POLL_INTERVAL_MS=amounts.payment_poll_ms)
        say(f"Enrolling {amounts.payment_users[-1]} phones ...")
        crowd = self.site.start_crowd(amounts.payment_users[-1])
        for number in range(1, amounts.payment_rounds + 1):
            for users in amounts.payment_users:
                say(f"Payments, {users} users, round {number} of {amounts.payment_rounds} ...")
                self._measure_deeds(crowd, merchant, f"pay_{users}", "pay", users)
        self.site.stop(merchant)

        merchant = self.site.start_merchant()
        time.sleep(amounts.idle_seconds)
        self.figures.take("idle_kib", status_field(merchant.pid, "VmRSS"))
        sizes = self._measure_livez(merchant)
        self._measure_creations(crowd, merchant)
        self.figures.take("loaded_kib", status_field(merchant.pid, "VmRSS"))
        self.site.stop(crowd.child)
        self.site.stop(merchant)
        return self._main_report(*sizes)

    def _measure_starts(self) -> None:
        """From the start of the process to the first 200 of /readyz, with a migrated database."""
        site = self.site
        say(f"Starting the server {self.amounts.starts} times ...")
        for _ in range(self.amounts.starts):
            child = site.children.start(
                "start", site.log("start"),
                [*site.placement.on_other, site.programs / "LoadProgram", "ready", "--url", site.url + "/readyz", "--",
                 "setpriv", "--pdeathsig", "TERM", *site.placement.on_server, site.programs / "merchant", "serve",
                 "--config", site.settings], talks=True)
            answer = OrderTaker(child).hear()
            child.process.wait()
            site.stop(child)
            self.figures.take("ready_us", float(answer[0]))

    def _measure_deeds(self, crowd: OrderTaker, merchant: Child, name: str, deed: str, users: int) -> None:
        """A crowd at work, watched for a round once it has got going."""
        site = self.site
        pids = {"merchant": merchant.pid, "sandbox": site.sandbox.pid, "postgres": site.database.child.pid,
                "load": crowd.child.pid}
        crowd.order("begin", deed, users)
        time.sleep(self.amounts.warm_up_seconds)
        wal = self._wal_position()
        crowd.order("count")
        before = cpu_us(*pids.values())
        time.sleep(self.amounts.round_seconds)
        done, failed, elapsed, p50, p99 = map(float, crowd.order("count"))
        after = cpu_us(*pids.values())
        wal = self._wal_position() - wal
        crowd.order("end")
        if failed or not done:
            raise fail_with_log(f"of {done + failed:.0f} requests to {deed} {failed:.0f} failed", crowd.child.log)
        used = {program: after[pid] - before[pid] for program, pid in pids.items()}
        self.figures.take_all(
            name, rate=done * 1e6 / elapsed, rest_rate=done * 1e6 / (elapsed - used["sandbox"]), p50_us=p50, p99_us=p99,
            wal_bytes=wal / done)
        for program, microseconds in used.items():
            self.figures.take(f"{name}_{program}_us", microseconds / done)

    def _wal_position(self) -> int:
        """How many bytes of log PostgreSQL has written until now."""
        return int(self.site.database.query("SELECT pg_current_wal_insert_lsn() - '0/0'"))

    def _measure_livez(self, merchant: Child) -> tuple[int, int]:
        nginx = self.site.start_static_nginx()
        amounts, seconds = self.amounts, self.amounts.round_seconds
        sides = {"livez": (merchant.pid, self.site.url), "nginx": (nginx.child.pid, nginx.url)}
        # Once for nothing: processor clocks and caches are to be the same for both.
        for _, url in sides.values():
            run_wrk(self.site, url + "/livez", amounts.livez_connections, seconds)
        for number in range(1, amounts.livez_rounds + 1):
            say(f"GET /livez and nginx, round {number} of {amounts.livez_rounds} ...")
            for name, (pid, url) in sides.items():
                result, used = run_wrk_beside(self.site, pid, url + "/livez", amounts.livez_connections, seconds)
                if result.refused:
                    raise Failure(f"not every request to {url} was answered with success.")
                self.figures.take_all(name, rate=result.rate, us=used, p99_us=result.p99_us)
            self.figures.take_ratios("livez", "nginx", "rate", "us")
        self.site.stop(nginx.child)
        return nginx.answer_bytes, nginx.wanted_bytes

    def _measure_creations(self, crowd: OrderTaker, merchant: Child) -> None:
        # One payment of each user who has paid, for pgbench to repeat; and no statement is planned by guesses.
        self.site.database.query("""
            CREATE TABLE bench_users AS
            SELECT DISTINCT ON (payments.subject) payments.subject, enrollment_id AS enrollment,
                belvo_customer_id AS customer, belvo_enrollment_id AS belvo_enrollment,
                beneficiary_bank_account AS account,
                fido_options, request_digest AS digest, response_body AS answer
            FROM payments JOIN idempotency_keys ON record_id = payments.id
            WHERE payments.state = 'succeeded' ORDER BY payments.subject""")
        self.site.database.query("VACUUM ANALYZE")
        for number in range(1, self.amounts.creation_rounds + 1):
            say(f"POST /v1/payment-intents and pgbench, round {number} of {self.amounts.creation_rounds} ...")
            users = min(self.amounts.creation_users, self.amounts.payment_users[-1])
            self._measure_deeds(crowd, merchant, "create", "create", users)
            self._measure_pgbench(number, users)
            for kind in ("rate", "rest_rate"):
                self.figures.take(
                    f"create_to_pgbench_{kind}",
                    self.figures.last(f"create_{kind}") / self.figures.last("pgbench_rate"))

    def _measure_pgbench(self, number: int, users: int) -> None:
        """The same statements without the server, from the server's processor."""
        site, database = self.site, self.site.database
        child = site.children.start(
            "pgbench", site.log("pgbench"),
            [*site.placement.on_server, *database.pgbench(
                "bench/create_payment.sql", users, 60, "first=1", f"round={number}")], stop=signal.SIGINT)
        time.sleep(self.amounts.warm_up_seconds)
        before, used = self._pgbench_state(), cpu_us(database.child.pid)
        time.sleep(self.amounts.round_seconds)
        after = self._pgbench_state()
        used = cpu_us(database.child.pid)[database.child.pid] - used[database.child.pid]
        if child.process.poll() is not None:
            raise fail_with_log("pgbench has ended by itself", child.log)
        site.stop(child)
        # Each payment opened leaves two lines of history: remembered, and ready to be signed.
        count = (after[1] - before[1]) / 2
        rate = count / (after[0] - before[0])
        self.figures.take_all(
            "pgbench", rate=rate, mean_us=users * 1e6 / rate, postgres_us=used / count,
            wal_bytes=(after[2] - before[2]) / count)

    def _pgbench_state(self) -> list[float]:
        """The time, the lines of history and the bytes of log until now."""
        return [float(word) for word in self.site.database.query("""
            SELECT concat_ws(' ', extract(epoch FROM clock_timestamp()), last_value,
                pg_current_wal_insert_lsn() - '0/0') FROM state_history_id_seq""").split()]

    def _main_report(self, nginx_bytes: int, livez_bytes: int) -> str:
        figures, amounts, site = self.figures, self.amounts, self.site
        one, other = site.placement.server, site.placement.other
        placement = "everything on the one core there is" if one == other else (
            f"what is measured (merchant, nginx, pgbench) on core {one}; PostgreSQL, the sandbox, the load\n"
            f"  generators and the script on core {other}")
        machine = report.bullets([
            *report.origin(site), f"machine: {report.processor()}, {report.memory()}",
            f"system: {report.system()}, {report.kernel()}",
            report.versions(site, report.nginx_version(), report.wrk_version()),
            f"placement: {placement}", report.database(site)])
        goals = table("what | measured | goal | met", [
            row("`GET /livez` on one core, requests/s beside nginx",
                figures.with_range("livez_to_nginx_rate", digits=2), "0.90 or more",
                figures.verdict("livez_to_nginx_rate", ">=", 0.90)),
            row("start to ready, with a migrated database", figures.with_range("ready_us", 0.001, 1) + " ms",
                "under 150 ms", figures.verdict("ready_us", "<", 150_000)),
            row("memory of the idle server", figures.median("idle_kib", _mib, 1) + " MiB", "under 40 MiB",
                figures.verdict("idle_kib", "<", 40 * 1024)),
            row("`POST /v1/payment-intents` beside pgbench", figures.with_range("create_to_pgbench_rate", digits=2),
                "none yet", "baseline")])
        livez = table(" | requests/s | processor µs/request | p99 ms", [
            *(row(title, figures.with_range(f"{name}_rate"), figures.with_range(f"{name}_us", digits=2),
                  figures.with_range(f"{name}_p99_us", 0.001, 2))
              for title, name in (("merchant", "livez"), ("nginx", "nginx"))),
            row("ratio", figures.with_range("livez_to_nginx_rate", digits=2),
                figures.with_range("livez_to_nginx_us", digits=2), "")])
        creations = table(
            " | payments opened/s | beside pgbench | p50 ms | p99 ms | processor µs each: merchant | PostgreSQL"
            " | sandbox | load | log bytes each", [
                row("merchant", figures.with_range("create_rate"),
                    figures.with_range("create_to_pgbench_rate", digits=2),
                    figures.median("create_p50_us", 0.001, 1), figures.median("create_p99_us", 0.001, 1),
                    *(figures.median(f"create_{name}_us") for name in ("merchant", "postgres", "sandbox", "load")),
                    figures.median("create_wal_bytes")),
                row("… without the sandbox's time", figures.with_range("create_rest_rate"),
                    figures.with_range("create_to_pgbench_rest_rate", digits=2), *[""] * 7),
                row("pgbench", figures.with_range("pgbench_rate"), 1,
                    "mean " + figures.median("pgbench_mean_us", 0.001, 1), "", "",
                    figures.median("pgbench_postgres_us"), "", "", figures.median("pgbench_wal_bytes"))])
        payments = table(
            "users | payments/s | p50 ms | p99 ms | processor µs each: merchant | PostgreSQL | sandbox | load"
            " | log bytes each", [
                row(users, figures.with_range(f"pay_{users}_rate"), figures.median(f"pay_{users}_p50_us", 0.001),
                    figures.median(f"pay_{users}_p99_us", 0.001), figures.with_range(f"pay_{users}_merchant_us"),
                    *(figures.median(f"pay_{users}_{program}_us") for program in ("postgres", "sandbox", "load")),
                    figures.median(f"pay_{users}_wal_bytes")) for users in amounts.payment_users])
        memory = table(" | resident MiB", [
            row(f"idle for {amounts.idle_seconds} s after the start", figures.median("idle_kib", _mib, 1)),
            row("after the rounds of `GET /livez` and `POST /v1/payment-intents`",
                figures.median("loaded_kib", _mib, 1))])
        return report.reflow(f"""# Results of `./dev bench`

Written by `./dev bench`, which measures all of it anew. Medians, with the least and the greatest of the rounds in
brackets. Where two things are compared their rounds alternate, and the ratio is that of neighbouring rounds.

{machine}

## Goals

{goals}

## GET /livez

{amounts.livez_connections} connections, {amounts.livez_rounds} rounds of {amounts.round_seconds} s with wrk. nginx
answers from memory (`return`),
without a log; its answer has {nginx_bytes} bytes with all fields, the server's {livez_bytes}.

{livez}

## POST /v1/payment-intents

{amounts.creation_users} users who open one payment after the other, {amounts.creation_rounds} rounds. pgbench runs
five statements for the same work
(`bench/create_payment.sql`: three reads and two transactions, prepared) on as many connections, from the server's core,
with PostgreSQL alone on the other; the server shares that other core between PostgreSQL, the sandbox, which answers
over
TLS between the two transactions, and the load generator. The second line counts only the time that the sandbox left.

{creations}

## Whole payments

Opened, signed with a phone in software, authorized, and looked at until they are paid; {amounts.payment_rounds}
rounds. The server
looks at Belvo, and the app at the server, every {amounts.payment_poll_ms} ms here (2000 by default): that is most of
the time of a
payment as long as the processors are not busy.

{payments}

## Memory

{memory}""")
