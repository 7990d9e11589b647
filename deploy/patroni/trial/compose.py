"""deploy/compose/compose.yml without Docker: python3 -m trial.compose --programs DIRECTORY --scratch DIRECTORY

Each service is a network namespace on the network `inside`, with its own mounts: a root that cannot be written, its
secrets as files below /run/secrets, its user and no capability. Commands, environments, health checks and grace periods
are those of the file; a name server of this program's stands in for Docker's. People pay through HAProxy while servers
are made anew. PostgreSQL and HAProxy are Debian's; limits of memory and processors and the rotation of logs are not
played.
"""

import argparse
import base64
import http.server
import json
import os
import pathlib
import re
import resource
import signal
import socketserver
import ssl
import subprocess
import sys
import threading
import time

import yaml

from .machines import Failure, Machine, Network, output_of, wait_for
from .site import BENEFICIARY, HERE
from .steps import Steps
from .upgrade import SmallSite

COMPOSE = HERE.parent / "compose"
# A few users do what thousands would, and no shop places orders.
BESIDES = {"USER_RATE": "0", "ADDRESS_RATE": "0", "USER_OPEN_ENROLLMENTS_MAX": "0", "USER_ENROLLMENTS_PER_DAY_MAX": "0",
           "USER_PAYMENTS_PER_DAY_MAX": "0",
           "USER_OPEN_PAYMENTS_MAX": "0", "BELVO_USER_RATE": "0", "BELVO_RATE": "0", "ORDERS": "optional",
           "HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX": "0"}
CAGE = r"""
set -e
mount -t tmpfs tmpfs /run
mkdir /run/secrets
mount --bind "$PLACE/secrets" /run/secrets
mount --bind "$PLACE/resolv.conf" /etc/resolv.conf
mount --bind "$PLACE/authorities" /etc/ssl/certs/ca-certificates.crt
mount -t tmpfs tmpfs /usr/local/etc
mkdir /usr/local/etc/haproxy
cp "$PLACE/haproxy.cfg" /usr/local/etc/haproxy/
[ -z "$READ_ONLY" ] || for place in / /run /usr/local/etc $WRITABLE; do mount -o remount,bind,ro "$place"; done
exec "$@"
"""


def seconds(text):
    return int(text.removesuffix("s"))


class Names(socketserver.BaseRequestHandler):
    """What Docker's name server says: the address that a service has now."""

    table = {}

    def handle(self):
        query, socket = self.request
        labels, place = [], 12
        while query[place]:
            labels.append(query[place + 1:place + 1 + query[place]].decode())
            place += 1 + query[place]
        question = query[12:place + 5]
        address = self.table.get(".".join(labels))
        wants_address = question[-4:-2] == b"\0\1"
        answer = b""
        if address and wants_address:
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + bytes(map(int, address.split(".")))
        flags = b"\x81\x80" if address else b"\x81\x83"
        head = query[:2] + flags + b"\0\1" + (b"\0\1" if answer else b"\0\0") + b"\0\0\0\0"
        socket.sendto(head + question + answer, self.client_address)


