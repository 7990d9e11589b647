"""./dev attack: what others notice of floods, and while thousands of slow clients hold on to the server."""

import os
import pathlib
import resource
import time
from dataclasses import dataclass, field

from . import report
from .figures import Figures
from .floods import Floods
from .processes import Child, Failure, output_of, say, status_field
from .report import row, table
from .site import Site, free_port
from .tools import paced_quantiles, run_h2load

_document = pathlib.Path("bench/attack.md")
_mib = 1 / 1024

_attacks = {
    "slow-headers": ("/livez", ["-H", "-x", 24, "-i", 2]),
    "slow-body": ("/webhooks/belvo", ["-B", "-s", 8192, "-x", 16, "-i", 2]),
    "slow-read": ("/openapi.json", ["-X", "-k", 3, "-w", 10, "-y", 20, "-n", 5, "-z", 1])}

# Of these this server keeps those few that it may hold for one address, 4 MiB of answers or of bodies of 8 KiB, and
# resets the others.
_least_held = {"slow-body": 400, "slow-read": 10}


@dataclass(frozen=True)
class Amounts:
    """How much is measured: a few minutes in all."""

    attackers: int = 2_000
    rounds: int = 3
    round_seconds: int = 4
    good_clients: int = 20
    good_rate: int = 50
    idle_connections: int = 10_000
    rest_seconds: int = 8
    customers: int = 12
    flood_seconds: int = 12

    def floods(self, site: Site) -> Floods:
        return Floods(site, self.rounds, self.flood_seconds, self.customers, self.rest_seconds)

    @staticmethod
    def least() -> "Amounts":
        """So little that it only shows whether everything works."""
        return Amounts(attackers=100, rounds=1, round_seconds=1, idle_connections=200, rest_seconds=2,
                       customers=2, flood_seconds=2)


class AttackSite(Site):
    """Good clients, the database and the stand-in for Belvo come before attackers whenever they have anything to do.

    That attackers have only the time that is left (`chrt --idle`) does not suffice: without real-time priority, those
    who wake wait up to a tick of the kernel (4 ms at 250 Hz) for an attacker who runs.

    What stalls the disk for 100 ms and more in whichever phase it falls is kept out: the database's log goes into files
    that were used before, and there are no checkpoints.
    """

    def __init__(self, programs: pathlib.Path) -> None:
        super().__init__(programs, urgent=True)

    def __enter__(self) -> Site:
        super().__enter__()
        for statement in (
            "CREATE TABLE of_no_use AS SELECT repeat(md5(n::text), 30) FROM generate_series(1, 1000000) AS n",
            "DROP TABLE of_no_use", "CHECKPOINT"):
            self.database.query(statement)
        return self

    def _cluster_options(self) -> dict[str, object]:
        return {"min_wal_size": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "1h"}


def run(site: Site, amounts: Amounts, only_floods: bool, keep: bool) -> str:
    """Measures everything, and writes the report; or the floods alone, and writes their part of it."""
    if only_floods:
        floods = amounts.floods(site)
        floods.measure()
        text = report.reflow(floods.report())
        if keep:
            document = _document.read_text()
            title = text.split("\n", 1)[0]
            begin = document.index(title)
            end = document.index("\n## ", begin + 1)
            load = f"{os.getloadavg()[0]:.2f}"
            taken = f"Taken by itself on {report.now()} at commit {report.commit()}, at a load of {load}."
            text = text.replace(title, f"{title}\n\n{taken}", 1)
            _document.write_text(document[:begin] + text + "\n" + document[end:])
        return text
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most < amounts.idle_connections + 2_000:
        raise Failure(f"{amounts.idle_connections} connections need more than the {most} descriptors allowed here.")
    text = Attack(site, amounts).measure()
    if keep:
        report.write(_document, text)
    return text


@dataclass
class Target:
    """A server under attack."""

    name: str
    url: str
    pid: int


