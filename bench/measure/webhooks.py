"""The section "Webhooks" of ./dev bench: how soon Belvo has its 200 while it answers nothing itself."""

import os
import signal
from dataclasses import dataclass, field

from . import report
from .amounts import Amounts
from .figures import Figures
from .processes import Failure, say
from .report import row, table
from .site import Site
from .tools import run_wrk


@dataclass
class Webhooks:
    site: Site
    amounts: Amounts
    figures: Figures = field(default_factory=Figures)

    def measure(self) -> str:
        """Rounds with a Belvo that is stopped in the middle of everything, and rounds with one that answers."""
        site, amounts = self.site, self.amounts
        os.environ["WEBHOOK_TOKEN"] = site.setting("BELVO_WEBHOOK_TOKEN")
        merchant = site.start_merchant()
        for number in range(1, amounts.webhook_rounds + 1):
            say(f"Webhooks, round {number} of {amounts.webhook_rounds} ...")
            self._measure_told("webhook")
            site.sandbox.process.send_signal(signal.SIGSTOP)
            try:
                self._measure_told("webhook_hanging")
            finally:
                site.sandbox.process.send_signal(signal.SIGCONT)
        site.stop(merchant)
        figures = self.figures
        rows = table("Belvo | webhooks/s | p50 ms | p99 ms | goal | met", [
            row("answers", figures.with_range("webhook_rate"), figures.median("webhook_p50_us", 0.001, 1),
                figures.with_range("webhook_p99_us", 0.001, 1), "", ""),
            row("hangs", figures.with_range("webhook_hanging_rate"), figures.median("webhook_hanging_p50_us", 0.001, 1),
                figures.with_range("webhook_hanging_p99_us", 0.001, 1), "p99 under 50 ms",
                figures.verdict("webhook_hanging_p99_us", "<", 50_000))])
        return report.reflow(f"""## Webhooks

Each about another object that nobody here knows, from {amounts.webhook_connections} connections of wrk that send one
after the
other, {amounts.webhook_rounds} rounds of {amounts.webhook_seconds} s for each line, taken in turn. Each is on disk
before it is answered.
While Belvo hangs, its process is stopped: it takes connections and answers nothing, and the server tries to read the
objects all the same.

Taken {report.now()} at commit {report.commit()}.

{rows}""")

    def _measure_told(self, name: str) -> None:
        site, amounts, count = self.site, self.amounts, "SELECT count(*) FROM webhook_receipts"
        before = int(site.database.query(count))
        result = run_wrk(
            site, site.url + "/webhooks/belvo", amounts.webhook_connections, amounts.webhook_seconds,
            "--script", "bench/webhooks.lua")
        if result.refused:
            raise Failure("not every webhook was answered with 200.")
        if int(site.database.query(count)) - before < result.count:
            raise Failure(f"of {result.count} webhooks answered not all are in the database.")
        self.figures.take_all(
            name, rate=result.count / amounts.webhook_seconds, p50_us=result.p50_us, p99_us=result.p99_us)
