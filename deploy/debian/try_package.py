"""Installs the package on a machine made for the purpose, configures it by its documentation alone, pays, upgrades and
removes it, and writes what a person would have seen.

    try_package.py --package DEB --newer DEB --programs DIRECTORY --base DIRECTORY --transcript FILE

The machine is a Debian made by debootstrap that systemd-nspawn boots, in a network namespace of its own in which the
sandbox runs too, in Belvo's place. The commands are those of README.md beside this file, block by block. Run it in a
network and mount namespace of its own, as `./dev package` does.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
BENEFICIARY = "5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10"
SANDBOX = "https://127.0.0.1:8443"


class Failure(Exception):
    """It did not go as the documentation says."""


def blocks():
    """The commands of the documentation by the name behind their ```sh."""
    return dict(re.findall(r"^```sh (\w+)\n(.*?)^```$", (HERE / "README.md").read_text(), re.MULTILINE | re.DOTALL))


class Machine:
    """A Debian with systemd as its first process."""

    def __init__(self, base, directory):
        self.root = pathlib.Path(directory, "machine")
        subprocess.run(["cp", "--archive", "--reflink=auto", base, self.root], check=True)
        (self.root / "etc/hostname").write_text("shop\n")
        self.process = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "--directory", self.root, "--register=no", "--keep-unit", "--boot",
             "--machine=shop", "--console=pipe"],
            stdin=subprocess.DEVNULL, stdout=open(pathlib.Path(directory, "machine.log"), "wb"),
            stderr=subprocess.STDOUT, start_new_session=True)
        self.first = None

    def wait_until_up(self):
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            for child in children:
                self.first = child
            if self.first and self._state() in ("running", "degraded"):
                return
            time.sleep(0.5)
        raise Failure(f"the machine does not start; its state is {self._state()!r}")

    def _state(self):
        if self.first is None:
            return ""
        run = self.enter("systemctl", "is-system-running")
        return run.stdout.strip()

    def enter(self, *command, text=None):
        return subprocess.run(
            ["nsenter", f"--target={self.first}", "--all", "env", "--ignore-environment", "HOME=/root",
             "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
             "DEBIAN_FRONTEND=noninteractive", *command],
            input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)

    def stop(self):
        if self.process.poll() is None and self.first:
            # SIGRTMIN+4 powers a machine off (systemd(1)).
            os.kill(int(self.first), signal.SIGRTMIN + 4)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                os.kill(int(self.first), signal.SIGKILL)
                self.process.wait()


class Transcript:
    """What was typed, what came, and when."""

    def __init__(self, machine):
        self.machine, self.text, self.begun = machine, "", time.monotonic()
        self.shell = "cd /root\n"

    def say(self, text):
        self.text += f"\n{text}\n"

    def run(self, commands, expect=(0,), keep=True):
        """Types the commands into a shell of root's; what it had set before is set again."""
        began = time.monotonic()
        run = self.machine.enter("bash", "-e", "-c", self.shell + commands)
        took = time.monotonic() - began
        if run.returncode not in expect:
            raise Failure(f"ended with {run.returncode}:\n{commands}\n{run.stdout}")
        # A password or a token in a transcript is one that may be in use.
        shown = re.sub(r"eyJ[\w.-]+", "eyJ…", run.stdout)
        noise = r"(Reading|Building|Selecting|\(Reading|debconf)"
        lines = [line for line in shown.splitlines() if not re.match(noise, line)]
        if len(lines) > 40:
            lines = [*lines[:8], "…", *lines[-28:]]
        self.text += "\n```console\n" + "".join(f"# {line}\n" for line in commands.rstrip("\n").splitlines())
        self.text += "\n".join(line.rstrip()[:160] for line in lines).rstrip("\n") + ("\n" if lines else "")
        self.text += f"```\n\n{self.clock()}, {took:.1f} s.\n"
        return run.stdout

    def clock(self):
        seconds = int(time.monotonic() - self.begun)
        return f"At {seconds // 60}:{seconds % 60:02} min"


