"""An upgrade while people pay: python3 -m trial.upgrade --before DIRECTORY --programs DIRECTORY --scratch DIRECTORY

Two servers of the release before, behind HAProxy, on one PostgreSQL. The database is migrated under them, and they are
replaced one after the other; for a while both releases serve side by side. Nothing may be lost, doubled or refused.
"""

import argparse
import pathlib
import signal
import sys

from .machines import Failure, output_of, wait_for
from .site import Site
from .steps import Steps


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
    steps = Steps(site, wishes.buyers, wishes.seconds)
    first, second = site.servers[0], site.servers[1]

    def replace(server):
        site.stop_release(server)
        site.start_release(server, site.programs)

    def play():
        steps.take(f"two servers of {site.version(site.before)}")
        steps.take("`merchant migrate` of the new release, under the old servers", lambda: site.migrate(site.programs))
        steps.take("the first server is replaced; both releases serve", lambda: replace(first))
        steps.take("the second server is replaced", lambda: replace(second))

    def remark():
        refusal = site.servers[2].run(site.before / "merchant", "serve", environment=site.settings, expect=(78,))
        print(refusal.splitlines()[-1])
        return (f" The new release is {site.version(site.programs)}. The old one refuses to start afterwards (exit "
                "code 78).")

    steps.play("upgrade", play, "step", remark, wishes.section)


if __name__ == "__main__":
    main()
