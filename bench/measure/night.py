"""./dev night: a shop runs through a night of faults, and what operators see of it is written into a document."""

import base64
import datetime
import http.server
import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from . import report
from .processes import Child, OrderTaker, output_of, say
from .site import Site, beneficiary, free_port

_document = pathlib.Path("docs/operations.md")
_night_owls = 8
#: One of them goes to bed early.
_users = 9


@dataclass
class NightSite(Site):
    """What a night has beside a benchmark: a shop that is told, shorter patience with phones, webhooks."""

    settle_after_ms: int = 500
    shop_port: int = field(init=False)
    shop_token: str = field(init=False)

    def _write_settings(self) -> None:
        super()._write_settings()
        self.shop_port = free_port(self.port + 20)
        self.shop_token = secrets.token_hex(32)
        key = base64.b64encode(secrets.token_bytes(32)).decode()
        self.add_settings(
            SHOP_TOKEN=self.shop_token, SHOP_WEBHOOK_URL=f"http://127.0.0.1:{self.shop_port}/events",
            SHOP_WEBHOOK_SECRET=f"whsec_{key}", POLL_INTERVAL_MS=500, POLL_DEADLINE_MS=20_000)

    def _sandbox_options(self) -> list[object]:
        return [
            "--webhook-url", f"{self.url}/webhooks/belvo", "--webhook-token", self.setting("BELVO_WEBHOOK_TOKEN"),
            "--webhook-retry-ms", 5000]


def run(site: NightSite, keep: bool) -> str:
    """Plays the night, and fills the document with what was printed."""
    night = Night(site)
    night.play()
    outputs = night.outputs()
    text = _document.read_text()
    for name, output in outputs.items():
        text = re.sub(
            rf"(?ms)^(<!-- night {re.escape(name)} -->)$.*?^<!-- end -->$",
            lambda match, output=output: f"{match[1]}\n\n```text\n{output}\n```\n\n<!-- end -->", text)
    if keep:
        report.write(_document, text)
    return f"{_document} has what the night left behind." if keep else text


