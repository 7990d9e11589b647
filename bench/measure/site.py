"""What is measured and what it is measured with: a database, the sandbox, the server, nginx, each on its processor."""

import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import tempfile
from dataclasses import dataclass, field

from .processes import Child, Children, Failure, OrderTaker, output_of

_database = "merchant"
beneficiary = "5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10"
_postgres_version_min = 15


def free_port(wanted: int) -> int:
    """The port, or the nearest one above on which nobody listens."""
    for port in range(wanted, wanted + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise Failure(f"no free port between {wanted} and {wanted + 99} on 127.0.0.1.")


@dataclass
class Placement:
    """The first processor is for what is measured, the second for everything else; one alone serves both."""

    server: int
    other: int
    #: Whether everything but what is measured and what is told otherwise has real-time priority.
    urgent: bool = False

    @staticmethod
    def choose(urgent: bool = False) -> "Placement":
        processors = sorted(os.sched_getaffinity(0))
        placement = Placement(processors[0], processors[min(1, len(processors) - 1)], urgent)
        # This program itself, and what it calls in between.
        os.sched_setaffinity(0, {placement.other})
        if urgent:
            try:
                os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
            except PermissionError as error:
                raise Failure("this needs the right to give real-time priority (CAP_SYS_NICE), as root has.") from error
        return placement

    @property
    def on_server(self) -> list[str]:
        """What is measured never has more than ordinary priority."""
        return ["taskset", "--cpu-list", str(self.server), *(["chrt", "--other", "0"] if self.urgent else [])]

    @property
    def on_other(self) -> list[str]:
        return ["taskset", "--cpu-list", str(self.other)]


@dataclass
class Database:
    """A PostgreSQL cluster of its own, whose commits reach the disk."""

    programs: pathlib.Path
    port: int
    password: str
    child: Child

    def url(self, database: str = _database) -> str:
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/{database}"

    def query(self, sql: str, database: str = _database) -> str:
        """The one value that the statements give; several are sent one by one."""
        return output_of(
            self.programs / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--tuples-only", "--no-align",
            f"--dbname={self.url(database)}", f"--command={sql}")

    def run_file(self, path: str) -> None:
        output_of(
            self.programs / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={self.url()}",
            f"--file={path}")

    def pgbench(self, file: str, clients: int, seconds: int, *definitions: str) -> list[object]:
        """The command that has pgbench repeat the statements of a file."""
        return [
            self.programs / "pgbench", "--no-vacuum", "--protocol=prepared", f"--client={clients}", "--jobs=1",
            f"--time={seconds}", f"--file={file}", *(f"--define={definition}" for definition in definitions),
            self.url()]


@dataclass
class Site:
    """A merchant's site for the time of one measurement."""

    programs: pathlib.Path
    settle_after_ms: int = 0
    urgent: bool = False
    children: Children = field(default_factory=Children)
    # What follows is made at the beginning, and gone at the end.
    load_before: str = field(init=False)
    scratch: pathlib.Path = field(init=False)
    placement: Placement = field(init=False)
    database: Database = field(init=False)
    sandbox: Child = field(init=False)
    settings: pathlib.Path = field(init=False)
    port: int = field(init=False)
    url: str = field(init=False)
    sandbox_url: str = field(init=False)

    def __enter__(self) -> "Site":
        # Below /var/tmp, which stays over a restart and so is a disk nearly everywhere: commits that only reach memory
        # would flatter everybody.
        self.load_before = pathlib.Path("/proc/loadavg").read_text().split()[0]
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="merchant-bench.", dir="/var/tmp"))
        try:
            kind = output_of("findmnt", "--noheadings", "--output", "FSTYPE", "--target", self.scratch)
            if kind in ("tmpfs", "ramfs"):
                raise Failure(f"/var/tmp is memory ({kind}): there is no disk to commit to.")
            self.placement = Placement.choose(self.urgent)
            self.database = self.start_cluster(self.scratch)
            self._write_settings()
            output_of(self.programs / "merchant", "migrate", "--config", self.settings)
            self.sandbox = self._start_sandbox()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.children.stop_all()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def log(self, name: str) -> pathlib.Path:
        return self.scratch / f"{name}.log"

    def answers(self, url: str) -> bool:
        """Whether a GET is answered with success."""
        try:
            self.get(url)
        except Failure:
            return False
        return True

    def get(self, url: str, *options: str) -> str:
        return output_of(
            "curl", "--silent", "--show-error", "--fail", "--max-time", "10", "--noproxy", "*", "--cacert",
            self.scratch / "secrets/ca.pem", *options, url)

    def start_cluster(self, directory: pathlib.Path) -> Database:
        """A PostgreSQL of its own in a directory, with an empty database."""
        installed = pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")
        programs = max(installed, key=lambda path: int(path.parts[-3]), default=None)
        if programs is None or int(programs.parts[-3]) < _postgres_version_min:
            raise Failure(f"this needs PostgreSQL {_postgres_version_min} or newer below /usr/lib/postgresql.")
        programs = programs.parent
        # PostgreSQL refuses to run as root, and has to reach its files.
        as_user = ["env", "--chdir=/"]
        directory.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(directory, account.pw_uid, account.pw_gid)
            as_user += ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        password_file, data = directory / "password", directory / "data"
        password = output_of("openssl", "rand", "-hex", "24")
        password_file.write_text(password + "\n")
        if os.geteuid() == 0:
            os.chown(password_file, account.pw_uid, account.pw_gid)
        output_of(
            *as_user, programs / "initdb", f"--pgdata={data}", "--username=postgres", "--auth=scram-sha-256",
            f"--pwfile={password_file}", "--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions")
        port = free_port(random.randrange(20_000, 30_000))
        options = {
            "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": directory, "fsync": "on",
            "synchronous_commit": "on", "full_page_writes": "on", **self._cluster_options()}
        # SIGINT is PostgreSQL's fast shutdown. It is asked for once more because the kernel forgets the signal of the
        # parent's death when the user changes.
        child = self.children.start(
            "PostgreSQL", self.log(f"postgres-{directory.name}"),
            [*as_user, *self.placement.on_other, "setpriv", "--pdeathsig", "INT", programs / "postgres", "-D", data,
             *(f"--{name}={value}" for name, value in options.items())], stop=signal.SIGINT)
        database = Database(programs, port, password, child)
        ready = [programs / "pg_isready", "--quiet", "--host=127.0.0.1", f"--port={port}"]
        child.wait_until(30, lambda: _succeeds(*ready), "PostgreSQL did not start")
        database.query(f"CREATE DATABASE {_database}", database="postgres")
        return database

    def _write_settings(self) -> None:
        """The settings of a server as it is in use, but for what belongs to a demonstration: the sandbox, no orders."""
        merchant = free_port(random.randrange(20_000, 30_000))
        sandbox = free_port(merchant + 1)
        self.port, self.url = merchant, f"http://127.0.0.1:{merchant}"
        self.sandbox_url = f"https://127.0.0.1:{sandbox}"
        self.settings = self.scratch / "merchant.env"
        output_of("scripts/lib/make-demo-secrets", self.scratch / "secrets")
        values = {
            "DATABASE_URL": self.database.url(), "PUBLIC_BASE_URL": self.url, "LISTEN": f"127.0.0.1:{merchant}",
            "ADMIN_LISTEN": f"127.0.0.1:{free_port(sandbox + 1)}", "BELVO_BASE_URL": self.sandbox_url,
            "BELVO_CA_FILE": self.scratch / "secrets/ca.pem", "BELVO_SECRET_ID": "sandbox-id",
            "BELVO_SECRET_PASSWORD": "sandbox-password", "BELVO_BENEFICIARY_BANK_ACCOUNT": beneficiary,
            "ORDERS": "optional", "USER_RATE": 0, "HTTP_CONNECTIONS_PER_ADDRESS_MAX": 0,
            "HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX": 0, "BELVO_RATE": 0, "BELVO_USER_RATE": 0,
            "BELVO_STRANGER_RATE": 0, "ADDRESS_RATE": 0, "USER_OPEN_ENROLLMENTS_MAX": 0,
            "USER_ENROLLMENTS_PER_DAY_MAX": 0, "USER_OPEN_PAYMENTS_MAX": 0,
            "USER_PAYMENTS_PER_DAY_MAX": 0}
        lines = (self.scratch / "secrets/secrets.env").read_text().splitlines()
        # No shop places orders or gets events, unless a measurement brings one.
        lines = [line for line in lines if not line.startswith("SHOP_")]
        lines += [f"{name}={value}" for name, value in values.items()]
        self.settings.write_text("\n".join(lines) + "\n")
        # The environment wins over a file, and what is measured is not for the user's shell to change.
        names = [line.split("=")[0] for line in lines if not line.startswith("#")]
        for name in names + ["SANDBOX_SECRET_ID", "SANDBOX_SECRET_PASSWORD"]:
            os.environ.pop(name, None)
            os.environ.pop(name + "_FILE", None)

    def add_settings(self, **values: object) -> None:
        with self.settings.open("a") as file:
            file.writelines(f"{name}={value}\n" for name, value in values.items())

    def setting(self, name: str) -> str:
        lines = self.settings.read_text().splitlines()
        return next(line.split("=", 1)[1] for line in lines if line.startswith(name + "="))

    def _start_sandbox(self) -> Child:
        address = self.sandbox_url.removeprefix("https://")
        child = self.children.start(
            "belvo-sandbox", self.log("belvo-sandbox"),
            [*self.placement.on_other, self.programs / "belvo-sandbox", "serve", "--mode", "demo", "--settle-after-ms",
             self.settle_after_ms, "--listen", address, "--public-url", self.sandbox_url,
             "--tls-cert-file", self.scratch / "secrets/server.pem",
             "--tls-key-file", self.scratch / "secrets/server.key", *self._sandbox_options()])
        child.wait_until(
            30, lambda: _succeeds("curl", "--silent", "--insecure", "--noproxy", "*", self.sandbox_url + "/"),
            "belvo-sandbox does not answer")
        return child

    def _sandbox_options(self) -> list[object]:
        return []

    def _cluster_options(self) -> dict[str, object]:
        """What PostgreSQL is started with beside the options of all measurements."""
        return {}

    def start_merchant(self, name: str = "merchant", url: str | None = None, **settings: object) -> Child:
        """The server, with these settings beside those of the file."""
        child = self.children.start(
            name, self.log(name),
            [*self.placement.on_server, self.programs / "merchant", "serve", "--config", self.settings],
            environment={name: str(value) for name, value in settings.items()})
        child.wait_until(30, lambda: self.answers(f"{url or self.url}/readyz"), f"{name} did not become ready")
        return child

    def stop(self, child: Child) -> None:
        self.children.stop(child)

    def start_nginx(
        self, name: str, connections: int, placement: list[str], probe: str, configuration: str
    ) -> Child:
        """One worker without logs, as nginx is fastest on one processor, until the probe is answered."""
        directory = self.scratch / name
        directory.mkdir(exist_ok=True)
        temporary = [f"{kind}_temp_path {directory}/{kind};" for kind in
                     ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")]
        (directory / "nginx.conf").write_text(f"""\
{"user root;" if os.geteuid() == 0 else ""}
daemon off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log crit;
events {{ worker_connections {connections}; }}
http {{
    {" ".join(temporary)}
    access_log off;
    keepalive_requests 1000000000;
{configuration}
}}
""")
        # SIGTERM is nginx's fast shutdown.
        child = self.children.start(
            name, self.log(name),
            [*placement, nginx_program(), "-e", directory / "error.log", "-c", directory / "nginx.conf"])
        child.wait_until(10, lambda: self.answers(probe), "nginx does not answer")
        return child

    def start_static_nginx(self) -> "StaticNginx":
        """An nginx that answers /livez with the same body from memory, and with as many bytes in all."""
        url = f"http://127.0.0.1:{free_port(self.port + 10)}"
        body, wanted = self.get(self.url + "/livez"), self.answer_bytes(self.url + "/livez")

        def start(field: str = "") -> Child:
            return self.start_nginx("nginx", 1024, self.placement.on_server, url + "/livez", f"""
    server {{
        listen {url.removeprefix("http://")};
        location = /livez {{ default_type application/json; {field} return 200 '{body}'; }}
    }}""")

        child = start()
        # A field of its own takes its name, a colon, a blank and the end of a line.
        room = wanted - self.answer_bytes(url + "/livez") - len("X: \r\n")
        if room > 0:
            self.stop(child)
            child = start(f"add_header X {'x' * room};")
        return StaticNginx(child, url, self.answer_bytes(url + "/livez"), wanted)

    def answer_bytes(self, url: str) -> int:
        """The length of a whole answer, fields and body."""
        written = self.get(url, "--output", "/dev/null", "--write-out", "%{size_header} %{size_download}")
        return sum(map(int, written.split()))

    def tokens(self, name: str, count: int) -> pathlib.Path:
        """A file with a token for each user NAME-0, NAME-1 ..."""
        path = self.scratch / f"tokens-{name}"
        path.write_text("".join(
            output_of(self.programs / "merchant", "token", "--subject", f"{name}-{number}", "--config", self.settings)
            + "\n" for number in range(count)))
        return path

    def start_load(self, *options: object) -> OrderTaker:
        """A load generator that has made itself ready."""
        child = self.children.start(
            "load generator", self.log("load"), [*self.placement.on_other, self.programs / "LoadProgram", *options],
            talks=True)
        taker = OrderTaker(child)
        taker.hear()
        return taker

    def start_crowd(self, users: int, *options: str, name: str = "load") -> OrderTaker:
        """A load generator with an enrolled phone for each user."""
        return self.start_load(
            "drive", "--merchant", self.url, "--sandbox", self.sandbox_url, "--sandbox-ca-file",
            self.scratch / "secrets/ca.pem", "--tokens", self.tokens(name, users), *options)


@dataclass
class StaticNginx:
    child: Child
    url: str
    answer_bytes: int
    wanted_bytes: int


def nginx_program() -> str:
    """Debian keeps it where a plain user's PATH does not lead."""
    found = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if found is None:
        raise Failure("nginx is not installed.")
    return found


def _succeeds(*command: object) -> bool:
    try:
        output_of(*command)
    except Failure:
        return False
    return True


