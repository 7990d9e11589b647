"""Steps that are taken while people pay, one line of a table for each, and the verdict at the end."""

import pathlib
import sys
import time

from .app import Crowd, Testimony
from .judge import judge


class Steps:
    """A crowd that pays at a site, and what each step cost it."""

    def __init__(self, site, buyers, seconds):
        self.site, self.seconds = site, seconds
        self.testimony = Testimony()
        self.crowd = Crowd(site, self.testimony, buyers)
        self.lines = []

    def take(self, text, act=lambda: None):
        """Acts, lets the crowd pay for a while, and notes what it saw meanwhile."""
        testimony = self.testimony
        begun, paid = time.monotonic(), len(testimony.successes["end"])
        act()
        time.sleep(self.seconds)
        end = time.monotonic()
        seen, gap = testimony.seen(begun, end), testimony.longest_gap("read", begun, end)
        self.lines.append(f"| {text} | {len(testimony.successes['end']) - paid} | {gap:.1f} s | {seen} |")
        print(self.lines[-1], flush=True)

    def play(self, name, play, first_column, remark, section):
        """Has the crowd pay while `play` takes its steps, judges, writes the section, and ends the program. `remark` is
        asked for once all is over, and stands behind the summary."""
        self.crowd.during(name, play)
        verdict = judge(self.site, self.crowd, set())
        for kind in ("lost", "doubled", "stuck", "wrong"):
            for text in getattr(verdict, kind)[:10]:
                print(f"    {kind}: {text}")
        summary = (f"{verdict.payments} payments, {verdict.paid} of them paid; {len(verdict.lost)} lost, "
                   f"{len(verdict.doubled)} doubled, {len(verdict.stuck) + len(verdict.wrong)} stuck or wrong."
                   + remark())
        print(summary)
        if section:
            pathlib.Path(section).write_text(
                f"| {first_column} | payments | longest gap for reads | what apps saw besides |\n|---|---|---|---|\n"
                + "\n".join(self.lines) + f"\n\n{summary}\n")
        sys.exit(0 if verdict.is_good else 1)
