"""./dev hiccups: how long an app is kept by one failure of Belvo's, for each call that changes something there."""

import json
import pathlib
import ssl
import statistics
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from .processes import Failure, output_of, say
from .report import commit, now, row, table
from .site import Site
from .wire import Wire

_document = pathlib.Path("docs/belvo-failures.md")
_begin, _end = "<!-- hiccups -->", "<!-- end of hiccups -->"
_bank = "188716fb-39ad-44a7-a992-6c278d2b24a4"
_outage_seconds = 10
_patience_seconds = 90

# What goes wrong with one call, as the sandbox does it.
_failures: dict[str, dict | None] = {
    "nothing": None,
    "dropped before": {"fault": "drop_request"},
    "dropped after": {"fault": "drop_answer"},
    "reset": {"fault": "delay_answer", "milliseconds": 1_000},
    "no HTTP": {"fault": "garbage"},
    "500": {"fault": "status", "status": 500},
    "500 though processed": {"fault": "status_after", "status": 500},
    "502 page": {"fault": "status", "status": 502, "body": "<html>Bad Gateway</html>", "content_type": "text/html"},
    "503": {"fault": "status", "status": 503},
    "504": {"fault": "status", "status": 504},
    "429": {"fault": "too_many_requests"},
    "429, `Retry-After: 2`": {"fault": "too_many_requests", "retry_after": 2},
    "truncated": {"fault": "truncated", "bytes": 9},
    "not JSON": {"fault": "garbage_body"},
    "empty": {"fault": "status", "status": 200, "body": ""},
    "403 page": {"fault": "forbidden_page"},
    "unanswered": {"fault": "delay_request", "milliseconds": 600_000},
    "outage of 10 s": {"fault": "drop_request", "always": True}}


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict
    retry_after: float | None
    tag: str | None

    @property
    def action(self) -> dict:
        return self.body.get("next_action") or {}

    @property
    def pause(self) -> float:
        """What the answer asks an app to wait."""
        return self.action.get("after_ms", 2_000) / 1_000

    @property
    def is_for_now(self) -> bool:
        """Whether the same may be asked again."""
        return self.status in (429, 500, 502, 503, 504) or self.body.get("code") == "in_progress"


