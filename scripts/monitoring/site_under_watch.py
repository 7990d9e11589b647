"""The merchant's site while its monitoring is checked: the server, the shop, the database, Belvo's stand-in, an app."""

import base64
import concurrent.futures
import hashlib
import hmac
import http.server
import itertools
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

SETTINGS = {
    # Small bounds, so that a fault needs little to show.
    "ADDRESS_RATE": "20", "HTTP_UNSENT_BYTES_PER_CLIENT_MAX": "65536", "BELVO_TIMEOUT_MS": "6000",
    "POLL_INTERVAL_MS": "500", "BELVO_WEBHOOK_TOKEN": "webhook-token-of-the-check-0123456789", "ORDERS": "optional",
    "SHOP_WEBHOOK_SECRET": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
}


class Failure(Exception):
    """Something did not come."""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_until(what, found, seconds=60):
    end = time.monotonic() + seconds
    while True:
        value = found()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"{what} did not come within {seconds} seconds")
        time.sleep(0.1)


class Listener:
    """An HTTP server that takes what is posted to it: the shop, or who is told of alerts."""

    def __init__(self, port):
        self.port = port
        self.taken = []
        self.status = 200
        self.server = None

    def start(self):
        taken, listener = self.taken, self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                taken.append((self.path, body))
                self.send_response(listener.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Site:
    def __init__(self, world):
        self.world = world
        self.merchant_url = world["merchant"]
        self.programs = pathlib.Path(os.environ["MONITOR_PROGRAMS"])
        self.settings_file = os.environ["MONITOR_SETTINGS"]
        self.scratch = pathlib.Path(os.environ["MONITOR_SCRATCH"])
        settings = dict(line.split("=", 1) for line in open(self.settings_file, encoding="utf-8")
                        if "=" in line and not line.startswith("#"))
        self.settings = {name: value.strip() for name, value in settings.items()}
        self.sandbox_url = self.settings["BELVO_BASE_URL"]
        self.admin_url = "http://" + self.settings["ADMIN_LISTEN"]
        self.psql = os.environ["MONITOR_PSQL"]
        self.shop = Listener(free_port())
        # Beside the settings of the file.
        self.environment = {**SETTINGS, "SHOP_WEBHOOK_URL": f"http://127.0.0.1:{self.shop.port}/events"}
        self.server = None
        handlers = [urllib.request.ProxyHandler({}), NoRedirect(),
                    urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=world["ca"]))]
        self.opener = urllib.request.build_opener(*handlers)
        self.clock_offset = 0
        self.tenure = self.bank = self.enrollment = None
        self.keys = 0
        self.strangers = itertools.count()

    # The server.

    def start(self, expect_ready=True):
        log = open(self.scratch / "merchant.log", "ab")
        self.server = subprocess.Popen(
            [self.programs / "merchant", "serve", "--config", self.settings_file], env=os.environ | self.environment,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if expect_ready:
            wait_until("a ready server", lambda: self.ask("GET", "/readyz", token=False)[0] == 200)

    def stop(self):
        if self.server:
            self.server.send_signal(signal.SIGCONT)
            self.server.terminate()
            self.server.wait(60)
            self.server = None

    def run_merchant(self, *arguments):
        return subprocess.run([self.programs / "merchant", *arguments, "--config", self.settings_file],
                              env=os.environ | self.environment, capture_output=True, text=True, check=False)

    # The database.

    def sql(self, statement, keep=False):
        """Runs a statement; with `keep` in a session that stays, and its process is given back."""
        command = [self.psql, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align",
                   "--set=ON_ERROR_STOP=1", self.settings["DATABASE_URL"]]
        if keep:
            session = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            session.stdin.write(statement + ";\n\\echo held\n")
            session.stdin.flush()
            while session.stdout.readline().strip() != "held":
                if session.poll() is not None:
                    raise Failure(f"psql ended: {statement}")
            return session
        done = subprocess.run(command + ["--command", statement], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"{statement}: {done.stderr}")
        return done.stdout.strip()

    def admin_sql(self, statement):
        """As the superuser, beside the merchant's database."""
        address = self.settings["DATABASE_URL"].rsplit("/", 1)[0] + "/postgres"
        subprocess.run([self.psql, "--no-psqlrc", "--quiet", address, "--command", statement],
                       capture_output=True, check=True)

    def release(self, session):
        session.stdin.write("ROLLBACK;\n\\q\n")
        session.stdin.close()
        session.wait(30)

    def pass_time(self, seconds):
        """Carries the clock of all deadlines on, as no real clock would in a test."""
        self.clock_offset += seconds
        self.sql("CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE "
                 f"AS 'SELECT now() + interval ''{self.clock_offset} seconds'''")

    # Belvo's stand-in.

    def control(self, method, path, body=None):
        status, text = self.send(method, f"{self.sandbox_url}/sandbox/{path}", body)
        if status >= 400:
            raise Failure(f"{path}: {status} {text}")
        return json.loads(text) if text else None

    def fault(self, fault, endpoint=None, **more):
        self.control("POST", "faults", {"fault": fault, "always": True,
                                        **({"endpoint": endpoint} if endpoint else {}), **more})

    def no_faults(self):
        self.control("DELETE", "faults")

    # An app.

    def send(self, method, url, body=None, headers=None, timeout=30):
        content = None
        headers = dict(headers or {})
        if body is not None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(url, content, headers, method=method)
        try:
            answer = self.opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as refusal:
            answer = refusal
        except OSError:
            return 0, ""
        with answer:
            return answer.status, answer.read().decode(errors="replace")

    def ask(self, method, path, body=None, token=True, headers=None, timeout=30):
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {self.world['token'] if token is True else token}"
        status, text = self.send(method, self.merchant_url + path, body, headers, timeout)
        try:
            return status, json.loads(text) if text else None
        except ValueError:
            return status, text

    def must(self, method, path, body=None, expected=200, **more):
        status, value = self.ask(method, path, body, **more)
        if status != expected:
            raise Failure(f"{method} {path} answered {status} in place of {expected}: {value}")
        return value

    def phone(self, *arguments, options=None):
        run = subprocess.run([self.world["phone"], *arguments, "--key-file", self.world["keys"]],
                             input=options, capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    def arrive(self):
        self.bank = self.must("GET", "/v1/institutions")["results"][0]["id"]
        wish = {"name": "Ana Souza", "identifier": "529.982.247-25"}
        customer = self.must("PUT", "/v1/customer", wish, expected=201)
        self.signals = self.phone("risk-signals", "--account-tenure", customer["account_tenure"])
        self.enrollment = self.enroll()["id"]

    def begin_enrollment(self):
        return self.must("POST", "/v1/enrollments", {
            "institution": self.bank, "platform": "IOS", "risk_signals": self.signals}, expected=201)

    def approve(self, enrollment):
        """The user at the bank: gives the parameters with which the bank sends them back."""
        page = urllib.parse.urlsplit(enrollment["next_action"]["url"])
        form = urllib.parse.parse_qsl(page.query) + [("decision", "approve")]
        request = urllib.request.Request(urllib.parse.urlunsplit(page._replace(query="")),
                                         urllib.parse.urlencode(form).encode())
        try:
            answer = self.opener.open(request, timeout=20)
        except urllib.error.HTTPError as redirect:
            answer = redirect
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.headers["Location"]).query))

    def wait_for(self, path, done):
        return wait_until(path, lambda: (lambda found: found if done(found) else None)(self.must("GET", path)))

    def steer(self, kind, record, verb, **more):
        self.control("POST", f"{kind}/{record['belvo_id']}/{verb}", more)

    def enroll(self):
        enrollment = self.begin_enrollment()
        path = f"/v1/enrollments/{enrollment['id']}"
        self.must("POST", "/v1/enrollments/complete-redirection", self.approve(enrollment))
        self.steer("enrollments", enrollment, "ready")
        ready = self.wait_for(path, lambda found: (found["next_action"] or {}).get("type") == "register")
        answer = self.phone("register", "-", options=json.dumps(ready))
        self.must("POST", f"{path}/confirm", {"confirmation_data": answer}, expected=204)
        self.steer("enrollments", enrollment, "settle")
        return self.wait_for(path, lambda found: found["status"] == "SUCCEEDED")

    def open_payment(self, reference=None):
        self.keys += 1
        return self.must("POST", "/v1/payment-intents", {
            "enrollment": self.enrollment, "amount": "19.90", "description": "Coffee",
            **({"reference": reference} if reference else {})},
            expected=201, headers={"Idempotency-Key": f"check-{self.keys}"})

    def authorize(self, payment):
        self.must("POST", f"/v1/payment-intents/{payment['id']}/authorize", {
            "risk_signals": self.signals, "assertion": self.phone("sign", "-", options=json.dumps(payment))},
            expected=204)

    def pay(self, verb="settle", **more):
        payment = self.open_payment()
        self.authorize(payment)
        self.steer("payment-intents", payment, verb, **more)
        return self.wait_for(f"/v1/payment-intents/{payment['id']}", lambda found: found["status"] != "PENDING")

    def token(self, subject):
        def part(value):
            return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

        now = int(time.time())
        text = part({"alg": "HS256", "typ": "JWT"}) + b"." + part({"sub": subject, "iat": now, "exp": now + 3_600})
        digest = hmac.new(self.settings["AUTH_HS256_SECRET"].encode(), text, hashlib.sha256).digest()
        return (text + b"." + base64.urlsafe_b64encode(digest).rstrip(b"=")).decode()

    def become_customer(self):
        """A new user becomes a customer."""
        number = next(self.strangers)
        digits = f"{100_000_000 + number:09d}"
        for length in (10, 11):
            rest = sum(int(digit) * (length - place) for place, digit in enumerate(digits)) % 11
            digits += str(0 if rest < 2 else 11 - rest)
        self.ask("PUT", "/v1/customer", {"name": "Rui Lima", "identifier": digits},
                 token=self.token(f"new-{number}"), timeout=20)

    def tell(self, kind, record):
        """A webhook of Belvo's about it."""
        self.must("POST", "/webhooks/belvo", {
            "webhook_id": str(time.monotonic_ns()), "webhook_type": kind, "webhook_code": "STATUS_UPDATE",
            "object_id": record["belvo_id"], "data": {"status": "FAILED"}},
            token=SETTINGS["BELVO_WEBHOOK_TOKEN"])

    def ask_belvo(self):
        """Something that asks Belvo, for a new user each time: one user's failures alone open no circuit."""
        self.ask("POST", "/v1/widget-token", token=self.token(f"other-{next(self.strangers)}"))

    def wait_for_belvo(self):
        """Until a call goes through: Belvo may have asked for silence."""
        wait_until("an answer of Belvo's", lambda: self.ask(
            "POST", "/v1/widget-token", token=self.token(f"other-{next(self.strangers)}"))[0] in (200, 201))

    def nudge(self):
        """While the end of a fault is awaited: somebody goes on calling Belvo."""
        if self.server:
            self.ask_belvo()
            time.sleep(0.2)

    def all_at_once(self, count, body):
        """Does the same many times at once; what it gives is not of interest."""
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            for done in [pool.submit(body) for _ in range(count)]:
                done.result()


class Background:
    """Something that goes on until it is ended."""

    def __init__(self, body, pause=0.1):
        self.body = body
        self.pause = pause
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.over.is_set():
            try:
                self.body()
            except Exception as error:  # A fault is under way; what it breaks is not of interest.
                print(f"    (meanwhile: {error})", file=sys.stderr) if os.environ.get("MONITOR_VERBOSE") else None
            self.over.wait(self.pause)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(40)