class Shopper:
    """A phone with the shop's app, outside of the machine."""

    def __init__(self, programs, directory, token):
        self.programs, self.keys, self.token = programs, pathlib.Path(directory, "phone.json"), token
        self.authority = pathlib.Path(directory, "tls/ca.pem")

    def ask(self, method, path, body=None, key=None):
        command = ["curl", "--silent", "--show-error", "--max-time", "20", "--noproxy", "*", "--request", method,
                   "--header", f"Authorization: Bearer {self.token}", "--header", "Content-Type: application/json",
                   "--write-out", "\n%{http_code}", f"http://127.0.0.1:8080{path}"]
        command += ["--data", json.dumps(body)] if body is not None else []
        command += ["--header", f"Idempotency-Key: {key}"] if key else []
        text, _, status = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True).stdout.rpartition("\n")
        if not status.startswith("2"):
            raise Failure(f"{method} {path}: {status} {text}")
        return json.loads(text) if text else None

    def phone(self, *words, text=None):
        return json.loads(subprocess.run(
            [self.programs / "phone", *words, "--key-file", self.keys], input=text, check=True,
            stdout=subprocess.PIPE, text=True).stdout)

    def control(self, path):
        return json.loads(subprocess.run(
            ["curl", "--silent", "--fail", "--noproxy", "*", "--cacert", self.authority, "--request", "POST",
             SANDBOX + path], check=True, stdout=subprocess.PIPE, text=True).stdout)

    def wait(self, path, done):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            found = self.ask("GET", path)
            if done(found):
                return found
            time.sleep(0.2)
        raise Failure(f"{path} does not come to its end")

    def enroll(self):
        bank = self.ask("GET", "/v1/institutions")["results"][0]["id"]
        customer = self.ask("PUT", "/v1/customer", {"name": "Ana Souza", "identifier": "529.982.247-25"})
        self.signals = self.phone("risk-signals", "--account-tenure", customer["account_tenure"])
        begun = self.ask(
            "POST", "/v1/enrollments", {"institution": bank, "platform": "IOS", "risk_signals": self.signals})
        approval = self.control(f"/sandbox/enrollments/{begun['belvo_id']}/approve")
        self.ask("POST", "/v1/enrollments/complete-redirection", approval["parameters"])
        path = f"/v1/enrollments/{begun['id']}"
        ready = self.wait(path, lambda found: (found["next_action"] or {}).get("type") == "register")
        confirmation = self.phone("register", "-", text=json.dumps(ready))
        self.ask("POST", f"{path}/confirm", {"confirmation_data": confirmation})
        self.wait(path, lambda found: found["status"] == "SUCCEEDED")
        self.enrollment = begun["id"]

    def pay(self, reference, amount):
        payment = self.ask("POST", "/v1/payment-intents", {
            "enrollment": self.enrollment, "reference": reference, "amount": amount,
            "description": "Two coffees"}, reference)
        assertion = self.phone("sign", "-", text=json.dumps(payment))
        path = f"/v1/payment-intents/{payment['id']}"
        self.ask("POST", f"{path}/authorize", {"risk_signals": self.signals, "assertion": assertion})
        return self.wait(path, lambda found: found["status"] != "PENDING")


class Visitors:
    """Somebody who comes again and again on a new connection, and is to be let in each time."""

    def __init__(self):
        self.seen, self.refused, self.longest, self.is_over = 0, [], 0.0, threading.Event()
        self.thread = threading.Thread(target=self._come)
        self.thread.start()

    def _come(self):
        while not self.is_over.is_set():
            began = time.monotonic()
            try:
                connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=20)
                connection.request("GET", "/livez", headers={"Connection": "close"})
                if connection.getresponse().status != 200:
                    raise Failure("not alive")
                self.seen += 1
            except (OSError, http.client.HTTPException, Failure) as error:
                self.refused.append(repr(error))
            self.longest = max(self.longest, time.monotonic() - began)
            time.sleep(0.01)

    def leave(self):
        self.is_over.set()
        self.thread.join()
        if self.refused or self.seen < 10:
            raise Failure(f"{len(self.refused)} of {self.seen} were turned away: {self.refused[:3]}")
        return (f"Meanwhile {self.seen} requests came, each on a new connection: none was refused, the longest waited "
                f"{self.longest:.1f} s.")


def make_certificates(directory):
    place = pathlib.Path(directory, "tls")
    place.mkdir()

    def certificate(name, *words):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days",
             "2", "-subj", f"/CN={name}", "-keyout", place / f"{name}.key", "-out", place / f"{name}.pem", *words],
            check=True, stderr=subprocess.DEVNULL)

    certificate("ca")
    certificate("belvo", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
                "-CA", place / "ca.pem", "-CAkey", place / "ca.key")
    return place


def check_help(machine):
    """There is a manual page for each command, and the shell completes them."""
    said = machine.enter("sh", "-c", "merchant --help; zcat /usr/share/man/man1/merchant*.1.gz").stdout
    listing = said[said.index("SUBCOMMANDS:"):said.index("See 'merchant help")]
    commands = re.findall(r"^  ([a-z-]+) ", listing, re.MULTILINE)
    lost = [name for name in commands if f'.Nm "merchant {name}"' not in said]
    completed = machine.enter(
        "bash", "-c", ". /usr/share/bash-completion/completions/merchant && complete -p merchant").stdout
    if len(commands) < 10 or lost or "merchant" not in completed.split():
        raise Failure(f"no manual for {lost} of {commands}, or no completion: {completed}")


