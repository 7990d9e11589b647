"""The servers that ./dev bench-http compares, each on the server's processor with one thread for its work."""

import pathlib
import re
from dataclasses import dataclass, field

from .processes import Child, output_of
from .site import Site, free_port


@dataclass
class Server:
    """One that is measured, and where it gives its static answer."""

    title: str
    child: Child
    url: str
    static_path: str = "/static"

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def static_url(self) -> str:
        return self.url + self.static_path


@dataclass
class Peers:
    site: Site
    directory: pathlib.Path
    servers: dict[str, Server] = field(default_factory=dict)
    secure_nginx_url: str = field(init=False)
    _port: int = field(init=False)

    def start(self) -> None:
        site, database = self.site, self.site.database.url()
        self._port = site.port + 30
        self.servers["merchant"] = Server("this server, `GET /livez`", site.start_merchant(), site.url, "/livez")
        self._start(
            "echo", "its layers alone (`bench/echo`)", site.programs / "EchoProgram", "--listen", "127.0.0.1:{port}",
            "--database", database)
        nginx = site.start_static_nginx()
        self.servers["nginx"] = Server("nginx", nginx.child, nginx.url, "/livez")
        self._start(
            "go", "Go net/http", self.directory / "go", "127.0.0.1:{port}", GOMAXPROCS="1", DATABASE_URL=database)
        self._start("hummingbird", "Hummingbird", self.directory / "hummingbird/release/Peer", "{port}")
        self._start(
            "fastapi", "FastAPI on uvicorn", self.directory / "fastapi/bin/uvicorn", "--app-dir", "bench/peers/fastapi",
            "peer:app", "--host", "127.0.0.1", "--port", "{port}", "--loop", "uvloop", "--http", "httptools",
            "--no-access-log", "--log-level", "warning", PYTHONDONTWRITEBYTECODE="1")

    def start_secure(self) -> None:
        """nginx over TLS on the other processor, for this project's client, and the echo server over TLS on the
        server's; each once with connections that stay and once with connections of one request."""
        secrets = self.site.scratch / "secrets"
        certificate, key = secrets / "server.pem", secrets / "server.key"
        self.secure_nginx_url = f"https://127.0.0.1:{self._next_port()}"
        # The body says whether the session was resumed: "r", or "." when it was not.
        self.site.start_nginx("secure-nginx", 1024, self.site.placement.on_other, self.secure_nginx_url + "/kept", f"""
    server {{
        listen {self.secure_nginx_url.removeprefix("https://")} ssl;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        location = /kept {{ return 200 $ssl_session_reused; }}
        location = /once {{ keepalive_timeout 0; return 200 $ssl_session_reused; }}
    }}""")
        for name, options in (("kept", []), ("once", ["--requests-per-connection", 1])):
            self._start(
                f"secure_{name}", f"its layers over TLS, {name}", self.site.programs / "EchoProgram", "--listen",
                "127.0.0.1:{port}", "--certificate", certificate, "--key", key, *options, scheme="https")

    def restart_merchant(self, **settings: object) -> None:
        merchant = self.servers["merchant"]
        self.site.stop(merchant.child)
        merchant.child = self.site.start_merchant(**settings)

    def _next_port(self) -> int:
        port = free_port(self._port)
        self._port = port + 1
        return port

    def _start(self, name: str, title: str, *command: object, scheme: str = "http", **environment: str) -> None:
        port = self._next_port()
        words = [str(word).replace("{port}", str(port)) for word in command]
        child = self.site.children.start(
            name, self.site.log(name), [*self.site.placement.on_server, *words], environment=environment)
        server = Server(title, child, f"{scheme}://127.0.0.1:{port}")
        child.wait_until(30, lambda: self.site.answers(server.static_url), f"{name} does not answer")
        self.servers[name] = server

    def versions(self) -> list[str]:
        go, pgx = output_of("go", "version").split()[2], output_of(
            "dpkg-query", "--show", "--showformat=${Version}", "golang-github-jackc-pgx-v4-dev")
        resolved = pathlib.Path("bench/peers/hummingbird-server/Package.resolved").read_text()
        hummingbird = re.search(r'"identity" : "hummingbird".*?"version" : "(.*?)"', resolved, re.S)[1]
        required = pathlib.Path("bench/peers/fastapi/requirements.txt").read_text()
        python = [" ".join(found) for found in re.findall(r"^(fastapi|uvicorn)==(\S+)", required, re.M)]
        return [f"{go} with pgx {pgx}", f"Hummingbird {hummingbird}", *python[:-1],
                python[-1] + " with uvloop and httptools"]
