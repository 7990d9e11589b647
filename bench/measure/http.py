"""./dev bench-http: the HTTP layer beside nginx, Go, Hummingbird, FastAPI and pgbench, side by side.

Every round measures all that is compared, one after the other, in an order that is turned round from one to the next.
"""

import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from . import report
from .figures import Figures
from .peers import Peers, Server
from .processes import Failure, cpu_ns, output_of, say
from .report import row, table
from .site import Site
from .tools import paced_quantiles, run_h2load, run_wrk_beside

_document = pathlib.Path("bench/http.md")
_sent = pathlib.Path("bench/echo.json")
_static_servers = ["merchant", "echo", "nginx", "go", "hummingbird", "fastapi"]
_json_servers = ["echo", "go", "hummingbird", "fastapi"]
_round_seconds = 1
_connections = 64
_paced_share = 0.7


def run(site: Site, peers_directory: pathlib.Path, rounds: int, names: list[str], keep: bool) -> str:
    """Measures all sections and writes the report; of a part nothing is kept, since the sections belong to one run."""
    sections: dict[str, Callable[[Comparison], str]] = {
        "static": Comparison.static, "alone": Comparison.alone, "paced": Comparison.paced, "json": Comparison.json,
        "rows": Comparison.rows, "tls": Comparison.tls, "auth": Comparison.auth}
    unknown = [name for name in names if name not in sections]
    if unknown:
        raise Failure(f'there is no section "{unknown[0]}"; there are {", ".join(sections)}.')
    site.database.run_file("bench/rows.sql")
    peers = Peers(site, peers_directory)
    peers.start()
    peers.start_secure()
    comparison = Comparison(site, peers, rounds)
    parts = [sections[name](comparison) for name in names or sections]
    if names:
        return "\n\n".join(parts)
    text = "\n\n".join([comparison.head(), *parts])
    if keep:
        report.write(_document, text)
    return text