@dataclass
class App:
    """An app that does what `next_action` says, as docs/apps.md has it."""

    site: Site
    token: str
    context: ssl.SSLContext
    signals: str = "{}"
    # Before this an answer makes no difference: the app is given up.
    deadline: float = field(default=float("inf"))

    def send(self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None) -> Answer:
        """One request, without any repetition."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(
            self.site.url + path, data=body.encode() if body is not None else None, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                status, fields, text = response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            status, fields, text = error.code, error.headers, error.read()
        wait = fields.get("Retry-After")
        return Answer(status, json.loads(text) if text else {}, float(wait) if wait else None, fields.get("ETag"))

    def insist(self, *request: object) -> Answer:
        """The same again while the server is busy or away, after the pause that it asks for."""
        pause = 1.0
        while True:
            answer = self.send(*request)
            if not answer.is_for_now:
                return answer
            if time.monotonic() > self.deadline:
                raise TimeoutError(f"{request[0]} {request[1]} is answered with {answer.status}")
            time.sleep(answer.retry_after or pause)
            pause = min(pause * 2, 30)

    def bring(self, *request: object) -> Answer:
        """The same again while nobody knows what became of it."""
        while True:
            answer = self.insist(*request)
            if answer.status != 202:
                return answer
            if time.monotonic() > self.deadline:
                raise TimeoutError(f"{request[0]} {request[1]} is answered with 202")
            time.sleep(answer.pause)

    def read(self, path: str, until: Callable[[Answer], bool]) -> Answer:
        """The record as soon as it is as wanted, by long polls."""
        answer = self.insist("GET", path)
        while not until(answer):
            if time.monotonic() > self.deadline:
                raise TimeoutError(f"{path} says {answer.action}")
            seen = {"If-None-Match": answer.tag} if answer.tag else {}
            later = self.insist("GET", path + "?wait=20", None, seen)
            answer = later if later.status == 200 else answer
        return answer


@dataclass(frozen=True)
class Step:
    """One call: what leads to it, what the app does then, and what Belvo has of it in the end."""

    name: str
    endpoint: str
    act: Callable[[App, dict], None]
    prepare: Callable[[App], dict]
    #: Where the objects are listed that the step makes; nothing where it makes none.
    objects: str | None = None


@dataclass
class Hiccups:
    site: Site
    rounds: int
    steps: list[str]
    number: int = 0
    problems: list[str] = field(default_factory=list)

    def measure(self) -> str:
        self.context = ssl.create_default_context(cafile=str(self.site.scratch / "secrets/ca.pem"))
        self.steer("PATCH", "variants", {"fido_readiness": "after_ms:0"})
        host, port = self.site.sandbox_url.removeprefix("https://").split(":")
        self.wire = Wire(host, int(port), self.site.port + 20)
        merchant = self.site.start_merchant(BELVO_URL=f"https://{host}:{self.wire.port}")
        rows = []
        for step in [step for step in self._steps() if not self.steps or step.name in self.steps]:
            for failure, fault in _failures.items():
                if failure == "empty" and step.name in ("confirmEnrollment", "authorizePaymentIntent"):
                    continue  # That is a success there: it has no body.
                rows.append(self._measure(step, failure, fault))
                say(rows[-1])
        self.site.stop(merchant)
        for problem in self.problems:
            say(problem)
        return table("call | what goes wrong | median | longest | calls made | objects at Belvo", rows)

    def _measure(self, step: Step, failure: str, fault: dict | None) -> str:
        times, calls, objects = [], set(), set()
        for _ in range(self.rounds):
            app = self._new_app() if step.name == "createCustomer" else self._shopper
            app.deadline = time.monotonic() + _patience_seconds
            made = step.prepare(app)
            before = self._last_call()
            repair: threading.Timer | None = None
            if fault is not None:
                is_outage = "always" in fault
                self.steer("POST", "faults", fault if is_outage else {**fault, "endpoint": step.endpoint})
                if is_outage:
                    repair = threading.Timer(_outage_seconds, lambda: self.steer("DELETE", "faults"))
                    repair.start()
                elif failure == "reset":
                    # Belvo has done it, and its answer is on its way.
                    threading.Timer(0.5, self.wire.tear).start()
            begun = time.monotonic()
            app.deadline = begun + _patience_seconds
            try:
                step.act(app, made)
                spent = time.monotonic() - begun
            except TimeoutError as error:
                self.problems.append(f"{step.name}, {failure}: not through in {_patience_seconds} s: {error}")
                spent = float("inf")
            if repair is not None:
                repair.join()
                spent -= _outage_seconds
            self.steer("DELETE", "faults")
            times.append(spent)
            found = self.steer("GET", f"calls?after={before}")["results"]
            calls.add(sum(call.get("endpoint") == step.endpoint for call in found))
            if step.objects is not None and made.get("id"):
                listed = self.belvo(f"{step.objects}?external_id={made['id']}")
                objects.add(len(listed["results"] if isinstance(listed, dict) else listed))
            # What Belvo has asked for by 429, or the gate decided by itself, is over.
            time.sleep(5 if failure.startswith("429") or failure.startswith("outage") else 0)
        return row(
            step.name, failure, _seconds(statistics.median(times)), _seconds(max(times)),
            _counts(calls), _counts(objects) if step.objects else "–")

    def _steps(self) -> list[Step]:
        return [
            Step("createCustomer", "create_customer", self._become_customer, lambda app: {},
                 "/payments/br/customers/"),
            Step("createEnrollment", "create_enrollment", self._begin_enrollment, lambda app: {},
                 "/payments/br/enrollments/"),
            Step("completeRedirection", "complete_redirection", self._complete, self._come_to_bank),
            Step("confirmEnrollment", "confirm_enrollment", self._confirm, self._come_to_fingerprint),
            Step("createPaymentIntent", "create_payment_intent", self._begin_payment, self._come_to_shop,
                 "/payments/br/payment-intents/"),
            Step("authorizePaymentIntent", "authorize_payment_intent", self._authorize, self._come_to_signature)]

    # What the app does.

    def _become_customer(self, app: App, made: dict) -> None:
        self.number += 1
        body = json.dumps({"name": "Ana Souza", "identifier": _cpf(self.number)})
        answer = app.bring("PUT", "/v1/customer", body)
        if answer.status not in (200, 201):
            raise Failure(f"PUT /v1/customer is answered with {answer.status}: {answer.body}")
        made |= answer.body

    def _begin_enrollment(self, app: App, made: dict) -> None:
        body = f'{{"institution": "{_bank}", "platform": "IOS", "risk_signals": {app.signals}}}'
        while True:
            answer = app.bring("POST", "/v1/enrollments", body, {"Idempotency-Key": str(uuid.uuid4())})
            if answer.action.get("type") == "redirect":
                break
            if answer.action.get("type") != "retry":
                raise Failure(f"an enrollment is answered with {answer.status}: {answer.body}")
        made |= answer.body

    def _come_to_bank(self, app: App) -> dict:
        made: dict = {}
        self._begin_enrollment(app, made)
        handed = self.steer("POST", f"enrollments/{made['belvo_id']}/approve", {})
        made["handed"] = json.dumps(handed.get("parameters", handed))
        return made

    def _complete(self, app: App, made: dict) -> None:
        app.insist("POST", "/v1/enrollments/complete-redirection", made["handed"])
        path = f"/v1/enrollments/{made['id']}"
        made |= app.read(path, until=lambda answer: answer.action.get("type") == "register").body

    def _come_to_fingerprint(self, app: App) -> dict:
        made = self._come_to_bank(app)
        self._complete(app, made)
        made["confirmation"] = self._phone("register", made)
        return made

    def _confirm(self, app: App, made: dict) -> None:
        path = f"/v1/enrollments/{made['id']}"
        answer = app.bring("POST", f"{path}/confirm", f'{{"confirmation_data": {made["confirmation"]}}}')
        if answer.status != 204:
            raise Failure(f"a registration is answered with {answer.status}: {answer.body}")
        made |= app.read(path, until=lambda answer: answer.body["status"] != "PENDING").body
        if made["status"] != "SUCCEEDED":
            raise Failure(f"an enrollment ends as {made}")

    def _come_to_shop(self, app: App) -> dict:
        _ = self._enrollment
        return {}

    def _begin_payment(self, app: App, made: dict) -> None:
        key = str(uuid.uuid4())
        body = json.dumps({
            "enrollment": self._enrollment, "reference": key, "amount": "5.00", "description": "A biscuit"})
        answer = app.bring("POST", "/v1/payment-intents", body, {"Idempotency-Key": key})
        if answer.action.get("type") != "sign":
            raise Failure(f"a payment is answered with {answer.status}: {answer.body}")
        made |= answer.body

    def _come_to_signature(self, app: App) -> dict:
        made: dict = {}
        self._begin_payment(app, made)
        made["assertion"] = self._phone("sign", made)
        return made

    def _authorize(self, app: App, made: dict) -> None:
        """Through is who knows that it was taken, or that it is being checked."""
        body = f'{{"risk_signals": {app.signals}, "assertion": {made["assertion"]}}}'
        answer = app.insist("POST", f"/v1/payment-intents/{made['id']}/authorize", body)
        if answer.status not in (202, 204):
            raise Failure(f"a signature is answered with {answer.status}: {answer.body}")

    # Beside the app.

    def steer(self, method: str, path: str, body: dict | None = None) -> dict:
        return self._ask(method, f"/sandbox/{path}", body)

    def belvo(self, path: str) -> dict:
        return self._ask("GET", path, None, {"Authorization": "Basic c2FuZGJveC1pZDpzYW5kYm94LXBhc3N3b3Jk"})

    def _ask(self, method: str, path: str, body: dict | None, headers: dict[str, str] | None = None) -> dict:
        request = urllib.request.Request(
            self.site.sandbox_url + path, method=method,
            headers={"Content-Type": "application/json", **(headers or {})},
            data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=30, context=self.context) as response:
            text = response.read()
        return json.loads(text) if text else {}

    def _last_call(self) -> int:
        return max((call["number"] for call in self.steer("GET", "calls")["results"]), default=0)

    def _phone(self, what: str, record: dict) -> str:
        options = self.site.scratch / "options.json"
        options.write_text(json.dumps(record))
        return output_of(self.site.programs / "phone", what, options, "--key-file", self.site.scratch / "phone.json")

    def _new_app(self) -> App:
        token = output_of(
            self.site.programs / "merchant", "token", "--subject", f"user-{uuid.uuid4()}", "--config",
            self.site.settings)
        return App(self.site, token, self.context)

    @property
    def _shopper(self) -> App:
        """One who has a customer; made when it is first asked for."""
        if not hasattr(self, "_known_shopper"):
            app, made = self._new_app(), {}
            self._become_customer(app, made)
            app.signals = output_of(
                self.site.programs / "phone", "risk-signals", "--account-tenure", made["account_tenure"], "--key-file",
                self.site.scratch / "phone.json")
            self._known_shopper = app
        return self._known_shopper

    @property
    def _enrollment(self) -> str:
        """What the shopper pays with; made when it is first asked for."""
        if not hasattr(self, "_known_enrollment"):
            made = self._come_to_fingerprint(self._shopper)
            self._confirm(self._shopper, made)
            self._known_enrollment = made["id"]
        return self._known_enrollment


def run(site: Site, rounds: int, steps: list[str], keep: bool) -> str:
    """Measures everything, and writes the table into the document."""
    text = Hiccups(site, rounds, steps).measure()
    if keep:
        document = _document.read_text()
        before, after = document.index(_begin) + len(_begin), document.index(_end)
        taken = f"Taken {now()} at commit {commit()}, {rounds} times each."
        _document.write_text(f"{document[:before]}\n\n{taken}\n\n{text}\n\n{document[after:]}")
    return text


def _seconds(time: float) -> str:
    return "not through" if time == float("inf") else f"{max(time, 0):.1f} s"


def _counts(counts: set[int]) -> str:
    return " or ".join(map(str, sorted(counts))) or "–"


def _cpf(number: int) -> str:
    """A CPF with its two check digits, another for each number."""
    digits = [int(digit) for digit in str(130_000_000 + number)]
    for _ in range(2):
        total = sum(digit * (place + 2) for place, digit in enumerate(reversed(digits)))
        digits.append(total * 10 % 11 % 10)
    return "".join(map(str, digits))
