"""The section "Looking at what is pending" of ./dev bench: what one look at a payment costs the server."""

import base64
import re
import time
from dataclasses import dataclass, field

from . import report
from .amounts import Amounts
from .figures import Figures
from .processes import Child, Failure, cpu_ns, say
from .report import row, table
from .site import Site
from .tools import cpu_of_command


@dataclass
class Polling:
    site: Site
    amounts: Amounts
    figures: Figures = field(default_factory=Figures)

    def measure(self) -> str:
        """Looks at few, many and very many payments that Belvo has not decided, beside finished ones."""
        site, amounts = self.site, self.amounts
        merchant = site.start_merchant()
        crowd = site.start_crowd(amounts.payment_users[0])
        # From here on the bank decides nothing. The enrollments are over.
        site.get(
            site.sandbox_url + "/sandbox/variants", "--request", "PATCH", "--header", "content-type: application/json",
            "--data", '{"payment_settlement":"when_told"}')
        say(f"Opening and signing {amounts.polling_pending[-1]} payments ...")
        crowd.order("begin", "sign", amounts.payment_users[0])
        while int(site.database.query(
                "SELECT count(*) FROM payments WHERE state = 'authorizing'")) < amounts.polling_pending[-1]:
            time.sleep(1)
        crowd.order("end")
        site.stop(crowd.child)
        site.stop(merchant)
        self._make_finished()
        for count in amounts.polling_pending:
            self._keep_pending(count)
            merchant = site.start_merchant()
            self._measure_looks(merchant, count)
            site.stop(merchant)
            self._measure_bare_calls(count)
        return self._polling_report()

    def _make_finished(self) -> None:
        """Payments that have failed, as like the others as two rows can be."""
        say(f"Adding {self.amounts.polling_finished} finished payments ...")
        self.site.database.query(f"""
            INSERT INTO payments (
                id, subject, enrollment_id, state, belvo_idempotency_key, holds_reference, amount_centavos, description,
                statement_description, belvo_customer_id, belvo_enrollment_id, beneficiary_bank_account, failure_code,
                failure_authority, created_at, updated_at)
            SELECT gen_random_uuid(), subject, enrollment_id, 'failed', gen_random_uuid(), false, amount_centavos,
                description, statement_description, belvo_customer_id, belvo_enrollment_id, beneficiary_bank_account,
                'timed_out', 'merchant', created_at, updated_at
            FROM (SELECT * FROM payments WHERE state = 'authorizing' LIMIT 1000) AS pattern,
                generate_series(1, {self.amounts.polling_finished // 1000})""")
        self.site.database.query("VACUUM ANALYZE")

    def _keep_pending(self, count: int) -> None:
        """Leaves so many to look at, for as long as it takes, due at moments spread over one interval."""
        self.site.database.query(f"""
            UPDATE payments SET deadline_at = app_now() + interval '1 day', in_doubt = false, leased_until = NULL,
                next_poll_at = app_now() + random() * interval '2 seconds' + CASE WHEN place > {count}
                    THEN interval '1 day' ELSE interval '0' END
            FROM (SELECT id AS placed, row_number() OVER (ORDER BY state <> 'authorizing', id) AS place FROM payments
                WHERE state NOT IN ('succeeded', 'failed')) AS places
            WHERE id = placed""")
        self.site.database.query("VACUUM ANALYZE payments")

    def _measure_looks(self, merchant: Child, count: int) -> None:
        """The processor time of a look, and how many there were in a second."""
        amounts = self.amounts
        time.sleep(amounts.polling_warm_up_seconds)
        for number in range(1, amounts.polling_rounds + 1):
            say(f"Looking at {count} pending payments, round {number} of {amounts.polling_rounds} ...")
            before, used = self._calls_answered(), cpu_ns(merchant.pid)
            time.sleep(amounts.polling_seconds)
            used, looks = cpu_ns(merchant.pid) - used, self._calls_answered() - before
            if not looks:
                raise Failure("nothing was looked at.")
            self.figures.take_all(f"polling_{count}", us=used / 1000 / looks, rate=looks / amounts.polling_seconds)

    def _calls_answered(self) -> int:
        """How many calls the sandbox has answered until now: the number of the last one."""
        return int(re.findall(r'"number":(\d+)', self.site.get(self.site.sandbox_url + "/sandbox/calls"))[-1])

    def _measure_bare_calls(self, count: int) -> None:
        """What a client in C that does nothing else uses for one call.

        h2load reads one payment intent at the rate that the looks had, from the server's processor and over as many
        connections. How often a processor sleeps and wakes decides over most of it, and that is the machine's.
        """
        amounts, rate = self.amounts, self.figures.middle(f"polling_{count}_rate")
        clients = 1 if rate < 16 else 16
        for number in range(1, amounts.polling_rounds + 1):
            say(f"Bare calls at the same rate, round {number} of {amounts.polling_rounds} ...")
            first = self._cpu_of_calls(f"--requests={clients}", f"--clients={clients}")
            every = self._cpu_of_calls(
                f"--duration={amounts.polling_seconds}", f"--clients={clients}", f"--rps={rate / clients:.9g}")
            self.figures.take(f"polling_{count}_bare_us", (every[0] - first[0]) * 1e6 / (every[1] - first[1]))

    def _cpu_of_calls(self, *options: str) -> tuple[float, int]:
        """The seconds of processor time that h2load used, and how many answers it got."""
        intent = self.site.database.query("SELECT belvo_id FROM payments WHERE state = 'authorizing' LIMIT 1")
        credentials = base64.b64encode(b"sandbox-id:sandbox-password").decode()
        seconds, text = cpu_of_command(
            *self.site.placement.on_server, "h2load", "--h1", *options, f"--header=authorization: Basic {credentials}",
            f"{self.site.sandbox_url}/payments/br/payment-intents/{intent}/")
        return seconds, int(re.search(r"status codes: (\d+)", text)[1])

    def _polling_report(self) -> str:
        figures, amounts = self.figures, self.amounts
        rows = table("pending | looks/s | processor µs/look | goal | met | µs/bare call", [
            row(count, figures.median(f"polling_{count}_rate", digits=1),
                figures.with_range(f"polling_{count}_us", digits=1), "at most 60",
                figures.verdict(f"polling_{count}_us", "<=", 60),
                figures.with_range(f"polling_{count}_bare_us", digits=1)) for count in amounts.polling_pending])
        return report.reflow(f"""## Looking at what is pending

Authorized payments that Belvo has not decided, each looked at every 2 s, beside {amounts.polling_finished} finished
ones. The
processor time is the whole server's: asking what is due, claims, the calls over TLS and the records, and whatever else
it does meanwhile; {amounts.polling_rounds} rounds of {amounts.polling_seconds} s, and the looks are counted by the
sandbox.
A bare call is what h2load, a client in C, uses when it reads one such payment over TLS at the same rate from the same
processor, without a claim, without understanding the answer and without recording it.

Taken {report.now()} at commit {report.commit()}.

{rows}""")
