"""The site: three etcd, three PostgreSQL under Patroni, three servers, HAProxy, and the sandbox in Belvo's place."""

import json
import os
import pathlib
import pwd
import secrets
import subprocess
import ssl
import time
import urllib.request

from .machines import Failure, Machine, Network, output_of, wait_for

HERE = pathlib.Path(__file__).resolve().parents[1]
BENEFICIARY = "5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10"


def filled(template, **values):
    text = (HERE / template).read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def newest_postgres():
    found = [path for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    if not found:
        raise Failure("PostgreSQL is not installed below /usr/lib/postgresql.")
    return max(found, key=lambda path: int(path.parts[-2]))


class Site:
    def __init__(self, programs, scratch):
        self.programs, self.scratch = pathlib.Path(programs).resolve(), pathlib.Path(scratch)
        Network()
        self.etcds = [Machine(f"etcd{n}", n, self.scratch) for n in (1, 2, 3)]
        self.nodes = [Machine(f"db{n}", 10 + n, self.scratch) for n in (1, 2, 3)]
        self.servers = [Machine(f"merchant{n}", 20 + n, self.scratch) for n in (1, 2, 3)]
        self.proxy = Machine("haproxy", 31, self.scratch)
        self.belvo = Machine("belvo", 41, self.scratch)
        self.password = secrets.token_hex(16)
        self.door = f"https://{self.proxy.address}"
        self.passwords = {name: secrets.token_hex(16) for name in ("SUPERUSER", "REPLICATION", "REWIND")}
        self.programs_of_postgres = newest_postgres()
        self.is_synchronous = True

    def start(self):
        self._make_certificates()
        for etcd in self.etcds:
            self.start_etcd(etcd)
        self.start_node(self.nodes[0])
        wait_for("a first leader", 60, lambda: self.leader() is not None)
        for node in self.nodes[1:]:
            self.start_node(node)
        self.wait_until_whole()
        self.query("CREATE ROLE merchant_readonly NOLOGIN")
        self.query(f"CREATE ROLE merchant LOGIN PASSWORD '{self.password}'")
        self.query("CREATE DATABASE merchant OWNER merchant")
        self._write_settings()
        self.servers[0].run(self.programs / "merchant", "migrate", environment=self.settings)
        self._start_belvo()
        for server in self.servers:
            self.start_server(server)
        self._start_proxy()

    # etcd

    def start_etcd(self, etcd):
        lines = filled(
            "etcd.env", NAME=etcd.name, ADDRESS=etcd.address, DATA=self.scratch / f"{etcd.name}.data",
            CLUSTER=",".join(f"{other.name}=http://{other.address}:2380" for other in self.etcds))
        settings = dict(line.split("=", 1) for line in lines.splitlines() if line and not line.startswith("#"))
        etcd.start("etcd", environment=settings)

    def has_quorum(self):
        try:
            with urllib.request.urlopen(f"http://{self.etcds[0].address}:2379/health", timeout=2) as answer:
                return json.load(answer)["health"] == "true"
        except OSError:
            return False

    # PostgreSQL

    def start_node(self, node):
        account = pwd.getpwnam("postgres")
        place = self.scratch / node.name
        place.mkdir(exist_ok=True)
        os.chown(place, account.pw_uid, account.pw_gid)
        configuration = place / "config.yml"
        configuration.write_text(filled(
            "patroni.yml", NAME=node.name, ADDRESS=node.address,
            ETCD=",".join(f"{etcd.address}:2379" for etcd in self.etcds), NETWORK=f"{Network.prefix}.0/24",
            PG_BIN=self.programs_of_postgres, DATA=place / "data", SOCKETS=place,
            **{f"{name}_PASSWORD": value for name, value in self.passwords.items()}))
        os.chown(configuration, account.pw_uid, account.pw_gid)
        configuration.chmod(0o600)
        node.start("patroni", configuration, user="postgres")

    def members(self):
        """How Patroni sees the nodes: name to role, state and lag; asked of whoever answers."""
        for node in self.nodes:
            try:
                with urllib.request.urlopen(f"http://{node.address}:8008/cluster", timeout=1.5) as answer:
                    return {member["name"]: member for member in json.load(answer)["members"]}
            except (OSError, ValueError, KeyError):
                continue
        return {}

    def leader(self, besides=None):
        """The node that is the leader and takes writes; of those that are not `besides`."""
        for node in self.nodes:
            if node is besides:
                continue
            try:
                with urllib.request.urlopen(f"http://{node.address}:8008/primary", timeout=1.5):
                    return node
            except OSError:
                continue
        return None

    def is_whole(self):
        """A leader and two replicas that have all, one of them synchronous where that is asked for."""
        members = list(self.members().values())
        others = ["replica", "sync_standby" if self.is_synchronous else "replica"]
        return sorted(member["role"] for member in members) == ["leader", *others] and all(
            member["state"] in ("running", "streaming") and str(member.get("lag", 0)).isdigit()
            and int(member.get("lag", 0)) < 1_000_000 for member in members)

    def wait_until_whole(self):
        return wait_for("three nodes, one leader, one synchronous", 180, self.is_whole, pause=0.5)

    def replicas(self):
        leader = self.leader()
        return [node for node in self.nodes if node is not leader]

    def synchronous(self):
        members = self.members()
        return next(node for node in self.nodes if members.get(node.name, {}).get("role") == "sync_standby")

    def patronictl(self, *words):
        configuration = self.scratch / self.nodes[0].name / "config.yml"
        return output_of("patronictl", "-c", configuration, *words)

    def query(self, sql, database="postgres", node=None):
        """The values that a statement gives, from the leader unless another node is named."""
        node = node or self.leader()
        if node is None:
            raise Failure("no leader")
        url = f"postgresql://postgres:{self.passwords['SUPERUSER']}@{node.address}/{database}?connect_timeout=3"
        return output_of(
            self.programs_of_postgres / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--tuples-only",
            "--no-align", f"--dbname={url}", f"--command={sql}", timeout=30)

    # The servers and what is around them

    def _make_certificates(self):
        place = self.scratch / "tls"
        place.mkdir()
        output_of(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days",
            "2", "-subj", "/CN=authority", "-keyout", place / "ca.key", "-out", place / "ca.pem")
        for machine in (self.proxy, self.belvo):
            output_of(
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc",
                "-days", "2", "-subj", f"/CN={machine.name}", "-addext", f"subjectAltName=IP:{machine.address}",
                "-addext", "basicConstraints=critical,CA:FALSE", "-CA", place / "ca.pem", "-CAkey", place / "ca.key",
                "-keyout", place / f"{machine.name}.key", "-out", place / f"{machine.name}.pem")
        (place / "both.pem").write_text(
            (place / "haproxy.pem").read_text() + (place / "haproxy.key").read_text())
        self.tls = ssl.create_default_context(cafile=str(place / "ca.pem"))

    def _write_settings(self):
        hosts = ",".join(node.address for node in self.nodes)
        place = self.scratch / "tls"
        self.settings = {
            "DATABASE_URL": f"postgresql://merchant:{self.password}@{hosts}/merchant?target_session_attrs=read-write",
            "PUBLIC_BASE_URL": self.door, "LISTEN": "0.0.0.0:8080",
            "BELVO_BASE_URL": f"https://{self.belvo.address}:8443", "BELVO_CA_FILE": str(place / "ca.pem"),
            "BELVO_SECRET_ID": "sandbox-id", "BELVO_SECRET_PASSWORD": "sandbox-password",
            "BELVO_BENEFICIARY_BANK_ACCOUNT": BENEFICIARY, "BELVO_WEBHOOK_TOKEN": secrets.token_hex(16),
            "AUTH_HS256_SECRET": secrets.token_hex(32), "ORDERS": "optional",
            "ENCRYPTION_KEYS": "trial:" + output_of("openssl", "rand", "-base64", "32"),
            "LOOKUP_KEY": output_of("openssl", "rand", "-base64", "32"), "TRUSTED_PROXIES": self.proxy.address,
            # A few users do what thousands would.
            "USER_RATE": "0", "ADDRESS_RATE": "0", "USER_OPEN_ENROLLMENTS_MAX": "0",
            "USER_ENROLLMENTS_PER_DAY_MAX": "0",
            "USER_PAYMENTS_PER_DAY_MAX": "0",
            "USER_OPEN_PAYMENTS_MAX": "0", "BELVO_USER_RATE": "0", "BELVO_RATE": "0",
            "HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX": "0"}

    def _start_belvo(self):
        place = self.scratch / "tls"
        self.belvo.start(
            self.programs / "belvo-sandbox", "serve", "--mode", "demo", "--settle-after-ms", "1500",
            "--listen", f"{self.belvo.address}:8443", "--public-url", self.settings["BELVO_BASE_URL"],
            "--tls-cert-file", place / "belvo.pem", "--tls-key-file", place / "belvo.key")
        wait_for("the sandbox", 20, lambda: self._answers(f"{self.settings['BELVO_BASE_URL']}/sandbox/state"))

    def control(self, method, path, body=None):
        """A call of the sandbox's control API."""
        request = urllib.request.Request(
            self.settings["BELVO_BASE_URL"] + path, None if body is None else json.dumps(body).encode(),
            {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=20, context=self.tls) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def start_server(self, server):
        server.start(self.programs / "merchant", "serve", environment=self.settings)
        wait_for(server.name, 30, lambda: self._answers(f"http://{server.address}:8080/readyz"))

    def _start_proxy(self):
        addresses = {f"SERVER_{n}": f"{server.address}:8080" for n, server in enumerate(self.servers, 1)}
        self.proxy.start(
            "haproxy", "-db", "-f", HERE / "haproxy.cfg", environment=addresses | {
                "ADDRESS": f"{self.proxy.address}:443", "CERTIFICATE": str(self.scratch / "tls/both.pem")})
        wait_for("HAProxy", 20, lambda: self._answers(f"{self.door}/readyz"))

    def _answers(self, url):
        try:
            with urllib.request.urlopen(url, timeout=2, context=self.tls if url.startswith("https") else None):
                return True
        except OSError:
            return False

    def token(self, subject):
        return output_of(self.programs / "merchant", "token", "--subject", subject, environment=self.settings)

    def phone(self, keys, *words, text=None):
        run = subprocess.run(
            [self.programs / "phone", *words, "--key-file", keys], input=text, capture_output=True, text=True,
            check=True)
        return json.loads(run.stdout)

    def pass_time(self, seconds):
        """Puts the clocks forward by which everything is due: the database's (`app_now()`) and Belvo's."""
        self.query(
            "CREATE TABLE IF NOT EXISTS trial_clock (ahead interval NOT NULL);"
            "INSERT INTO trial_clock SELECT '0' WHERE NOT EXISTS (SELECT FROM trial_clock);"
            "GRANT SELECT ON trial_clock TO PUBLIC;"
            "CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE"
            " AS 'SELECT now() + ahead FROM trial_clock';"
            f"UPDATE trial_clock SET ahead = ahead + interval '{seconds} s'", database="merchant")
        self.control("POST", "/sandbox/advance", {"seconds": seconds})

    @staticmethod
    def moment():
        return time.monotonic()
