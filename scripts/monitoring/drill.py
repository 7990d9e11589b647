"""Chance chooses faults; who is on call gets the alert alone, and looks for the cause while the clock runs.

drill.py WORLD FILES WISH REPORT: WORLD says where the server is, FILES is deploy/monitoring, WISH is a number of
faults, or their names where nobody is to be surprised. The questions come on standard output, the answers are lines of
standard input. REPORT gets the table.
"""

import json
import pathlib
import random
import sys
import time

from drill_faults import DRILLS
from prometheus import Monitoring
from site_under_watch import Background, Failure, Site, wait_until


def say(text):
    print(text, flush=True)


def ask(question):
    """A line from whoever is on call."""
    print(f"{question}> ", end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        raise Failure("nobody is on call any more")
    return " ".join(line.split()).replace("|", "/")


class Pager:
    """Tells what the receivers of Alertmanager were told since it was last asked."""

    def __init__(self, monitoring):
        self.taken, self.seen, self.rung = monitoring.receiver.taken, 0, []

    def new(self):
        told = []
        for path, body in self.taken[self.seen:]:
            self.seen += 1
            for alert in json.loads(body)["alerts"]:
                name = alert["labels"]["alertname"]
                if alert["status"] == "firing" and name not in self.rung:
                    self.rung.append(name)
                    more = ", ".join(f"{key} {value}" for key, value in sorted(alert["labels"].items())
                                     if key not in ("alertname", "severity", "job", "instance"))
                    told.append(f"    {path.strip('/')}: {name}{' (' + more + ')' if more else ''}\n"
                                f"        {alert['annotations']['summary']}\n        {alert['annotations']['runbook']}")
        return told

    def begin(self):
        self.seen, self.rung = len(self.taken), []


def show_desk(site, monitoring):
    """What somebody on call has: the program and its settings, the log, the database, Prometheus."""
    desk = site.scratch / "desk"
    psql = pathlib.Path(site.psql).parent
    # What the server has from its environment, the commands have too.
    more = "".join(f"export {name}={value}\n" for name, value in site.environment.items())
    desk.write_text(
        more + f"export PATH={site.programs}:{psql}:$PATH\nexport DATABASE_URL={site.settings['DATABASE_URL']}\n"
        f"settings={site.settings_file}\nlog={site.scratch}/merchant.log\nprometheus={monitoring.url}\n"
        f"admin={site.admin_url}\n", encoding="utf-8")
    say(f"The desk is `. {desk}`: merchant ... --config $settings, $log, psql $DATABASE_URL, $prometheus, $admin.")


def play(number, name, site, monitoring, pager):
    """One fault, from its beginning until it is gone; gives its row."""
    truth, fault = DRILLS[name]
    site.wait_for_belvo()
    # Neither fires anything nor is about to, for a while.
    since = time.monotonic()
    while time.monotonic() - since < 6:
        site.nudge()
        if monitoring.get("alerts")["alerts"]:
            since = time.monotonic()
    time.sleep(random.uniform(1, 8))
    pager.begin()
    generator = fault(site, monitoring)
    next(generator)
    try:
        told = wait_until(f"an alert for {name}", pager.new, 120)
        begun = time.monotonic()
        say(f"\n{number}. " + time.strftime("%H:%M:%S") + " You are told:\n" + "\n".join(told))
        said = ask("cause")
        took = time.monotonic() - begun
        alerts = list(pager.rung) + [name for name in sorted(monitoring.firing()) if name not in pager.rung]
    finally:
        for _ in generator:
            pass
    say(f"It was: {truth}. {took:.0f} s.")
    missing = ask("missing on the way (- for nothing)")
    return f"| {truth} | {', '.join(alerts)} | {took / 60:.1f} min | {said} | {missing} |"


def main():
    world, files, wish, report = sys.argv[1:]
    site = Site(json.loads(pathlib.Path(world).read_text(encoding="utf-8")))
    # Longer than a server waits for its database when it is scraped: else that would look like a server that is gone.
    monitoring = Monitoring(files, site.scratch, site.admin_url.removeprefix("http://"), minute=2, scrape=3)
    rows = []
    try:
        site.shop.start()
        site.start()
        monitoring.start()
        pager = Pager(monitoring)
        show_desk(site, monitoring)
        site.arrive()
        # Not the seeds of anybody's: nobody can know what comes.
        chosen = (random.SystemRandom().sample(sorted(DRILLS), int(wish)) if wish.isdigit() else wish.split(","))
        # Shoppers come all the time, so that a fault has somebody whom it hits.
        with Background(site.pay, pause=1):
            for number, name in enumerate(chosen, 1):
                rows.append(play(number, name, site, monitoring, pager))
        text = ["| fault | alert | time to the cause | diagnosis | gap in the runbook |",
                "|---|---|---|---|---|", *rows]
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        pathlib.Path(report).write_text(f"Played {when} UTC:\n\n" + "\n".join(text) + "\n", encoding="utf-8")
    except Failure as failure:
        sys.exit(str(failure))
    finally:
        monitoring.stop()
        site.shop.stop()
        site.stop()


if __name__ == "__main__":
    main()
