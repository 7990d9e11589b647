"""An upgrade while people pay: python3 -m trial.upgrade --before DIRECTORY --programs DIRECTORY --scratch DIRECTORY

Two servers of the release before, behind HAProxy, on one PostgreSQL. The database is migrated under them, and they are
replaced one after the other; for a while both releases serve side by side. Nothing may be lost, doubled or refused.
"""

import argparse
import pathlib
import signal
import sys
import time

from .app import Crowd, Testimony
from .judge import judge
from .machines import Failure, output_of, wait_for
from .site import Site


class SmallSite(Site):
    """One PostgreSQL, without Patroni; servers of two releases."""

    def __init__(self, before, programs, scratch):
        super().__init__(programs, scratch)
        self.before = pathlib.Path(before).resolve()

    def start(self):
        self._make_certificates()
        node = self.nodes[0]
        place = self.scratch / "data"
        place.mkdir()
        output_of("chown", "postgres:", place)
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "env", "--chdir=/"]
        output_of(*as_user, self.programs_of_postgres / "initdb", f"--pgdata={place}", "--username=postgres",
                  "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
        with open(place / "pg_hba.conf", "a") as rules:
            rules.write("host all,replication all 10.77.0.0/24 trust\n")
        node.start(self.programs_of_postgres / "postgres", "-D", place, "-c", f"listen_addresses={node.address}", "-c",
                   "unix_socket_directories=", "-c", "max_connections=200", *self.postgres_options(), user="postgres")
        wait_for("PostgreSQL", 30, self._is_up)
        self.query("CREATE ROLE merchant_readonly NOLOGIN")
        self.query("CREATE ROLE merchant LOGIN")
        self.query("CREATE DATABASE merchant OWNER merchant")
        self._write_settings()
        self.settings["DATABASE_URL"] = f"postgresql://merchant@{node.address}/merchant"
        self.migrate(self.before)
        self._start_belvo()
        for server in self.servers[:2]:
            self.start_release(server, self.before)
        self._start_proxy()

    def postgres_options(self):
        return []

    def leader(self, besides=None):
        return self.nodes[0]

    def _is_up(self):
        try:
            return self.query("SELECT 1") == "1"
        except Failure:
            return False

    def migrate(self, programs):
        return self.servers[0].run(programs / "merchant", "migrate", environment=self.settings)

    def start_release(self, server, programs):
        server.start(programs / "merchant", "serve", environment=self.settings)
        wait_for(server.name, 30, lambda: self._answers(f"http://{server.address}:8080/readyz"))

    def stop_release(self, server):
        """As systemd does it: SIGTERM, and what was accepted is finished."""
        child = server.started.pop()
        child.send_signal(signal.SIGTERM)
        if child.wait(35) != 0:
            raise Failure(f"{server.name} ended with {child.returncode}")

    def version(self, programs):
        return output_of(programs / "merchant", "--version")


def main():
    parser = argparse.ArgumentParser(prog="./dev upgrade")
    for name in ("before", "programs", "scratch"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--section")
    parser.add_argument("--buyers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=8)
    wishes = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    site = SmallSite(wishes.before, wishes.programs, wishes.scratch)
    site.start()
    testimony = Testimony()
    crowd = Crowd(site, testimony, wishes.buyers)
    lines, first, second = [], site.servers[0], site.servers[1]

    def step(text, act=lambda: None):
        begun, paid = time.monotonic(), len(testimony.successes["end"])
        act()
        time.sleep(wishes.seconds)
        seen = testimony.seen(begun, time.monotonic())
        gap = testimony.longest_gap("read", begun, time.monotonic())
        lines.append(f"| {text} | {len(testimony.successes['end']) - paid} | {gap:.1f} s | {seen} |")
        print(lines[-1], flush=True)

    def replace(server):
        site.stop_release(server)
        site.start_release(server, site.programs)

    def play():
        step(f"two servers of {site.version(site.before)}")
        step("`merchant migrate` of the new release, under the old servers", lambda: site.migrate(site.programs))
        step("the first server is replaced; both releases serve", lambda: replace(first))
        step("the second server is replaced", lambda: replace(second))

    crowd.during("upgrade", play)
    verdict = judge(site, crowd, set())
    refusal = site.servers[2].run(site.before / "merchant", "serve", environment=site.settings, expect=(78,))
    print(refusal.splitlines()[-1])
    for kind in ("lost", "doubled", "stuck", "wrong"):
        for text in getattr(verdict, kind)[:10]:
            print(f"    {kind}: {text}")
    summary = (f"{verdict.payments} payments, {verdict.paid} of them paid; {len(verdict.lost)} lost, "
               f"{len(verdict.doubled)} doubled, {len(verdict.stuck) + len(verdict.wrong)} stuck or wrong. The new "
               f"release is {site.version(site.programs)}. The old one refuses to start afterwards (exit code 78).")
    print(summary)
    if wishes.section:
        pathlib.Path(wishes.section).write_text(
            "| step | payments | longest gap for reads | what apps saw besides |\n|---|---|---|---|\n"
            + "\n".join(lines) + f"\n\n{summary}\n")
    sys.exit(0 if verdict.is_good else 1)


if __name__ == "__main__":
    main()
