"""A restore to a moment: python3 -m trial.restore --programs DIRECTORY --scratch DIRECTORY

A base backup (pg_basebackup) and the archived log. People pay; then the database is lost. It is restored twice: to its
last archived segment, where nothing may be missing, and to a moment before, where what came later exists at Belvo alone
and has to be found by `merchant reconcile`.
"""

import argparse
import os
import pathlib
import pwd
import signal
import sys
import time

from .app import Crowd, Testimony
from .judge import judge, lines, settle
from .machines import Failure, output_of, wait_for
from .upgrade import SmallSite


class ArchivedSite(SmallSite):
    """One PostgreSQL that archives its log, and one server."""

    def __init__(self, programs, scratch):
        super().__init__(programs, programs, scratch)
        self.archive = self.scratch / "archive"
        self.archive.mkdir()
        account = pwd.getpwnam("postgres")
        os.chown(self.archive, account.pw_uid, account.pw_gid)

    def postgres_options(self):
        command = f"test ! -f {self.archive}/%f && cp %p {self.archive}/%f"
        return ["-c", "archive_mode=on", "-c", f"archive_command={command}"]

    def back_up(self):
        node, account = self.nodes[0], ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        place = self.scratch / "base"
        place.mkdir(mode=0o700)
        output_of("chown", "postgres:", place)
        node.run(*account, self.programs_of_postgres / "pg_basebackup", f"--pgdata={place}", "--checkpoint=fast",
                 "--wal-method=none", f"--dbname=postgresql://postgres@{node.address}/postgres")

    def lose_everything(self):
        """The log up to here is archived, then machine and disk are gone."""
        self.query("SELECT pg_switch_wal()")
        wait_for("the last segment in the archive", 30, lambda: self.query(
            "SELECT last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) FROM pg_stat_archiver") == "t")
        for server in self.servers[:2]:
            server.kill()
        self.nodes[0].kill()
        output_of("rm", "--recursive", "--force", self.scratch / "data")

    def restore(self, moment=None):
        """As docs/operations.md has it: the base backup, where the log is, and up to when."""
        node, place = self.nodes[0], self.scratch / "data"
        if place.exists():
            node.kill()
            output_of("rm", "--recursive", "--force", place)
        output_of("cp", "--archive", self.scratch / "base", place)
        (place / "recovery.signal").touch()
        options = ["-c", f"restore_command=cp {self.archive}/%f %p", "-c", "recovery_target_action=promote"]
        if moment:
            options += ["-c", f"recovery_target_time={moment}"]
        # What the restored one archives is another history: elsewhere.
        node.start(self.programs_of_postgres / "postgres", "-D", place, "-c", f"listen_addresses={node.address}", "-c",
                   "unix_socket_directories=", "-c", "max_connections=200", *options, user="postgres")
        wait_for("the restored PostgreSQL", 60, lambda: self._is_up() and self.query(
            "SELECT pg_is_in_recovery()") == "f")
        self.migrate(self.programs)

    def merchant(self, *words, expect=(0,)):
        return self.servers[0].run(self.programs / "merchant", *words, environment=self.settings, expect=expect)


def main():
    parser = argparse.ArgumentParser(prog="./dev restore")
    for name in ("programs", "scratch"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--section")
    wishes = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    site = ArchivedSite(wishes.programs, wishes.scratch)
    site.start()
    testimony = Testimony()
    crowd = Crowd(site, testimony, 8)
    moments = {}

    def evening():
        time.sleep(5)
        site.back_up()
        time.sleep(6)
        moments["target"] = site.query("SELECT clock_timestamp()")
        moments["heard"] = time.monotonic()
        moments["before"] = {told.id for told in testimony.answers}
        time.sleep(6)

    crowd.during("evening", evening)
    before = judge(site, crowd, set())
    if not before.is_good:
        raise Failure(f"it was not well before: {before}")
    report = [f"{before.payments} payments were made; base backup, log archived segment by segment."]
    site.lose_everything()

    # To the end of the archive.
    site.restore()
    site.start_release(site.servers[0], site.programs)
    known = set()
    whole = judge(site, crowd, known)
    site.stop_release(site.servers[0])
    report.append(f"Restored to the end of the archive: {whole.payments} payments, {len(whole.lost)} lost, "
                  f"{len(whole.doubled)} doubled.")
    good = whole.is_good and whole.payments == before.payments

    # To a moment before.
    site.restore(moments["target"])
    in_flight = lines(site, "SELECT id FROM payments WHERE status = 'PENDING'")
    site.start_release(site.servers[0], site.programs)
    left = settle(site)
    rows = dict(line.split("|") for line in lines(site, "SELECT id, state FROM payments"))
    missing = {told.id for told in testimony.answers} - set(rows)
    report.append(f"Restored to {moments['target'][:19]}: {len(rows)} payments, {len(in_flight)} of them in flight "
                  f"then, {len(left)} of them without an end after a minute.")
    # What was answered before the moment is there; what is missing began after it.
    too_many = missing & moments["before"]
    wrong = [told.id for told in testimony.answers
             if told.kind == "end" and told.id in rows and rows[told.id] != "succeeded"]
    day = site.query("SELECT to_char(app_now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')", database="merchant")
    found = site.merchant("reconcile", "--day", day, expect=(0, 1)).splitlines()
    unknown = [line for line in found if line.startswith("unknown_here")]
    report.append(f"`merchant reconcile` names {len(unknown)} that are at Belvo alone; apps had seen "
                  f"{len(missing)} payments that are gone, every one begun after that moment.")
    good = good and not left and not too_many and not wrong and missing and len(unknown) >= len(missing)
    if not good:
        print(f"left {left}, too many {too_many}, wrong {wrong}, verdict {whole}, unknown {len(unknown)}")
    print("\n".join(report))
    if wishes.section:
        pathlib.Path(wishes.section).write_text("".join(f"- {line}\n" for line in report))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