@dataclass
class Comparison:
    site: Site
    peers: Peers
    rounds: int
    figures: Figures = field(default_factory=Figures)

    def head(self) -> str:
        site = self.site
        machine = report.bullets([
            *report.origin(site), f"machine: {report.processor()}, {report.kernel()}",
            report.versions(
                site, report.nginx_version(), *self.peers.versions(), report.wrk_version(),
                output_of("h2load", "--version")),
            f"placement: the server that is measured on core {site.placement.server}, with one thread for its work; "
            f"the load generator and PostgreSQL on core {site.placement.other}", report.database(site)])
        return report.reflow(f"""# Results of `./dev bench-http`

Written by `./dev bench-http`, which measures all of it anew, side by side: every round measures all that is compared,
one after the other, for {_round_seconds} s each, and the order is turned round from one round to the next. There are
{self.rounds} rounds. In brackets stands the interval that holds the true median with a confidence of at least 95 %,
taken from the order of the rounds (k-th least to k-th greatest) and so without a guess at how they are distributed. A
ratio
is that of one round. A goal is met when its interval reaches it.

{machine}""")

    # What the sections share.

    def _rounds(self, what: str) -> Iterator[Callable[[Iterable[str]], list[str]]]:
        """The rounds, each with a function that gives names in that round's order."""
        for number in range(1, self.rounds + 1):
            say(f"{what}, round {number} of {self.rounds} ...")
            yield lambda names, step=1 if number % 2 else -1: list(names)[::step]

    def _load(
        self, name: str, server: Server, path: str, *options: str, connections: int = _connections,
        refused: bool = False,
    ) -> None:
        """One round of wrk; takes NAME_rate, NAME_us, NAME_p50_us and NAME_p99_us."""
        result, used = run_wrk_beside(
            self.site, server.pid, server.url + path, connections, _round_seconds, *options)
        if result.refused != (result.count if refused else 0):
            raise Failure(f"{server.title} refused {result.refused} of {result.count} requests to {path}.")
        self.figures.take_all(name, rate=result.rate, us=used, p50_us=result.p50_us, p99_us=result.p99_us)

    def _goals(self, *rows: str) -> str:
        return table("goal | measured |  | met", rows)

    @property
    def _goal(self) -> Callable[..., str]:
        return functools.partial(report.goal, self.figures)

    def _titled(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        return ((name, self.peers.servers[name].title) for name in names)

    # The sections.

    def static(self) -> str:
        servers, figures = self.peers.servers, self.figures
        for name in _static_servers:
            self._load("warm_up", servers[name], servers[name].static_path)
        for in_turn in self._rounds("Static answer"):
            for name in in_turn(_static_servers):
                self._load(f"static_{name}", servers[name], servers[name].static_path)
            for name in _static_servers:
                figures.take_ratios("static_merchant", f"static_{name}", "rate", "us")
        calls = {name: self._count_calls(name) for name in _static_servers}
        goals = self._goals(
            self._goal("requests/s beside nginx", "static_merchant_to_static_nginx_rate", ">=", 1.0),
            self._goal("processor time of a request beside nginx", "static_merchant_to_static_nginx_us", "<=", 0.95),
            self._goal("system calls of a request, the waits for events shared among them included", "calls_merchant",
                       "<=", 2.1))
        rows = table(
            " | requests/s | processor µs/request | p50 µs | p99 µs | this server has so many times its requests/s"
            " | system calls of a request", [
                row(title, figures.with_interval(f"static_{name}_rate"),
                    figures.with_interval(f"static_{name}_us", digits=2), figures.median(f"static_{name}_p50_us"),
                    figures.median(f"static_{name}_p99_us"),
                    figures.with_interval(f"static_merchant_to_static_{name}_rate", digits=2), calls[name])
                for name, title in self._titled(_static_servers)])
        return report.reflow(f"""## Static answer

{_connections} connections, wrk. Of this server it is `GET /livez` of the real merchant, with all that a request to it
goes through; nginx answers with as many bytes from memory, without a log.

{goals}

{rows}""")

    def _count_calls(self, name: str) -> str:
        """Takes calls_NAME, the system calls of one request, and says what they are."""
        server, count, traced = self.peers.servers[name], 10_000, self.peers.servers[name].pid
        say(f"System calls of {server.title} ...")
        # nginx's own process only watches over the one that answers.
        if name == "nginx":
            traced = next(pid for pid in server.child.session() if pid != traced)
        log = self.site.scratch / "strace.txt"
        tracer = subprocess.Popen(
            ["strace", "--summary-only", "--follow-forks", "--attach", str(traced), "--output", str(log)],
            stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        # Few connections and many requests: what it takes to accept a connection is not a request's.
        run_h2load(self.site, server.static_url, "--clients=16", f"--requests={count}")
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        # % time, seconds, usecs/call, calls, perhaps errors, the call's name.
        lines = [line.split() for line in log.read_text().splitlines() if re.match(r"\s*\d", line)]
        calls = {words[-1]: int(words[3]) / count for words in lines}
        self.figures.take(f"calls_{name}", calls.pop("total"))
        return ", ".join(f"{call} {number:.2f}" for call, number in calls.items() if number >= 0.005)

    def alone(self) -> str:
        servers, figures = self.peers.servers, self.figures
        for in_turn in self._rounds("One connection"):
            for name in in_turn(_static_servers):
                self._load(f"alone_{name}", servers[name], servers[name].static_path, connections=1)
            figures.take_ratios("alone_merchant", "alone_nginx", "p50_us", "p99_us")
        goals = self._goals(
            self._goal("p50 beside nginx", "alone_merchant_to_alone_nginx_p50_us", "<=", 1.0),
            self._goal("p99 beside nginx", "alone_merchant_to_alone_nginx_p99_us", "<=", 1.0))
        rows = table(" | requests/s | p50 µs | p99 µs", [
            row(title, *(figures.with_interval(f"alone_{name}_{kind}") for kind in ("rate", "p50_us", "p99_us")))
            for name, title in self._titled(_static_servers)])
        return report.reflow(f"""## One connection

The same answers on a single connection, wrk.

{goals}

{rows}""")

    def paced(self) -> str:
        """The rate is a share of what h2load itself gets out of nginx: it can do less than wrk, and past that would
        measure only its own queue."""
        servers, figures, names = self.peers.servers, self.figures, ["merchant", "echo", "nginx"]
        text = run_h2load(
            self.site, servers["nginx"].static_url, f"--clients={_connections}", "--duration=2", "--warm-up-time=1")
        most = float(re.search(r"finished in .*?, ([\d.]+) req/s", text)[1])
        rate = int(most * _paced_share / _connections)
        for in_turn in self._rounds("Fixed rate"):
            for name in in_turn(["nginx", "merchant", "echo"]):
                figures.take_all(f"paced_{name}", **paced_quantiles(
                    self.site, servers[name].static_url, _connections, rate, _round_seconds))
            figures.take_ratios("paced_merchant", "paced_nginx", "p50_us", "p99_us")
        goals = self._goals(self._goal("p99 beside nginx", "paced_merchant_to_paced_nginx_p99_us", "<=", 1.2))
        rows = table(" | p50 µs | p99 µs", [
            row(title, *(figures.with_interval(f"paced_{name}_{kind}") for kind in ("p50_us", "p99_us")))
            for name, title in self._titled(names)])
        return report.reflow(f"""## Fixed rate

The same answers at {rate * _connections} requests/s over {_connections} connections: {_paced_share * 100:.0f} % of what
h2load gets out of nginx when it asks as fast as it can.

{goals}

{rows}""")

    def json(self) -> str:
        servers, figures, script = self.peers.servers, self.figures, ("--script", "bench/echo.lua")
        os.environ["ECHO_DOCUMENT"] = str(_sent)
        for name in _json_servers:
            back = self.site.get(
                servers[name].url + "/echo", "--header", "content-type: application/json", "--data-binary", f"@{_sent}")
            if _present(back) != _present(_sent.read_text()):
                raise Failure(f"{name} does not give the document back as it came.")
            self._load("warm_up", servers[name], "/echo", *script)
        for in_turn in self._rounds("JSON in, JSON out"):
            self._load("json_nginx", servers["nginx"], "/livez")
            for name in in_turn(_json_servers):
                self._load(f"json_{name}", servers[name], "/echo", *script)
            for name in ["nginx", *_json_servers]:
                figures.take_ratios("json_echo", f"json_{name}", "rate", "us")
        goals = self._goals(
            self._goal("requests/s beside nginx's static answer", "json_echo_to_json_nginx_rate", ">=", 0.85),
            self._goal("requests/s beside Go", "json_echo_to_json_go_rate", ">=", 2),
            self._goal("requests/s beside Hummingbird", "json_echo_to_json_hummingbird_rate", ">=", 4))
        rows = table(
            " | requests/s | processor µs/request | p50 µs | p99 µs | this one has so many times its requests/s", [
                row(title, figures.with_interval(f"json_{name}_rate"),
                    figures.with_interval(f"json_{name}_us", digits=2), figures.median(f"json_{name}_p50_us"),
                    figures.median(f"json_{name}_p99_us"),
                    figures.with_interval(f"json_echo_to_json_{name}_rate", digits=2))
                for name, title in self._titled(["echo", "nginx", "go", "hummingbird", "fastapi"])])
        return report.reflow(f"""## JSON in, JSON out

{_connections} connections, wrk. A document of {_sent.stat().st_size} bytes is read member by member, checked, and
written anew: here by the real parser, router and JSON module (`bench/echo`); by Go with encoding/json, by Hummingbird
with
Codable, by FastAPI with pydantic. nginx gives its static answer to a GET.

{goals}

{rows}""")

    def rows(self) -> str:
        figures = self.figures
        self._measure_rows("SELECT by key", "select", 8, "bench/select_row.sql", "/", "bench/get_rows.lua")
        self._measure_rows("INSERT", "insert", 32, "bench/insert_row.sql", "/rows", "bench/post_rows.lua")
        goals = self._goals(
            self._goal("SELECT beside pgbench", "select_echo_to_select_pgbench_rate", ">=", 1.0),
            self._goal("processor time of a SELECT", "select_echo_us", "<=", 11, " µs", 1),
            self._goal("SELECT beside Go", "select_echo_to_select_go_rate", ">=", 1.5),
            self._goal("INSERT beside pgbench", "insert_echo_to_insert_pgbench_rate", ">=", 0.95),
            self._goal("INSERT beside Go", "insert_echo_to_insert_go_rate", ">=", 1.5))

        def cells(deed: str, name: str) -> list[str]:
            return [figures.with_interval(f"{deed}_{name}_rate"), figures.with_interval(f"{deed}_{name}_us", digits=1),
                    figures.median(f"{deed}_{name}_p99_us")]

        rows = table(" | SELECT/s | processor µs | p99 µs | INSERT/s | processor µs | p99 µs", [
            *(row(title, *cells("select", name), *cells("insert", name))
              for name, title in self._titled(["echo", "go"])),
            row("pgbench", figures.with_interval("select_pgbench_rate"), "", "",
                figures.with_interval("insert_pgbench_rate"), "", "")])
        return report.reflow(f"""## Rows

One SELECT by key, and one INSERT with synchronous commit, each a request over HTTP with JSON in the answer
({_connections} and {_connections} connections of wrk; `bench/echo` through the project's Postgres module with the
connections that the merchant has; Go with pgx v4, 8 and 32 connections). pgbench sends the same statements, prepared,
from the server's core with 8 and 32 clients. PostgreSQL is alone with pgbench on the other core; with the servers it
shares that core with wrk.

{goals}

{rows}""")

    def _measure_rows(self, what: str, deed: str, clients: int, file: str, path: str, script: str) -> None:
        servers, figures = self.peers.servers, self.figures
        for in_turn in self._rounds(what):
            for side in in_turn(["echo", "pgbench", "go"]):
                if side == "pgbench":
                    figures.take(f"{deed}_pgbench_rate", self._run_pgbench(file, clients))
                else:
                    self._load(f"{deed}_{side}", servers[side], path, "--script", script)
            figures.take_ratios(f"{deed}_echo", f"{deed}_pgbench", "rate")
            figures.take_ratios(f"{deed}_echo", f"{deed}_go", "rate", "us")

    def _run_pgbench(self, file: str, clients: int) -> float:
        # The text parameters of the INSERT: pgbench's variables hold numbers and text alike.
        text = output_of(*self.site.placement.on_server, *self.site.database.pgbench(
            file, clients, _round_seconds, "reference=order-731", "description=Two coffees and a cake, table 731"))
        return float(re.search(r"^tps = ([\d.]+)", text, re.M)[1])

    def tls(self) -> str:
        figures, kept = self.figures, self.peers.servers["secure_kept"]
        for _ in self._rounds("TLS"):
            self._ask_securely("client_kept", "kept", 16, "/kept")
            self._ask_securely("client_full", "full", 8, "/once", "--body", ".")
            self._ask_securely("client_resumed", "resumed", 8, "/once", "--body", "r")
            figures.take_ratios("client_resumed", "client_full", "us")
            self._load("server_kept", kept, "/static")
            self._be_asked_securely("server_full", "full")
            self._be_asked_securely("server_resumed", "resumed")
            figures.take_ratios("server_resumed", "server_full", "us")
        goals = self._goals(
            self._goal("client: a request on a connection that stays", "client_kept_us", "<=", 12, " µs", 1),
            self._goal("client: a resumed handshake beside a full one", "client_resumed_to_client_full_us", "<=", 0.4),
            self._goal("server: a request on a connection that stays", "server_kept_us", "<=", 12, " µs", 1))
        rows = table(" | kept connection, µs | full handshake, µs | resumed handshake, µs | resumed beside full", [
            row(side, figures.with_interval(f"{side}_kept_us", digits=1), figures.with_interval(f"{side}_full_us"),
                figures.with_interval(f"{side}_resumed_us"),
                figures.with_interval(f"{side}_resumed_to_{side}_full_us", digits=2)) for side in ("client", "server")])
        return report.reflow(f"""## TLS

Processor time of one request: of this project's client, certificates checked, against nginx on the other core; and of
`bench/echo` over TLS. A handshake stands for a connection with one request. Both sides take TLS 1.3 and an EC
certificate (P-256); nginx says of every connection of the client's whether its session was resumed.

{goals}

{rows}""")

    def _ask_securely(self, name: str, way: str, width: int, path: str, *options: str) -> None:
        """This project's client on the server's processor, nginx on the other one; takes NAME_us, the client's
        processor time for one request."""
        count, nanoseconds = map(int, output_of(
            *self.site.placement.on_server, self.site.programs / "LoadProgram", "secure", "--way", way,
            "--width", width, "--url", self.peers.secure_nginx_url + path, "--ca-file",
            self.site.scratch / "secrets/ca.pem", *options,
            "--seconds", _round_seconds).split())
        self.figures.take(f"{name}_us", nanoseconds / 1000 / count)

    def _be_asked_securely(self, name: str, way: str) -> None:
        """The echo server on the server's processor, the client on the other one; takes NAME_us, the server's processor
        time for a connection of one request."""
        server = self.peers.servers["secure_once"]
        before = cpu_ns(server.pid)
        # A warm-up would count: what was answered in it is not told.
        count = int(output_of(
            *self.site.placement.on_other, self.site.programs / "LoadProgram", "secure", "--way", way,
            "--warm-up-milliseconds", 0, "--url", server.static_url, "--ca-file", self.site.scratch / "secrets/ca.pem",
            "--seconds", _round_seconds).split()[0])
        self.figures.take(f"{name}_us", (cpu_ns(server.pid) - before) / 1000 / count)

    def auth(self) -> str:
        """Two routes of the merchant that do nothing but refuse, alike but for the token that one of them reads first:
        there are no files for Apple, and no widget tokens."""
        figures, merchant = self.figures, self.peers.servers["merchant"]
        token = self.site.tokens("bench", 1).read_text().strip()
        options = ["--header", f"authorization: Bearer {token}", "--script", "bench/post_nothing.lua"]
        self.peers.restart_merchant(
            WIDGET_TOKENS="off", USER_RATE=1_000_000, HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX=64)
        self._load("warm_up", merchant, "/v1/widget-token", *options, refused=True)
        for _ in self._rounds("With and without a token"):
            self._load("auth_without", merchant, "/.well-known/apple-app-site-association", refused=True)
            self._load("auth_with", merchant, "/v1/widget-token", *options, refused=True)
            figures.take("auth_more_us", figures.last("auth_with_us") - figures.last("auth_without_us"))
        goals = self._goals(self._goal("what the token costs", "auth_more_us", "<=", 1.5, " µs"))
        rows = table(" | requests/s | processor µs/request", [
            row(title, figures.with_interval(f"{name}_rate"), figures.with_interval(f"{name}_us", digits=2))
            for title, name in (("without a token", "auth_without"), ("with one", "auth_with"))])
        return report.reflow(f"""## With a token

Two requests to the merchant that end alike, with the same 404: `POST /v1/widget-token` where widget tokens are turned
off, which first reads whose token it is, counts the user's requests and those under way; and
`GET /.well-known/apple-app-site-association` where there is none, which asks for no token. {_connections} connections,
wrk.

{goals}

{rows}""")


def _present(text: str) -> dict[str, object]:
    """The members of a document. Their order is free, and one that is null may be left out."""
    return {name: value for name, value in json.loads(text).items() if value is not None}