def play(machine, wishes, directory, tls):
    steps, page = blocks(), Transcript(machine)
    shutil.copy(wishes.package, machine.root / "root")
    # Belvo's own certificate is known to every Debian; that of its stand-in is made known to this one.
    shutil.copy(tls / "ca.pem", machine.root / "usr/local/share/ca-certificates/stand-in.crt")
    machine.enter("update-ca-certificates")

    page.say("## What only the merchant knows\n\nThe sandbox takes Belvo's place.")
    values = steps["values"].replace("https://api.belvo.com", SANDBOX)
    for name, value in {"belvo_secret_id": "sandbox-id", "belvo_secret_password": "sandbox-password",
                        "beneficiary": BENEFICIARY}.items():
        values = re.sub(rf"^{name}=.*$", f"{name}={value}", values, flags=re.MULTILINE)
    page.shell += values
    page.text += f"\n```sh\n{values}```\n"

    for name, title in (("install", "Install"), ("database", "The database"), ("settings", "Settings and secrets"),
                        ("tokens", "Users' tokens"), ("start", "Migrate, look, start")):
        page.say(f"## {title}")
        said = page.run(steps[name])
        if name == "install" and "merchant migrate" not in said:
            raise Failure("the installation does not say what comes next")
    if '"status":"ok"' not in said or "failed  " in said:
        raise Failure(f"it is not ready:\n{said}")
    check_help(machine)

    page.say("## The first payment")
    page.say("The shop places the order; the rest is done by the app and the phone (`phone`, in software).")
    order = '{"subject": "ana", "amount": "19.90", "description": "Two coffees"}'
    page.run("curl --silent --show-error --fail-with-body --request PUT --header 'Content-Type: application/json' \\\n"
             "    --header \"Authorization: Bearer $(cat /etc/merchant/credentials/SHOP_TOKEN)\" \\\n"
             f"    --data '{order}' \\\n    http://127.0.0.1:8080/orders/order-1\n")
    token = machine.enter(
        "merchant", "token", "--subject", "ana", "--config", "/etc/merchant/merchant.env").stdout.strip()
    shopper = Shopper(wishes.programs, directory, token)
    shopper.enroll()
    paid = shopper.pay("order-1", "19.90")
    if paid["status"] != "SUCCEEDED":
        raise Failure(f"the first payment ended with {paid}")
    transfer = re.search(r'"end_to_end_id": "(E\w+)"', json.dumps(paid))
    page.say(f"{page.clock()}: paid, by the transfer `{transfer[1]}`.")
    page.run("merchant inspect order-1 --config /etc/merchant/merchant.env\n")
    page.run("journalctl --unit merchant --no-pager --output cat | head -3\n")

    page.say("## Upgrade")
    (machine.root / "root" / pathlib.Path(wishes.package).name).unlink()
    shutil.copy(wishes.newer, machine.root / "root")
    before = machine.enter("systemctl", "show", "--property=MainPID", "merchant").stdout
    visitors = Visitors()
    said = page.run(steps["upgrade"])
    page.say(visitors.leave())
    after = machine.enter("systemctl", "show", "--property=MainPID", "merchant").stdout
    if "is upgraded" not in said or before == after:
        raise Failure(f"it was not upgraded:\n{said}")
    page.run("dpkg-query --show biometric-pix-merchant\n")
    again = shopper.ask("GET", f"/v1/payment-intents/{paid['id']}")
    if again["status"] != "SUCCEEDED":
        raise Failure("the payment is gone")
    page.say(f"{page.clock()}: the payment is there.")

    page.say("## Remove")
    page.run(steps["remove"])
    left = machine.enter(
        "sh", "-c", "ls /usr/bin/merchant /usr/share/man/man1/merchant.1.gz /etc/merchant/merchant.env; "
        "getent passwd merchant; systemctl is-active merchant.service merchant.socket").stdout
    page.run("ls /etc/merchant /etc/merchant/credentials\n")
    if re.search(r"/merchant$|\.gz$|^active|merchant:x:", left, re.MULTILINE):
        raise Failure(f"something is left: {left}")
    page.say(f"{page.clock()}: done.")
    return page.text


def main():
    parser = argparse.ArgumentParser()
    for name in ("package", "newer", "programs", "base", "transcript", "scratch"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    wishes = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    tls = make_certificates(wishes.scratch)
    machine, sandbox = Machine(wishes.base, wishes.scratch), None
    try:
        machine.wait_until_up()
        sandbox = subprocess.Popen(
            [wishes.programs / "belvo-sandbox", "serve", "--mode", "demo", "--listen", "127.0.0.1:8443", "--public-url",
             SANDBOX, "--tls-cert-file", tls / "belvo.pem", "--tls-key-file", tls / "belvo.key"],
            stdout=open(wishes.scratch / "sandbox.log", "wb"), stderr=subprocess.STDOUT)
        text = play(machine, wishes, wishes.scratch, tls)
        wishes.transcript.write_text(text.lstrip("\n"))
    except Failure as failure:
        print(f"try_package: {failure}", file=sys.stderr)
        print(machine.enter("journalctl", "--no-pager", "--lines=40").stdout, file=sys.stderr)
        sys.exit(1)
    finally:
        if sandbox:
            sandbox.terminate()
            sandbox.wait()
        machine.stop()


if __name__ == "__main__":
    main()
