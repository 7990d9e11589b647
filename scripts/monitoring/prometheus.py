"""A Prometheus and an Alertmanager of their own, with the repository's files, in which a minute is a second or two."""

import json
import pathlib
import re
import subprocess
import urllib.parse
import urllib.request

from site_under_watch import Listener, free_port, wait_until


def hastened(rules, minute):
    """The rules with each minute of a pause or a window as so many seconds; thresholds stay as they are."""
    def seconds(match):
        return f"{match.group(1)}{minute * int(match.group(2))}s{match.group(3)}"
    rules = re.sub(r"(for: )(\d+)m()", seconds, rules)
    return re.sub(r"(\[)(\d+)m(\])", seconds, rules)


class Monitoring:
    def __init__(self, files, scratch, target, minute=1, scrape=2):
        self.minute, self.scrape = minute, scrape
        self.files = pathlib.Path(files)
        self.scratch = pathlib.Path(scratch) / "monitoring"
        self.scratch.mkdir()
        self.target = target
        self.port, self.alertmanager_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.receiver = Listener(free_port())
        self.processes = []
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def start(self):
        self.receiver.start()
        rules = (self.files / "rules.yml").read_text(encoding="utf-8")
        (self.scratch / "rules.yml").write_text(hastened(rules, self.minute), encoding="utf-8")
        config = (self.files / "prometheus.yml").read_text(encoding="utf-8")
        config = re.sub(r"(scrape_interval|scrape_timeout): \d+s", rf"\1: {self.scrape}s", config)
        config = config.replace("evaluation_interval: 15s", "evaluation_interval: 1s")
        config = config.replace("127.0.0.1:8081", self.target)
        config = config.replace("127.0.0.1:9093", f"127.0.0.1:{self.alertmanager_port}")
        (self.scratch / "prometheus.yml").write_text(config, encoding="utf-8")
        routes = (self.files / "alertmanager.yml").read_text(encoding="utf-8")
        routes = routes.replace("127.0.0.1:9095", f"127.0.0.1:{self.receiver.port}")
        routes = re.sub(r"group_wait: \d+s", "group_wait: 0s", routes)
        routes = re.sub(r"group_interval: \d+m", "group_interval: 1s", routes)
        (self.scratch / "alertmanager.yml").write_text(routes, encoding="utf-8")
        self.run("alertmanager", "prometheus-alertmanager", f"--config.file={self.scratch}/alertmanager.yml",
                 f"--storage.path={self.scratch}/alertmanager", "--cluster.listen-address=",
                 f"--web.listen-address=127.0.0.1:{self.alertmanager_port}")
        self.run("prometheus", "prometheus", f"--config.file={self.scratch}/prometheus.yml",
                 f"--storage.tsdb.path={self.scratch}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}")
        wait_until("Prometheus", lambda: self.answers(f"http://127.0.0.1:{self.port}/-/ready"))
        wait_until("Alertmanager", lambda: self.answers(f"http://127.0.0.1:{self.alertmanager_port}/-/ready"))

    def run(self, name, *command):
        log = open(self.scratch / f"{name}.log", "wb")
        self.processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(30)
        self.receiver.stop()

    def answers(self, url):
        try:
            return self.opener.open(url, timeout=5).status == 200
        except OSError:
            return False

    def get(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with self.opener.open(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def firing(self):
        """The names of the alerts that fire now."""
        alerts = self.get("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def query(self, expression):
        return self.get("query", query=expression)["result"]

    def value(self, expression):
        found = self.query(expression)
        return float(found[0]["value"][1]) if found else None

    def rules(self):
        groups = self.get("rules")["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}

    def told(self, alert, status):
        """To which receivers the alert was told with that status."""
        paths = set()
        for path, body in list(self.receiver.taken):
            for one in json.loads(body)["alerts"]:
                if one["labels"]["alertname"] == alert and one["status"] == status:
                    paths.add(path.strip("/"))
        return paths