@dataclass
class Attack:
    site: Site
    amounts: Amounts
    figures: Figures = field(default_factory=Figures)
    token: str = field(init=False)

    def measure(self) -> str:
        floods = self.amounts.floods(self.site)
        floods.measure()
        self.token = self.site.tokens("good", 1).read_text().strip()
        merchant = self.site.start_merchant()
        self._measure_idle_connections(merchant)
        self.site.stop(merchant)

        merchant = self.site.start_merchant()
        document_kib = len(self.site.get(self.site.url + "/openapi.json").encode()) // 1024
        targets = [Target("this", self.site.url, merchant.pid), self._start_nginx()]
        for attack in _attacks:
            self._measure_attack(attack, targets, merchant)
        self.site.stop(merchant)
        return self._report(document_kib, floods.report())

    def _measure_idle_connections(self, merchant: Child) -> None:
        amounts, figures = self.amounts, self.figures
        idle = self.site.start_load(
            "idle", "--url", self.site.url + "/livez", "--connections", amounts.idle_connections)
        self._warm_up()
        say(f"{amounts.idle_connections} idle connections ...")
        for moment, order, pause in (("before", None, 0), ("with", "open", 3), ("after", "close", 5)):
            if order:
                idle.order(order)
            time.sleep(pause)
            figures.take_all(
                f"idle_{moment}", kib=status_field(merchant.pid, "VmRSS"), descriptors=_descriptors(merchant.pid))
        more = figures.last("idle_with_kib") - figures.last("idle_before_kib")
        figures.take_all(
            "idle", bytes=more * 1024 / amounts.idle_connections,
            open=figures.last("idle_with_descriptors") - figures.last("idle_before_descriptors"))
        self.site.stop(idle.child)

    def _warm_up(self) -> None:
        """What the first requests bring with them, connections to the database above all, is no attack's doing."""
        run_h2load(
            self.site, self.site.url + "/v1/enrollments", "--clients=100", "--duration=3",
            f"--header=Authorization: Bearer {self.token}")
        self._good_clients(self.site.url, 2)
        time.sleep(3)

    def _measure_attack(self, attack: str, targets: list[Target], merchant: Child) -> None:
        """Each round is measured alone and beside the attack within seconds, and compared with itself: the machine's
        own noise changes from minute to minute, and is in both."""
        amounts = self.amounts
        self._warm_up()
        self._take_held(f"{attack}_before", merchant.pid)
        for number in range(1, amounts.rounds + 1):
            say(f"Good clients alone and beside {amounts.attackers} {attack} connections, round {number}"
                f" of {amounts.rounds} ...")
            for target in targets:
                self._measure_round(attack, f"{attack}_{target.name}", target)
        # The slowest of them are closed by their deadlines.
        time.sleep(amounts.rest_seconds)
        self._take_held(f"{attack}_after", merchant.pid)

    def _take_held(self, name: str, pid: int) -> None:
        self.figures.take_all(name, kib=status_field(pid, "VmRSS"), descriptors=_descriptors(pid))

    def _measure_round(self, attack: str, name: str, target: Target) -> None:
        figures, amounts = self.figures, self.amounts
        before = _descriptors(target.pid)
        figures.take_all(f"{name}_alone", **self._good_clients(target.url, amounts.round_seconds))
        least = amounts.attackers * 9 // 10
        if target.name == "this":
            least = min(least, _least_held.get(attack, least))
        attackers = self._begin(attack, target, before + least)
        figures.take_all(f"{name}_beside", **self._good_clients(target.url, amounts.round_seconds))
        figures.take_all(name, open=_descriptors(target.pid) - before, kib=status_field(target.pid, "VmRSS"))
        figures.take_ratios(f"{name}_beside", f"{name}_alone", "p99_us")
        self.site.stop(attackers)
        time.sleep(2)

    def _begin(self, attack: str, target: Target, descriptors: int) -> Child:
        """Returns when the connections of the attack are open, and so the server has so many descriptors.

        The server closes them again and again, and so the attack is begun again and again.
        """
        path, options = _attacks[attack]
        child = self.site.children.start(
            "slowhttptest", self.site.log(attack),
            [*self.site.placement.on_other, "chrt", "--idle", 0, "sh", "-c",
             'while :; do slowhttptest -c "$0" -r "$0" -l 3600 -v 1 "$@" || sleep 0.1; done', self.amounts.attackers,
             "-u", target.url + path, *options])
        child.wait_until(
            60, lambda: _descriptors(target.pid) >= descriptors,
            f"the attack does not get {descriptors} descriptors of the server open")
        return child

    def _good_clients(self, url: str, seconds: int) -> dict[str, float]:
        """Authenticated requests at a fixed rate, each answered by 200."""
        return paced_quantiles(
            self.site, url + "/v1/institutions", self.amounts.good_clients, self.amounts.good_rate, seconds,
            f"--header=Authorization: Bearer {self.token}")

    def _start_nginx(self) -> Target:
        """The same answers as the server's, from files, and the same deadlines where it has such."""
        directory, url = self.site.scratch / "nginx", f"http://127.0.0.1:{free_port(self.site.port + 10)}"
        (directory / "files/v1").mkdir(parents=True)
        for path in ("livez", "openapi.json", "v1/institutions"):
            self.site.get(
                f"{self.site.url}/{path}", "--header", f"Authorization: Bearer {self.token}", "--output",
                str(directory / "files" / path))
        child = self.site.start_nginx("nginx", 16_384, self.site.placement.on_server, url + "/livez", f"""
    default_type application/json;
    client_header_timeout 10s;
    client_body_timeout 10s;
    send_timeout 30s;
    server {{
        listen {url.removeprefix("http://")} backlog=4096;
        root {directory}/files;
        # The body is read before Belvo is asked, and none of these ends.
        location = /webhooks/belvo {{ proxy_pass http://127.0.0.1:9; }}
    }}""")
        return Target("nginx", url, next(pid for pid in child.session() if pid != child.pid))

    # The report.

    def _report(self, document_kib: int, floods: str) -> str:
        figures, amounts, site = self.figures, self.amounts, self.site
        slowhttptest = output_of("dpkg-query", "--show", "--showformat=${Version}", "slowhttptest")
        machine = report.bullets([
            *report.origin(site), f"machine: {report.processor()}, {report.kernel()}",
            report.versions(
                site, report.nginx_version(), f"slowhttptest {slowhttptest}", output_of("h2load", "--version")),
            f"placement: the servers on core {site.placement.server}, all clients and the database on core "
            f"{site.placement.other}"])
        attacks = table(
            "attack | server | connections open | p50 alone | p50 beside | p99 alone | p99 beside | ratio of p99 | goal"
            " | met", [self._attack_row(attack, server) for attack in _attacks for server in ("this", "nginx")])
        held = table(
            "attack | resident MiB before, meanwhile, after | goal | met | descriptors before, after | goal | met",
            [self._held_row(attack) for attack in _attacks])
        moments = ("before", "with", "after")
        idle = table("what | measured | goal | met", [
            row("connections open", figures.median("idle_open"), amounts.idle_connections,
                figures.verdict("idle_open", ">=", amounts.idle_connections)),
            row("resident memory of one", figures.median("idle_bytes") + " bytes", "at most 256",
                figures.verdict("idle_bytes", "<=", 256)),
            row("resident memory before, with all of them, after",
                ", ".join(figures.median(f"idle_{moment}_kib", _mib, 1) for moment in moments) + " MiB",
                "at most 1 MiB more after than before",
                figures.verdict("idle_after_kib", "<=", figures.middle("idle_before_kib") + 1024)),
            row("descriptors before, after",
                f"{figures.median('idle_before_descriptors')}, {figures.median('idle_after_descriptors')}", "none more",
                figures.verdict("idle_after_descriptors", "<=", figures.middle("idle_before_descriptors")))])
        return report.reflow(f"""# Results of `./dev attack`

Written by `./dev attack`, which measures all of it anew: slowhttptest against the server, and what good clients
notice. Medians, with the least and the greatest of {amounts.rounds} rounds in brackets.

The measure is fair in this: the servers that are attacked have a processor to themselves. Good clients, attackers, the
database and the stand-in for Belvo share the other one, and there the attackers have only the time that the others
leave (`chrt --idle`), and the others real-time priority (`chrt --rr`): without it, who wakes waits up to a tick of the
kernel, 4 ms at 250 Hz, for an attacker who runs. So what good clients wait for is the server and not the attackers' own
work. PostgreSQL's log goes into files that were used before, and there are no checkpoints: each new file and each
checkpoint stalls the disk for 100 ms or more, in whichever phase it falls.

{machine}

{floods}

## Slow clients

{amounts.attackers} connections each: request heads that never end, bodies that drip, and answers of {document_kib}
KiB that are read byte by byte. They are opened anew as soon as the server has closed them. The good clients are
{amounts.good_clients} with {amounts.good_rate} requests per second each, authenticated, {amounts.round_seconds} s a
round (h2load): alone, and at once again beside the attack. The ratio is that of each round with itself. nginx has the
same answers as files, and the same attacks in turn with ours. Of dripping bodies and slow readers this server keeps
those that fit into `HTTP_UNFINISHED_BYTES_PER_CLIENT_MAX` and `HTTP_UNSENT_BYTES_PER_CLIENT_MAX`, and resets the others
as often as they come. Memory and descriptors are the server's, {amounts.rest_seconds} s after the end of the attack
beside before it.

{attacks}

{held}

## Idle connections

{amounts.idle_connections} keep-alive connections from one client, each after one request.

{idle}""")

    def _attack_row(self, attack: str, server: str) -> str:
        figures, name = self.figures, f"{attack}_{server}"
        ratio = f"{name}_beside_to_{name}_alone_p99_us"
        goal = ("under 2", figures.verdict(ratio, "<", 2)) if server == "this" else ("none", "–")
        times = [figures.with_range(f"{name}_{moment}_{kind}") + " µs"
                 for kind in ("p50_us", "p99_us") for moment in ("alone", "beside")]
        return row(
            attack, server, figures.with_range(f"{name}_open"), *times, figures.with_range(ratio, digits=2), *goal)

    def _held_row(self, attack: str) -> str:
        figures = self.figures
        kib = [f"{attack}_before_kib", f"{attack}_this_kib", f"{attack}_after_kib"]
        before, after = f"{attack}_before_descriptors", f"{attack}_after_descriptors"
        return row(
            attack, ", ".join(figures.median(name, _mib, 1) for name in kib), "at most 1 MiB more",
            figures.verdict(kib[2], "<=", figures.middle(kib[0]) + 1024),
            f"{figures.median(before)}, {figures.median(after)}", "none more",
            figures.verdict(after, "<=", figures.middle(before)))


def _descriptors(pid: int) -> int:
    """How many the process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))
