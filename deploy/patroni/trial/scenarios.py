"""What goes wrong, one after the other, on a site that is whole each time."""

import signal
import time
from dataclasses import dataclass, field

from .judge import Verdict, must_be_whole
from .machines import wait_for


@dataclass
class Outcome:
    """What came of one of them."""

    name: str
    deed: str = ""
    gaps: dict[str, float] = field(default_factory=dict)
    seen: str = ""
    verdict: Verdict = field(default_factory=Verdict)
    is_control: bool = False


class Play:
    def __init__(self, site, crowd, seconds):
        self.site, self.crowd, self.seconds = site, crowd, seconds

    def trade(self, seconds=None):
        time.sleep(self.seconds if seconds is None else seconds)

    def until_sold(self, within=120):
        """Until something was read, created and paid since now, and for some seconds after that."""
        successes = self.crowd.testimony.successes
        begun = time.monotonic()
        wait_for("service for everybody", within, lambda: all(
            moments and moments[-1] > begun for moments in successes.values()))
        self.trade()

    # Each gives the moment of the deed, and what was done.

    def quiet(self):
        begun = time.monotonic()
        self.trade(2 * self.seconds)
        return begun, "nothing: what the gaps are without a fault"

    def leader_killed(self):
        leader = self.site.leader()
        begun = time.monotonic()
        leader.kill()
        took = self.new_leader(leader)
        self.until_sold()
        self.site.start_node(leader)
        return begun, f"every process of the leader's machine ended with -9; a new leader after {took:.1f} s"

    def leader_stopped(self):
        leader = self.site.leader()
        begun = time.monotonic()
        leader.halt()
        took = self.new_leader(leader)
        self.until_sold()
        leader.wake()
        self.trade()
        return begun, (f"every process of the leader's machine stopped in its tracks (SIGSTOP), woken when the new one "
                       f"served; a new leader after {took:.1f} s")

    def leader_cut_off(self):
        leader = self.site.leader()
        begun = time.monotonic()
        leader.cut(self.site.etcds)
        # Longer than its lease: either another one leads by then, or the others confirm that none does.
        time.sleep(40)
        now = self.site.leader()
        self.until_sold()
        leader.mend()
        what = "stayed the leader, since the others answered it" if now is leader else "was replaced"
        return begun, f"nothing passes between the leader and etcd for 40 s and more; it {what}"

    def leader_isolated(self):
        leader = self.site.leader()
        begun = time.monotonic()
        leader.cut([*self.site.etcds, *self.site.replicas()])
        took = self.new_leader(leader)
        self.until_sold()
        leader.mend()
        self.trade()
        return begun, (f"nothing passes between the leader and etcd or the other nodes, servers reach it all the same; "
                       f"a new leader after {took:.1f} s")

    def switchover(self):
        leader, candidate = self.site.leader(), self.site.synchronous()
        begun = time.monotonic()
        self.site.patronictl(
            "switchover", "merchant", "--master", leader.name, "--candidate", candidate.name, "--force")
        self.new_leader(leader)
        self.until_sold()
        return begun, "`patronictl switchover` to the synchronous standby"

    def standby_lost(self):
        standby = self.site.synchronous()
        begun = time.monotonic()
        standby.kill()
        wait_for("another synchronous standby", 60, lambda: any(
            member["role"] == "sync_standby" and name != standby.name
            for name, member in self.site.members().items()))
        took = time.monotonic() - begun
        self.until_sold()
        self.site.start_node(standby)
        return begun, f"the synchronous standby's machine ended with -9; the other one in its place after {took:.1f} s"

    def no_quorum(self):
        begun = time.monotonic()
        for etcd in self.site.etcds[:2]:
            etcd.kill()
        time.sleep(40)
        led = self.site.leader() is not None
        for etcd in self.site.etcds[:2]:
            self.site.start_etcd(etcd)
        wait_for("a quorum", 60, self.site.has_quorum)
        self.until_sold()
        return begun, (f"two of three etcd ended with -9 for 40 s; "
                       f"{'the leader went on' if led else 'there was no leader meanwhile'}")

    def servers(self):
        killed, paused = self.site.servers[0], self.site.servers[1]
        begun = time.monotonic()
        killed.signal(signal.SIGKILL)
        paused.halt()
        self.trade(35)
        paused.wake()
        self.site.start_server(killed)
        self.until_sold()
        return begun, "one of three servers ended with -9, one stopped for 35 s, longer than its lease, and woken"

    def asynchronous(self):
        """The control: the standbys are behind when the leader dies, and nobody waited for them."""
        site = self.site
        site.patronictl("edit-config", "merchant", "--force", "-s", "synchronous_mode=false", "-s",
                        "synchronous_mode_strict=false")
        site.is_synchronous = False
        wait_for("asynchronous replication", 60, lambda: site.query("SHOW synchronous_standby_names") == "")
        leader, replicas = site.leader(), site.replicas()
        self.trade()
        for replica in replicas:
            replica.cut([leader])
        self.trade(4)
        begun = time.monotonic()
        leader.kill()
        for replica in replicas:
            replica.mend()
        took = self.new_leader(leader)
        self.until_sold()
        site.start_node(leader)
        return begun, (f"synchronous_mode off, the standbys 4 s behind, then the leader's machine ended with -9; a new "
                       f"leader after {took:.1f} s")

    def new_leader(self, old):
        return wait_for("a new leader", 120, lambda: self.site.leader(besides=old) is not None)


SCENARIOS = {
    "quiet": ("nothing", Play.quiet),
    "killed": ("leader killed", Play.leader_killed),
    "stopped": ("leader silent (SIGSTOP)", Play.leader_stopped),
    "cutoff": ("leader cut off from etcd", Play.leader_cut_off),
    "isolated": ("leader cut off from etcd and the other nodes", Play.leader_isolated),
    "switchover": ("planned switchover", Play.switchover),
    "standby": ("synchronous standby lost", Play.standby_lost),
    "quorum": ("etcd without quorum", Play.no_quorum),
    "servers": ("one server killed, one paused", Play.servers),
    # Last: what it loses stays lost.
    "asynchronous": ("control: leader killed, asynchronous standbys", Play.asynchronous),
}


def play(name, site, crowd, seconds, judge, known):
    title, deed = SCENARIOS[name]
    stage = Play(site, crowd, seconds)
    outcome = Outcome(title, is_control=name == "asynchronous")

    def body():
        stage.until_sold()
        begun, outcome.deed = deed(stage)
        end = time.monotonic()
        for kind in ("read", "create", "end"):
            outcome.gaps[kind] = crowd.testimony.longest_gap(kind, begun, end)
        outcome.seen = crowd.testimony.seen(begun, end)

    crowd.during(name, body)
    must_be_whole(site)
    outcome.verdict = judge(site, crowd, known)
    return outcome
