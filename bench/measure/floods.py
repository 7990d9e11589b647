"""The part of ./dev attack about floods: customers who pay, first alone and then beside somebody who means harm."""

import json
import time
from dataclasses import dataclass, field

from .figures import Figures
from .processes import Child, output_of, say, status_field
from .report import row, table
from .site import Site

_mib = 1 / 1024


@dataclass(frozen=True)
class Flood:
    """What `LoadProgram flood` does: so often a second (readers: so many connections), from so many addresses."""

    name: str
    harm: str
    rate: int
    addresses: int
    what: str


_floods = [
    Flood("one address", "callbacks", 300, 1, "redirects with made-up state and code, 300 a second from one address"),
    Flood("many addresses", "callbacks", 300, 2_000, "the same from 2000 addresses"),
    Flood("large forms", "forms", 50, 50, "redirects as forms of 31 KB, 50 a second from 50 addresses"),
    Flood("wrong tokens", "tokens", 500, 1, "guesses at the shop's and users' tokens, 500 a second"),
    Flood("one user", "user", 200, 1, "one user: enrollments, redirects, lists, widget tokens, 200 a second"),
    Flood("slow readers", "readers", 600, 1, "one user's longest list on 600 connections that never read")]

# The server as it is in use, and not as the other measurements have it: every bound is at its default. It trusts its
# peer's word about addresses, so that one program can come from many.
_defaults = {
    "USER_RATE": 20, "ADDRESS_RATE": 20, "BELVO_RATE": 50, "BELVO_USER_RATE": 10, "BELVO_STRANGER_RATE": 5,
    "HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX": 32, "HTTP_CONNECTIONS_PER_ADDRESS_MAX": 1024,
    "USER_OPEN_ENROLLMENTS_MAX": 20, "USER_ENROLLMENTS_PER_DAY_MAX": 50, "USER_OPEN_PAYMENTS_MAX": 20,
    "TRUSTED_PROXIES": "127.0.0.1"}


@dataclass
class Floods:
    site: Site
    rounds: int
    seconds: int
    customers: int
    rest_seconds: int
    figures: Figures = field(default_factory=Figures)
    answers: dict[str, str] = field(default_factory=dict)

    def measure(self) -> None:
        merchant = self.site.start_merchant(**_defaults)
        say(f"Enrolling {self.customers} phones ...")
        crowd = self.site.start_crowd(self.customers)
        crowd.order("begin", "steady", self.customers)
        time.sleep(5)
        for flood in _floods:
            self._measure_flood(flood, merchant, crowd)
        crowd.order("end")
        self.site.stop(crowd.child)
        self.site.stop(merchant)

    def _measure_flood(self, flood: Flood, merchant: Child, crowd) -> None:
        name, figures = flood.name, self.figures
        self._take_held(f"{name}_before", merchant)
        for number in range(1, self.rounds + 1):
            say(f"Customers alone and beside {name}, round {number} of {self.rounds} ...")
            self._take_customers(f"{name}_alone", crowd)
            attacker = self._begin(flood)
            time.sleep(2)
            self._take_customers(f"{name}_beside", crowd)
            self._take_held(name, merchant)
            self.answers[name] = self.site.log("flood").read_text().splitlines()[-1].split(" ", 1)[-1]
            self.site.stop(attacker)
            figures.take_ratios(f"{name}_beside", f"{name}_alone", "p99_us")
            time.sleep(3)
        time.sleep(self.rest_seconds)
        self._take_held(f"{name}_after", merchant)

    def _take_customers(self, name: str, crowd) -> None:
        crowd.order("count")
        time.sleep(self.seconds)
        done, failed, _, p50, p99 = map(float, crowd.order("count"))
        self.figures.take_all(name, done=done, failed=failed, p50_us=p50, p99_us=p99)

    def _take_held(self, name: str, merchant: Child) -> None:
        size = self.site.database.query("SELECT pg_database_size(current_database())")
        self.figures.take_all(name, kib=status_field(merchant.pid, "VmRSS"), db_kib=float(size) / 1024)

    def _begin(self, flood: Flood) -> Child:
        token = self.site.tokens(f"hostile-{flood.name.replace(' ', '-')}", 1).read_text().strip()
        enrollment = self._largest_enrollment(token) if flood.harm in ("user", "readers") else "{}"
        return self.site.children.start(
            "flood", self.site.log("flood"),
            [*self.site.placement.on_other, "chrt", "--idle", 0, self.site.programs / "LoadProgram", "flood",
             "--merchant", self.site.url, "--harm", flood.harm, "--rate", flood.rate, "--addresses", flood.addresses,
             "--token", token, "--enrollment", enrollment])

    def _largest_enrollment(self, token: str) -> str:
        """Makes the token's user a customer, and gives a body that begins an enrollment as large as may be."""
        fields = ["--header", f"Authorization: Bearer {token}", "--header", "Content-Type: application/json"]
        person = json.dumps({"name": "Eve Souza", "identifier": "111.444.777-35"})
        customer = json.loads(self.site.get(
            self.site.url + "/v1/customer", "--request", "PUT", "--data", person, *fields))
        banks = json.loads(self.site.get(self.site.url + "/v1/institutions", *fields))
        signals = output_of(
            self.site.programs / "phone", "risk-signals", "--account-tenure", customer["account_tenure"])
        return json.dumps({
            "institution": banks["results"][0]["id"], "platform": "IOS", "metadata": {"a": "x" * 4_000},
            "risk_signals": json.loads(signals)})

    def _held(self, name: str, kind: str) -> str:
        moments = (f"{name}_before_{kind}", f"{name}_{kind}", f"{name}_after_{kind}")
        return ", ".join(self.figures.median(moment, _mib, 1) for moment in moments)

    def report(self) -> str:
        figures = self.figures
        rows = []
        for flood in _floods:
            name = flood.name
            ratio = f"{name}_beside_to_{name}_alone_p99_us"
            rows.append(row(
                name, flood.what, self.answers[name], figures.with_range(f"{name}_beside_done"),
                figures.with_range(f"{name}_beside_failed"),
                figures.with_range(f"{name}_alone_p99_us", 1e-3, 1) + " ms",
                figures.with_range(f"{name}_beside_p99_us", 1e-3, 1) + " ms", figures.with_range(ratio, digits=2),
                figures.verdict(f"{name}_beside_failed", "<=", 0), figures.verdict(ratio, "<", 2)))
        served = table(
            "flood | what it is | its answers by status | payments beside it | failed | p99 alone | p99 beside | ratio"
            " | none failed | under 2", rows)
        held = table("flood | resident MiB before, meanwhile, after | database MiB before, meanwhile, after", [
            row(flood.name, *(self._held(flood.name, kind) for kind in ("kib", "db_kib"))) for flood in _floods])
        return f"""## Floods beside customers who pay

{self.customers} customers on enrolled phones open a payment and sign it, rest a second, and begin again; every bound of
the server is at its default. Latency is that of opening and signing, with the stand-in for Belvo and on disk; failed is
each payment of theirs of which a request was not granted. Each of {self.rounds} rounds is {self.seconds} s alone and as
long beside the flood, and is compared with itself; Status 0
is no answer.

How much of a flood got through stands in its answers. {self.rest_seconds} s lie between its end and what is held after
it.

{served}

{held}"""