class LoginService:
    """Whose keys AUTH_JWKS_URL leads to."""

    def __init__(self, scratch, address):
        self.key = scratch / "login.key"
        output_of("openssl", "genrsa", "-out", self.key, "2048")
        modulus = output_of("openssl", "rsa", "-in", self.key, "-noout", "-modulus").split("=")[1]
        document = json.dumps({"keys": [{
            "kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig", "e": "AQAB",
            "n": self.text(bytes.fromhex(modulus))}]}).encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(document)))
                self.end_headers()
                self.wfile.write(document)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer((address, 8444), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(scratch / "tls/login.pem", scratch / "tls/login.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    @staticmethod
    def text(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    def token(self, subject):
        now = int(time.time())
        parts = [{"alg": "RS256", "kid": "one"},
                 {"sub": subject, "aud": "merchant", "iat": now - 10, "exp": now + 3_600}]
        text = ".".join(self.text(json.dumps(part).encode()) for part in parts)
        made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text.encode(), check=True,
                              stdout=subprocess.PIPE)
        return f"{text}.{self.text(made.stdout)}"


class ComposeSite(SmallSite):
    """The services of compose.yml, and Belvo's stand-in and a login service outside of them."""

    def __init__(self, programs, scratch):
        text = (COMPOSE / "compose.yml").read_text()
        subnet = re.search(r"subnet: ([\d.]+)\.0/24", text)[1]
        Network.prefix, Network.outside = subnet, f"{subnet}.254"
        super().__init__(programs, programs, scratch)
        self.values = {
            "PUBLIC_BASE_URL": self.door, "BELVO_BASE_URL": f"https://{self.belvo.address}:8443",
            "BELVO_BENEFICIARY_BANK_ACCOUNT": BENEFICIARY, "AUTH_JWKS_URL": f"https://{Network.outside}:8444/jwks.json"}
        self.services = yaml.safe_load(re.sub(r"\$\{(\w+)(:[-?])?([^}]*)\}", self._filled, text))["services"]
        self.settings = {"BELVO_BASE_URL": self.values["BELVO_BASE_URL"]}
        self.bin = self.scratch / "bin"
        self.bin.mkdir()
        output_of("install", "--mode=755", self.programs / "merchant", self.bin)
        self.numbers = iter(range(100, 200))
        self.machines = {}

    def _filled(self, found):
        name, sign, rest = found.groups()
        if name in self.values:
            return self.values[name]
        if sign == ":-":
            return rest
        raise Failure(f"compose.yml wants {name}: {rest}")

    # Files

    def make_files(self):
        """deploy/README.md says who has to be able to read which secret."""
        self._make_certificates()
        tls = self.scratch / "tls"
        output_of(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days",
            "2", "-subj", "/CN=login", "-addext", f"subjectAltName=IP:{Network.outside}", "-addext",
            "basicConstraints=critical,CA:FALSE", "-CA", tls / "ca.pem", "-CAkey", tls / "ca.key", "-keyout",
            tls / "login.key", "-out", tls / "login.pem")
        place = self.scratch / "secrets"
        readme = (HERE.parent / "README.md").read_text()
        commands = re.search(r"^```sh secrets\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)[1]
        values = {"belvo_secret_id": "sandbox-id", "belvo_secret_password": "sandbox-password",
                  "certificate_and_key": tls / "both.pem"}
        given = "".join(f"{name}={value}\n" for name, value in values.items())
        place.parent.mkdir(exist_ok=True)
        output_of("bash", "-e", "-c", given + commands.replace("deploy/compose/secrets", str(place)))

    def make_place(self, name, service):
        place = self.scratch / "services" / name
        (place / "secrets").mkdir(parents=True, exist_ok=True)
        for secret in service.get("secrets", []):
            output_of("cp", "--archive", self.scratch / "secrets" / secret, place / "secrets")
        (place / "resolv.conf").write_text(f"nameserver {Network.outside}\noptions timeout:1\n")
        authorities = pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_text()
        (place / "authorities").write_text(authorities + (self.scratch / "tls/ca.pem").read_text())
        output_of("cp", COMPOSE / "haproxy.cfg", place)
        for file in ("resolv.conf", "authorities", "haproxy.cfg"):
            (place / file).chmod(0o644)
        return place

    # Services

    def command(self, name, words):
        """The words in the cage of that service."""
        service = self.services[name]
        place = self.make_place(name, service)
        user, group = service.get("user", "99:99").split(":")
        environment = {key: str(value) for key, value in service.get("environment", {}).items()}
        environment |= BESIDES if name != "proxy" else {}
        rights = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
        if service.get("cap_drop") == ["ALL"]:
            rights += ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
        if "no-new-privileges:true" in service.get("security_opt", []):
            rights.append("--no-new-privs")
        # As many as an operator may give here.
        files = min(service.get("ulimits", {}).get("nofile", 1024), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        writable = [mount for mount in ("/tmp", "/var", "/var/tmp", "/home") if os.path.ismount(mount)]
        return ["env", "-i", f"PLACE={place}", f"READ_ONLY={'1' if service.get('read_only') else ''}",
                f"WRITABLE={' '.join(writable)}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                "unshare", "--mount", "--propagation=private", "bash", "-c", CAGE, "cage",
                "prlimit", f"--nofile={files}", *rights, "env", "-i",
                f"PATH={self.bin}:/usr/sbin:/usr/bin:/sbin:/bin", *(f"{k}={v}" for k, v in environment.items()), *words]

    def make(self, name):
        """A container: another address under the same name."""
        number = next(self.numbers)
        machine = Machine(f"at-{number}", number, self.scratch)
        self.machines[name] = machine
        Names.table[name] = machine.address
        return machine

    def up(self, name):
        """Starts a service, and waits for its health."""
        service = self.services[name]
        machine = self.make(name) if name != "proxy" else self.proxy
        machine.start(*self.command(name, service["command"]))
        check = service["healthcheck"]
        limit = seconds(check.get("start_period", "0s")) + check["retries"] * seconds(check["interval"])
        try:
            wait_for(f"{name}, healthy", limit, lambda: self.is_healthy(name, machine, check), pause=0.3)
        except Failure as failure:
            raise Failure(f"{failure}\n{machine.log.read_text()[-2000:]}{self.unwell}") from None
        return machine

    def is_healthy(self, name, machine, check):
        try:
            machine.run(*self.command(name, check["test"][1:]), timeout=seconds(check["timeout"]))
            return True
        except (Failure, subprocess.TimeoutExpired) as failure:
            self.unwell = str(failure)
            return False

    def down(self, name):
        """SIGTERM, and -9 after the grace period, which must not be needed."""
        machine = self.machines[name]
        child = machine.started.pop()
        child.send_signal(signal.SIGTERM)
        try:
            code = child.wait(seconds(self.services[name]["stop_grace_period"]))
        except subprocess.TimeoutExpired:
            raise Failure(f"{name} is killed at the end of its grace period") from None
        if code != 0:
            raise Failure(f"{name} ended with {code}")

    def start_database(self):
        """What the image of PostgreSQL does at its first start, with Debian's PostgreSQL."""
        service, data = self.services["postgres"], self.scratch / "data"
        node = self.make("postgres")
        data.mkdir()
        password = self.scratch / "password"
        password.write_text((self.scratch / "secrets/postgres_password").read_text().strip())
        output_of("chown", "postgres:", data, password)
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "env", "--chdir=/"]
        user = service["environment"]["POSTGRES_USER"]
        output_of(*as_user, self.programs_of_postgres / "initdb", f"--pgdata={data}", f"--username={user}",
                  f"--pwfile={password}", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8",
                  *service["environment"]["POSTGRES_INITDB_ARGS"].split())
        with open(data / "pg_hba.conf", "a") as rules:
            rules.write("host all all all scram-sha-256\n")
        words = service["command"][1:]
        node.start(self.programs_of_postgres / "postgres", "-D", data, "-c", "listen_addresses=*", "-c",
                   "unix_socket_directories=", *words, user="postgres")
        self.database = (f"postgresql://{user}:{password.read_text()}@{node.address}/{{}}?connect_timeout=3")
        check = service["healthcheck"]
        wait_for("PostgreSQL, healthy", 60, lambda: subprocess.run(
            ["nsenter", f"--net=/run/netns/{node.name}", self.programs_of_postgres / check["test"][1],
             *check["test"][2:], "--quiet"], check=False).returncode == 0)
        self.query(f"CREATE DATABASE {user}")

    def query(self, sql, database="postgres", node=None):
        return output_of(
            self.programs_of_postgres / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--tuples-only",
            "--no-align", f"--dbname={self.database.format(database)}", f"--command={sql}", timeout=30)

    def start(self):
        self.make_files()
        names = socketserver.ThreadingUDPServer((Network.outside, 53), Names)
        threading.Thread(target=names.serve_forever, daemon=True).start()
        self.login = LoginService(self.scratch, Network.outside)
        self._start_belvo()
        self.start_database()
        migrate = self.make("migrate")
        print(migrate.run(*self.command("migrate", self.services["migrate"]["command"])).splitlines()[-1], flush=True)
        for name in ("merchant-1", "merchant-2"):
            self.up(name)
            self.check_cage(name)
        # As `ports` of compose.yml has it.
        outer, inner = self.services["proxy"]["ports"][0].split(":")
        self.proxy.run("nft", "-f", "-", text=(
            "table ip ports { chain in { type nat hook prerouting priority -100; "
            f"tcp dport {outer} redirect to :{inner}; }}; }}"))
        self.up("proxy")
        wait_for("an answer through the proxy", 20, lambda: self._answers(f"{self.door}/readyz"))

    def check_cage(self, name):
        """Nothing can be written, nothing secret stands in the environment, nobody else's secret is there."""
        machine = self.machines[name]
        machine.run(*self.command(name, ["sh", "-c", "! touch /x /run/x /run/secrets/x /var/tmp/x /tmp/x 2>&1"]))
        seen = machine.run(*self.command(name, ["ls", "/run/secrets"])).split()
        if sorted(seen) != sorted(self.services[name]["secrets"]):
            raise Failure(f"{name} sees {seen}")
        process = machine.started[-1].pid
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        for line in ("Uid:\t65532\t65532\t65532\t65532", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
                     "NoNewPrivs:\t1"):
            if line not in status:
                raise Failure(f"{name} does not run as it should: no {line!r}")
        environment = pathlib.Path(f"/proc/{process}/environ").read_bytes()
        for secret in self.services[name]["secrets"]:
            if (self.scratch / "secrets" / secret).read_bytes().strip() in environment:
                raise Failure(f"{secret} stands in the environment of {name}")

    def token(self, subject):
        return self.login.token(subject)


def main():
    parser = argparse.ArgumentParser(prog="./dev compose")
    for name in ("programs", "scratch"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--section")
    parser.add_argument("--buyers", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=8)
    wishes = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    site = ComposeSite(wishes.programs, wishes.scratch)
    site.start()
    steps = Steps(site, wishes.buyers, wishes.seconds)

    def replace(name):
        site.down(name)
        site.up(name)

    def kill(name):
        site.machines[name].kill()
        time.sleep(2)
        site.up(name)

    def play():
        steps.take("two servers, nothing happens")
        steps.take("the container `merchant-1` is made anew, under another address", lambda: replace("merchant-1"))
        steps.take("the container `merchant-2` is made anew, under another address", lambda: replace("merchant-2"))
        steps.take(
            "the container `merchant-1` is killed (-9) and comes back after two seconds", lambda: kill("merchant-1"))

    steps.play("compose", play, "what", lambda: "", wishes.section)


if __name__ == "__main__":
    main()
