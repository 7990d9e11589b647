"""What many users at once cost, beside pgbench's TPC-B-like script on the same cluster."""

import re
import time
from dataclasses import dataclass, field

from .figures import Figures
from .processes import cpu_us, fail_with_log, output_of, say
from .report import row, table
from .site import Site

users = 128
_tpcb_clients = 16
_most_us = {"merchant": 600, "postgres": 900}


@dataclass
class Crowded:
    """Rounds of payments and of pgbench, in turn: what a machine does at the moment, it does to both."""

    site: Site
    rounds: int
    seconds: float
    figures: Figures = field(default_factory=Figures)

    def measure(self) -> None:
        site = self.site
        say(f"Enrolling {users} phones ...")
        # The polling interval would be most of a payment's time.
        merchant = site.start_merchant("merchant-crowded", POLL_INTERVAL_MS=100)
        crowd = site.start_crowd(users, "--references", name="crowd")
        database = site.database
        database.query("CREATE DATABASE tpcb", database="postgres")
        tpcb = database.url().rsplit("/", 1)[0] + "/tpcb"
        output_of(database.programs / "pgbench", "--initialize", f"--scale={_tpcb_clients}", "--quiet", tpcb)
        # This cluster does not tidy up by itself, and no statement shall be planned by guesses.
        crowd.order("begin", "pay", users)
        time.sleep(3)
        crowd.order("end")
        database.query("VACUUM ANALYZE")
        pids = {"merchant": merchant.pid, "postgres": database.child.pid}
        for number in range(1, self.rounds + 1):
            say(f"{users} users pay and pgbench runs, round {number} of {self.rounds} ...")
            database.query("CHECKPOINT")
            crowd.order("begin", "pay", users)
            time.sleep(2)
            crowd.order("count")
            before = cpu_us(*pids.values())
            time.sleep(self.seconds)
            done, failed, elapsed, p50, p99 = map(float, crowd.order("count"))
            after = cpu_us(*pids.values())
            crowd.order("end")
            if failed or not done:
                raise fail_with_log(f"of {done + failed:.0f} payments {failed:.0f} failed", crowd.child.log)
            database.query("CHECKPOINT")
            used = cpu_us(database.child.pid)[database.child.pid]
            text = output_of(
                *site.placement.on_other, database.programs / "pgbench", "--no-vacuum", "--protocol=prepared",
                f"--client={_tpcb_clients}", "--jobs=1", f"--time={self.seconds:.0f}", "--builtin=tpcb-like", tpcb)
            used = cpu_us(database.child.pid)[database.child.pid] - used
            count = int(re.search(r"actually processed: (\d+)", text)[1])
            rate = float(re.search(r"tps = ([\d.]+)", text)[1])
            self.figures.take_all("tpcb", rate=rate, postgres_us=used / count)
            self.figures.take_all(
                "pay", rate=done * 1e6 / elapsed, p50_us=p50, p99_us=p99,
                **{f"{name}_us": (after[pid] - before[pid]) / done for name, pid in pids.items()})
            self.figures.take_ratios("pay", "tpcb", "rate", "postgres_us")
        site.stop(crowd.child)
        site.stop(merchant)

    def table(self) -> str:
        figures = self.figures
        return table("for each | measured | wanted | met", [
            row("payment: processor µs here", figures.with_range("pay_merchant_us"), f"≤ {_most_us['merchant']}",
                figures.verdict("pay_merchant_us", "<=", _most_us["merchant"])),
            row("payment: processor µs in PostgreSQL", figures.with_range("pay_postgres_us"),
                f"≤ {_most_us['postgres']}", figures.verdict("pay_postgres_us", "<=", _most_us["postgres"])),
            row("TPC-B-like transaction: processor µs in PostgreSQL", figures.with_range("tpcb_postgres_us"), "", ""),
            row("payments a second", figures.with_range("pay_rate"), "", ""),
            row("TPC-B-like transactions a second", figures.with_range("tpcb_rate"), "", ""),
            row("payments for one such transaction", figures.with_range("pay_to_tpcb_rate", digits=3), "", "")])