@dataclass
class Night:
    site: NightSite
    log: list[str] = field(default_factory=list)
    merchant: Child = field(init=False)
    crowd: OrderTaker = field(init=False)
    tokens: list[str] = field(init=False)
    evening: str = field(init=False)
    dump: pathlib.Path = field(init=False)
    #: A payment that was given up here and paid at Belvo.
    corrected: str = field(init=False)

    # What goes wrong, and in which order.

    def play(self) -> None:
        self.evening = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        self.merchant = self.site.start_merchant()
        self.tokens = self.site.tokens("load", _users).read_text().split()
        self.crowd = self.site.start_crowd(_users)
        for number in (1, 2, 3):
            self.site.get(
                f"{self.site.url}/orders/cake-{number}", "--request", "PUT", *self._bearer(self.site.shop_token),
                "--data", json.dumps({"subject": f"load-{number}", "amount": "49.90", "description": "A cake"}))
        self._pay(3, "A quiet evening", _users)
        say("A backup, while they pay ...")
        # While the server works: a dump is one snapshot, whatever goes on beside it.
        self.dump = self.site.scratch / "merchant.dump"
        output_of(
            self.site.database.programs / "pg_dump", "--format=custom", f"--file={self.dump}", self.site.database.url())
        self.crowd.order("end")

        self._fault("create_payment_intent", fault="drop_answer", count=4)
        self._fault("create_payment_intent", fault="status_after", status=500, count=2)
        self._fault("authorize_payment_intent", fault="drop_answer", count=4)
        self._pay(3, "Belvo's answers are lost")
        self.crowd.order("end")

        self._fault("get_payment_intent", fault="status", status=503, count=40)
        self._fault("create_payment_intent", fault="too_many_requests", retry_after=1, count=2)
        self._pay(4, "Belvo is overloaded")
        self.crowd.order("end")

        self._control("PATCH", "variants", webhook_copies="2")
        self._pay(3, "Every webhook comes twice")
        self.merchant.process.kill()
        self.crowd.order("end")
        self.site.stop(self.merchant)
        shutil.copy(self.merchant.log, self.site.log("merchant-before"))
        self.merchant = self.site.start_merchant()
        self._pay(2, "The server was killed and is back")
        self.crowd.order("end")

        say("A payment that is given up here and paid at Belvo ...")
        self._give_up_and_pay()
        say("A payment that an SDK makes alone ...")
        self._pay_by_sdk_alone()
        say("The bank does not say how payments end ...")
        self._control("PATCH", "variants", payment_settlement="when_told")
        self._pay(2, "Payments that nobody hears of again")
        self.crowd.order("end")
        # Longer than POLL_DEADLINE_MS: then they are in doubt.
        time.sleep(25)
        self._open_payment(3, "cake-3")
        time.sleep(1)

    def _pay(self, seconds: float, what: str, users: int = _night_owls) -> None:
        """The crowd pays for so long; what fails is part of the night."""
        say(f"{what} ...")
        self.crowd.order("begin", "pay", users)
        time.sleep(seconds)
        self.log.append(f"{what}: {' '.join(self.crowd.order('count'))}")

    def _control(self, method: str, path: str, **members: object) -> None:
        """A call of the sandbox's control API."""
        body = ["--data", json.dumps(members)] if members else []
        self.site.get(
            f"{self.site.sandbox_url}/sandbox/{path}", "--request", method, "--header",
            "content-type: application/json", *body)

    def _fault(self, endpoint: str, **members: object) -> None:
        self._control("POST", "faults", endpoint=endpoint, **members)

    def _bearer(self, token: str) -> list[str]:
        return ["--header", f"authorization: Bearer {token}", "--header", "content-type: application/json"]

    def _open_payment(self, number: int, reference: str) -> None:
        """Opens a payment of the user's."""
        enrollment = self.site.database.query(
            f"SELECT id FROM enrollments WHERE subject = 'load-{number}' AND status = 'SUCCEEDED' LIMIT 1")
        self._as_user(
            number, "/v1/payment-intents",
            enrollment=enrollment, reference=reference, amount="49.90", description="A cake")

    def _as_user(self, number: int, path: str, **members: object) -> None:
        body = ["--data", json.dumps(members)] if members else ["--request", "POST"]
        self.site.get(
            self.site.url + path, *self._bearer(self.tokens[number]), "--header", f"idempotency-key: {uuid.uuid4()}",
            "--header", f"x-request-id: night-tap-{number}", *body)

    def _give_up_and_pay(self) -> None:
        query = self.site.database.query
        self._open_payment(1, "cake-1")
        self.corrected = query("SELECT id FROM payments WHERE reference = 'cake-1'")
        self._as_user(1, f"/v1/payment-intents/{self.corrected}/cancel")
        intent = query(f"SELECT belvo_id FROM payments WHERE id = '{self.corrected}'")
        self._control("POST", f"payment-intents/{intent}/settle")
        time.sleep(3)

    def _pay_by_sdk_alone(self) -> None:
        """With the merchant's credentials, as an app would do it that was built before there was this server."""
        query = self.site.database.query
        pix = "open_finance_biometric_pix"
        enrollment = query(
            "SELECT belvo_id FROM enrollments WHERE subject = 'load-2' AND status = 'SUCCEEDED' LIMIT 1")
        body = {
            "amount": 7.00, "allowed_payment_method_types": [pix],
            "customer": query("SELECT belvo_id FROM customers WHERE subject = 'load-2'"),
            "description": "Made by an SDK", "statement_description": "Made by an SDK", "external_id": "sdk-1",
            "confirm": True,
            "payment_method_details": {pix: {"beneficiary_bank_account": beneficiary, "enrollment": enrollment}}}
        self.site.get(
            f"{self.site.sandbox_url}/payments/br/payment-intents/", "--user", "sandbox-id:sandbox-password",
            "--header", f"belvo-idempotency-key: {uuid.uuid4()}", "--header", "content-type: application/json",
            "--data", json.dumps(body))

    # What operators see of it.

    def outputs(self) -> dict[str, str]:
        """What stands in the document's places, by name; in a fixed order, since some commands change what others
        show."""
        rows = {"workload": 10, "overdue": 10, "totals_per_day": 10, "failures_per_day": 10, "orders": 3,
                "figures_by_bank": 10}
        views = (
            "payments_open enrollments_open in_doubt orphans overdue workload webhooks_unprocessed redirects_unsettled"
            " events_undelivered late_corrections double_paid money_alarms may_be_paid taken_in orders"
            " totals_per_day failures_per_day history"
            " enrollment_figures_per_day payment_figures_per_day figures_by_bank")
        outputs = {name: self._view(name, rows.get(name, 2)) for name in views.split()}
        steps: dict[str, Callable[[], str]] = {
            "readonly": self._readonly_role,
            "status": lambda: self._merchant("status"),
            "doctor": lambda: self._merchant("doctor"),
            "inspect": lambda: self._merchant("inspect", self.corrected),
            "reconcile": lambda: self._merchant("reconcile", "--day", self.evening),
            "reconciliation_differences": lambda: self._view("reconciliation_differences"),
            "requeue": lambda: self._merchant(
                "requeue", self.site.database.query("SELECT id FROM ops.in_doubt LIMIT 1")),
            "rotate": self._rotate,
            "erase-refused": lambda: self._merchant("erase", "--subject", "load-8"),
            "erase": self._erase_one,
            "events": self._loud_events,
            # Last: what it restores is the evening's.
            "restore": self._restore_backup}
        outputs |= {name: step() for name, step in steps.items()}
        outputs["night"] = "\n".join([f"Written by `./dev night` on {report.now()}.", *self.log])
        return outputs

    def _view(self, name: str, limit: int = 2) -> str:
        """As somebody at a terminal sees it: narrow tables as tables, wide ones row by row."""
        sql = f"SELECT * FROM ops.{name} LIMIT {limit}"
        return f"=> {sql};\n" + self._psql(
            "--pset=expanded=auto", "--pset=columns=118", "--pset=linestyle=ascii", f"--command={sql}")

    def _psql(self, *options: str, statements: str | None = None) -> str:
        database = self.site.database
        return _printed(
            [database.programs / "psql", "--no-psqlrc", "--quiet", database.url(), *options], statements,
            PGOPTIONS="-c intervalstyle=postgres")

    def _merchant(self, *words: str, **environment: str) -> str:
        """A command as it is typed, what it prints and how it ends."""
        result = subprocess.run(
            [self.site.programs / "merchant", *words, "--config", self.site.settings], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=os.environ | environment)
        return "\n".join([f"$ merchant {' '.join(words)}", result.stdout.rstrip("\n"), "$ echo $?",
                          str(result.returncode)])

    def _readonly_role(self) -> str:
        return self._psql("--set=ON_ERROR_STOP=1", "--echo-queries", statements="""\
SET ROLE merchant_readonly;
SELECT count(*) FROM ops.payments_open;
SELECT count(*) FROM payments;
""")

    def _rotate(self) -> str:
        """A new key in front of the old one, for one command."""
        key = base64.b64encode(secrets.token_bytes(32)).decode()
        return self._merchant("rotate-keys", ENCRYPTION_KEYS=f"2027:{key},{self.site.setting('ENCRYPTION_KEYS')}")

    def _erase_one(self) -> str:
        """The shop is back, and is told; then the user who went to bed early can be forgotten."""
        shop = http.server.HTTPServer(("127.0.0.1", self.site.shop_port), _Shop)
        threading.Thread(target=shop.serve_forever, daemon=True).start()
        events = self.site.database.query("""
            SELECT id FROM events WHERE next_attempt_at IS NOT NULL AND record_id IN (
                SELECT id FROM payments WHERE subject = 'load-8'
                UNION ALL SELECT id FROM enrollments WHERE subject = 'load-8')""")
        for event in events.split():
            output_of(self.site.programs / "merchant", "requeue", event, "--config", self.site.settings)
        time.sleep(5)
        text = self._merchant("erase", "--subject", "load-8")
        shop.shutdown()
        return text

    def _loud_events(self) -> str:
        """How often each event of level warning, error and critical was logged."""
        found: Counter[str] = Counter()
        for path in self.site.scratch.glob("merchant*.log"):
            for line in path.read_text().splitlines():
                match = re.search(r'"level":"(error|critical|warning)".*"(?:message|event)":"([a-z._]+)"', line)
                if match:
                    found[f"{match[1]} {match[2]}"] += 1
        return "\n".join(f"{count:7} {name}" for name, count in sorted(found.items()))

    def _restore_backup(self) -> str:
        """The database is gone, and there is a dump that was taken while payments were under way: into a cluster that
        knows nothing, neither the role of the readers nor the database."""
        site = self.site
        site.stop(self.merchant)
        site.stop(site.database.child)
        site.database = site.start_cluster(site.scratch / "restored")
        lines = [line for line in site.settings.read_text().splitlines() if not line.startswith("DATABASE_URL=")]
        site.settings.write_text("\n".join([*lines, f"DATABASE_URL={site.database.url()}"]) + "\n")
        site.database.query("CREATE ROLE merchant_readonly NOLOGIN")
        parts = [
            "$ psql $DATABASE_URL --command='CREATE ROLE merchant_readonly NOLOGIN'",
            "$ pg_restore --no-owner --exit-on-error --single-transaction --dbname=$DATABASE_URL merchant.dump"]
        output_of(
            site.database.programs / "pg_restore", "--no-owner", "--exit-on-error", "--single-transaction",
            f"--dbname={site.database.url()}", self.dump)
        parts.append(self._merchant("migrate"))
        parts += [line for line in self._merchant("doctor").splitlines() if re.search("database|migrations", line)]
        parts.append(self._payments_by_status())
        self.merchant = site.start_merchant()
        # The looks that were due in the dump are due now; a few of them wait for a lease to end.
        deadline, due = time.monotonic() + 60, (
            "SELECT count(*) FROM payments WHERE status = 'PENDING' AND next_poll_at < app_now()")
        while site.database.query(due) != "0" and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(5)
        parts.append("\n-- some seconds after a server was started\n" + self._payments_by_status())
        found = self._merchant("reconcile", "--day", self.evening).splitlines()
        end = next((index for index, line in enumerate(found) if " differences" in line), len(found))
        parts += found if end <= 5 else [*found[:4], "...", *found[end:]]
        return "\n".join(parts)

    def _payments_by_status(self) -> str:
        sql = "SELECT status, count(*) FROM payments GROUP BY status ORDER BY status"
        return f"=> {sql};\n" + self._psql("--pset=linestyle=ascii", f"--command={sql}")


class _Shop(http.server.BaseHTTPRequestHandler):
    """A shop that takes every event."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def _printed(command: list[object], text: str | None, **environment: str) -> str:
    """What a command prints, errors among it, without blanks at the ends of lines."""
    result = subprocess.run(
        list(map(str, command)), input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | environment)
    return "\n".join(line.rstrip() for line in result.stdout.splitlines())
