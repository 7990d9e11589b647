"""The section "Waiting requests" of ./dev bench: apps that wait on one instance for changes made through another."""

import time
from dataclasses import dataclass, field

from . import report
from .amounts import Amounts
from .figures import Figures
from .processes import Failure, say, status_field
from .report import row, table
from .site import Site, free_port

_mib = 1 / 1024


@dataclass
class Waiting:
    site: Site
    amounts: Amounts
    figures: Figures = field(default_factory=Figures)

    def measure(self) -> str:
        """The memory, threads and database connections that waiting requests cost, and how soon they are told."""
        site, figures, amounts = self.site, self.figures, self.amounts
        merchant = site.start_merchant()
        # Both are on the first processor: what is measured goes through both.
        port = free_port(site.port + 20)
        url = f"http://127.0.0.1:{port}"
        other = site.start_merchant(
            "other-merchant", url, LISTEN=f"127.0.0.1:{port}", ADMIN_LISTEN=f"127.0.0.1:{free_port(port + 1)}")
        say(f"Starting {amounts.waiting_apps} enrollments ...")
        apps = site.start_load(
            "wait", "--merchant", site.url, "--other", url, "--tokens", site.tokens("waiting", amounts.waiting_users),
            "--apps", amounts.waiting_apps)
        say(f"{amounts.waiting_apps} apps connect ...")
        states = {}
        for order in ("open", "wait"):
            apps.order(order)
            time.sleep(amounts.idle_seconds)
            states[order] = Standing(
                status_field(merchant.pid, "VmRSS"), status_field(merchant.pid, "Threads"),
                int(site.database.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'merchant'")))
        say(f"{amounts.waiting_changes} changes while they wait ...")
        told, p50, p99, longest = map(float, apps.order("change", amounts.waiting_changes))
        if told != amounts.waiting_changes:
            raise Failure(f"of {amounts.waiting_changes} changes {told:.0f} were told.")
        figures.take_all("waiting", p50_us=p50, p99_us=p99, max_us=longest)
        for child in (apps.child, other, merchant):
            site.stop(child)
        return self._waiting_report(states["open"], states["wait"])

    def _waiting_report(self, idle: "Standing", waiting: "Standing") -> str:
        figures, amounts = self.figures, self.amounts

        def met(holds: bool) -> str:
            return "yes" if holds else "**no**"

        each = (waiting.resident_kib - idle.resident_kib) * 1024 / amounts.waiting_apps
        rows = table("what | measured | goal | met", [
            row("memory of a waiting request beyond its idle connection", f"{each:.0f} bytes", "at most 2048",
                met(each <= 2048)),
            row("threads, while nobody waits and while all wait", f"{idle.threads}, {waiting.threads}", "none more",
                met(waiting.threads <= idle.threads)),
            row("database connections of both instances, likewise",
                f"{idle.database_connections}, {waiting.database_connections}", "none more",
                met(waiting.database_connections <= idle.database_connections)),
            row("from a change to the answer: p50", figures.median("waiting_p50_us", 0.001, 1) + " ms", "", ""),
            row("… p99", figures.median("waiting_p99_us", 0.001, 1) + " ms", "under 50 ms",
                figures.verdict("waiting_p99_us", "<", 50_000)),
            row("… the longest", figures.median("waiting_max_us", 0.001, 1) + " ms", "", ""),
            row("resident memory with all connections idle, and with all waiting",
                f"{idle.resident_kib * _mib:.1f}, {waiting.resident_kib * _mib:.1f} MiB", "", "")])
        return report.reflow(f"""## Waiting requests

{amounts.waiting_apps} apps wait for their enrollments (`GET ...?wait=30` with `If-None-Match`), each on a connection
of its own,
and {amounts.waiting_changes} of the enrollments are changed through another instance, one after the other. The time
runs from the
request for the change to the answer of the app that waits: the other instance's own work and its commit are part of it.

Taken {report.now()} at commit {report.commit()}.

{rows}""")


@dataclass(frozen=True)
class Standing:
    """What a server holds at one moment."""

    resident_kib: int
    threads: int
    database_connections: int
