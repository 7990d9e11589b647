"""People who pay, with apps that do not give up, and what these were told."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from .machines import Failure

PATIENCE = 10


@dataclass
class Told:
    """An answer that promises something."""

    kind: str
    subject: str
    key: str | None
    id: str
    body: bytes


@dataclass
class Testimony:
    """What apps were told, and when: what the rows have to agree with afterwards."""

    answers: list[Told] = field(default_factory=list)
    successes: dict[str, list[float]] = field(default_factory=lambda: {"read": [], "create": [], "end": []})
    failures: list[tuple[float, str]] = field(default_factory=list)
    paid: dict[str, bool] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def succeed(self, kind):
        with self.lock:
            self.successes[kind].append(time.monotonic())

    def fail(self, text):
        with self.lock:
            self.failures.append((time.monotonic(), text))

    def promise(self, told):
        with self.lock:
            self.answers.append(told)

    def complain(self, text):
        with self.lock:
            self.complaints.append(text)

    def longest_gap(self, kind, start, end):
        """The longest time within a span in which nobody was told of a success."""
        with self.lock:
            moments = [start, *(moment for moment in self.successes[kind] if start < moment < end), end]
        return max(after - before for before, after in zip(moments, moments[1:]))

    def seen(self, start, end):
        """What apps saw other than successes, the most frequent first."""
        with self.lock:
            counts = Counter(text for moment, text in self.failures if start <= moment <= end)
        return ", ".join(f"{count} × {text}" for text, count in counts.most_common()) or "nothing"


class App:
    """One user's app. It asks again, with the same key, until it knows."""

    def __init__(self, site, testimony, number, stop):
        self.site, self.testimony, self.stop = site, testimony, stop
        self.subject = f"user-{number}"
        self.number = number
        self.token = site.token(self.subject)
        self.keys = site.scratch / f"phone-{number}.json"
        self.connection = None

    def ask(self, method, path, body=None, key=None):
        """Status and value, or (0, None) without an answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        try:
            if self.connection is None:
                self.connection = http.client.HTTPSConnection(
                    self.site.proxy.address, timeout=PATIENCE, context=self.site.tls)
            self.connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            self.connection = None
            silent = isinstance(error, TimeoutError)
            self.testimony.fail(f"no answer within {PATIENCE} s" if silent else "connection closed")
            return 0, None
        try:
            value = json.loads(text) if text else None
        except ValueError:
            value = None
        if answer.status >= 500 or answer.status == 429:
            code = (value or {}).get("code", "of the proxy")
            self.testimony.fail(f"{answer.status} {code}")
        return answer.status, value

    def expect(self, method, path, body=None, key=None):
        status, value = self.ask(method, path, body, key)
        if not 200 <= status < 300:
            raise Failure(f"{method} {path}: {status} {value}")
        return value

    def enroll(self):
        bank = self.expect("GET", "/v1/institutions")["results"][0]["id"]
        customer = self.expect(
            "PUT", "/v1/customer", {"name": f"User {self.number}", "identifier": tax_number(self.number)})
        self.signals = self.site.phone(
            self.keys, "risk-signals", "--account-tenure", customer["account_tenure"])
        begun = self.expect(
            "POST", "/v1/enrollments", {"institution": bank, "platform": "IOS", "risk_signals": self.signals})
        approval = self.site.control("POST", f"/sandbox/enrollments/{begun['belvo_id']}/approve")
        self.expect("POST", "/v1/enrollments/complete-redirection", approval["parameters"])
        path = f"/v1/enrollments/{begun['id']}"
        ready = self.wait(path, lambda found: (found["next_action"] or {}).get("type") == "register")
        confirmation = self.site.phone(self.keys, "register", "-", text=json.dumps(ready))
        self.expect("POST", f"{path}/confirm", {"confirmation_data": confirmation})
        self.wait(path, lambda found: found["status"] == "SUCCEEDED")
        self.enrollment = begun["id"]

    def wait(self, path, done):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            found = self.expect("GET", path)
            if done(found):
                return found
            time.sleep(0.2)
        raise Failure(f"{path} does not come to its end")

    def pause(self):
        time.sleep(random.uniform(0.1, 0.3))

    def buy_until_told(self, span, wishes):
        """Buys one thing after the other; what was begun is brought to its end."""
        count = 0
        while not span.is_set():
            count += 1
            reference = f"{wishes}-{self.number}-{count}"
            with self.testimony.lock:
                self.testimony.paid[reference] = False
            if self.buy(reference):
                with self.testimony.lock:
                    self.testimony.paid[reference] = True

    def buy(self, reference):
        for attempt in range(1, 100):
            opened = self.open(reference, f"{reference}-{attempt}")
            if opened is None:
                return False
            if opened == "failed":
                self.pause()
                continue
            if self.pay(opened):
                return True
            self.pause()
        return False

    def open(self, reference, key):
        """The payment, "failed", or None when this program ends or something is said that nobody should say."""
        body = {"enrollment": self.enrollment, "reference": reference, "amount": "19.90", "description": "Two coffees"}
        while not self.stop.is_set():
            status, value = self.ask("POST", "/v1/payment-intents", body, key)
            code = (value or {}).get("code")
            if status in (200, 201, 202):
                if status == 201:
                    self.testimony.succeed("create")
                self.testimony.promise(Told("create", self.subject, key, value["id"], json.dumps(value).encode()))
                if value["status"] == "FAILED":
                    return "failed"
                if status != 202:
                    return value
            elif status == 409 and code in ("already_paid", "payment_in_doubt") and value.get("payment_intent"):
                return {"id": value["payment_intent"], "status": "PENDING", "next_action": {"type": "look"}}
            elif status == 422 and code == "payment_failed":
                return "failed"
            elif not (status == 0 or status >= 500 or status == 429 or code == "in_progress"):
                self.testimony.complain(f"POST /v1/payment-intents: {status} {value}")
                return None
            self.pause()
        return None

    def pay(self, payment):
        path = f"/v1/payment-intents/{payment['id']}"
        while (payment["next_action"] or {}).get("type") == "poll" and not self.stop.is_set():
            self.pause()
            status, value = self.ask("GET", path)
            payment = value if status == 200 else payment
        if (payment["next_action"] or {}).get("type") == "sign":
            assertion = self.site.phone(self.keys, "sign", "-", text=json.dumps(payment))
            # Signed once: the same assertion goes out as often as it takes.
            body = {"risk_signals": self.signals, "assertion": assertion}
            while not self.stop.is_set():
                status, value = self.ask("POST", f"{path}/authorize", body)
                code = (value or {}).get("code")
                if status in (202, 204):
                    self.testimony.promise(Told("authorize", self.subject, None, payment["id"], b""))
                    break
                if status in (409, 422) and code in ("wrong_state", "payment_failed", "already_paid"):
                    break
                if not (status == 0 or status >= 500 or status == 429 or code == "in_progress"):
                    self.testimony.complain(f"authorize: {status} {value}")
                    return False
                self.pause()
        while not self.stop.is_set():
            status, value = self.ask("GET", path)
            if status == 404:
                self.testimony.complain(f"payment {payment['id']} is not there any more")
                return False
            if status == 200 and value["status"] != "PENDING":
                if value["status"] == "SUCCEEDED":
                    self.testimony.succeed("end")
                    self.testimony.promise(Told("end", self.subject, None, payment["id"], b""))
                return value["status"] == "SUCCEEDED"
            self.pause()
        return False

    def read_until_told(self, span):
        """Asks for a list ten times a second."""
        while not span.is_set():
            status, _ = self.ask("GET", "/v1/payment-intents?limit=1")
            if status == 200:
                self.testimony.succeed("read")
            time.sleep(0.1)


def tax_number(number):
    """A CPF with its two check digits, another for each number."""
    digits = [int(digit) for digit in str(120_000_000 + number)]
    for _ in range(2):
        total = sum(digit * (place + 2) for place, digit in enumerate(reversed(digits)))
        digits.append(total * 10 % 11 % 10)
    return "".join(map(str, digits))


class Crowd:
    """Everybody at once, for as long as something is played."""

    def __init__(self, site, testimony, buyers):
        self.site, self.testimony = site, testimony
        self.stop = threading.Event()
        self.buyers = [App(site, testimony, number, self.stop) for number in range(buyers)]
        self.readers = [App(site, testimony, number, self.stop) for number in (0, 1)]
        for app in self.buyers:
            app.enroll()
        # Belvo's calls are read along: its log forgets.
        self.calls, self.last = [], 0
        self.clerk = threading.Thread(target=self._read_calls, daemon=True)
        self.clerk.start()

    def _read_calls(self):
        while True:
            try:
                self.read_calls()
            except OSError:
                pass
            time.sleep(1)

    def read_calls(self):
        with self.testimony.lock:
            answer = self.site.control("GET", f"/sandbox/calls?after={self.last}")
            for call in answer["results"]:
                if call["number"] != self.last + 1:
                    raise Failure("the sandbox forgot calls before they were read.")
                self.last = call["number"]
                self.calls.append(call)

    def during(self, name, body):
        """Has everybody buy while the body runs; gives its value when nobody has anything under way any more."""
        span = threading.Event()
        buyers = [threading.Thread(target=app.buy_until_told, args=(span, name), daemon=True) for app in self.buyers]
        readers = [threading.Thread(target=app.read_until_told, args=(span,), daemon=True) for app in self.readers]
        for thread in buyers + readers:
            thread.start()
        try:
            return body()
        finally:
            span.set()
            self._wait(buyers, 25)
            for _ in range(6):
                if not any(thread.is_alive() for thread in buyers):
                    break
                # What was signed and never arrived at Belvo is in doubt until it lapses there.
                try:
                    self.site.pass_time(310)
                except (OSError, Failure):
                    pass
                self._wait(buyers, 15)
            if any(thread.is_alive() for thread in buyers):
                self.stop.set()
                self._wait(buyers, 30)
                self.stop.clear()

    @staticmethod
    def _wait(threads, seconds):
        end = time.monotonic() + seconds
        for thread in threads:
            thread.join(max(0, end - time.monotonic()))
