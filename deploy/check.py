"""Holds what stands in deploy/ against the schemas it is written for, and against the server.

    check.py    exit code 0 when all is well, 1 when not; then it says what.

Each check is also made to fail once, by a change that it has to notice.
"""

import copy
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOOLS = pathlib.Path(sys.executable).parent
KUBERNETES = "1.30"
# Seconds for which the server finishes what it accepted (MerchantServer.drainDeadline), and for operators one more.
DRAIN = int(re.search(r"drainDeadline = Duration.seconds\((\d+)\)",
                      (ROOT / "Sources/MerchantServer/MerchantServer.swift").read_text())[1]) + 1


def known_settings():
    names = re.findall(r"^#([A-Z0-9_]+)=", (ROOT / "config/merchant.env").read_text(), re.MULTILINE)
    return set(names) | {f"{name}_FILE" for name in names}


def required_settings():
    """Those that the server refuses to start without, each by one of its names."""
    single = ("DATABASE_URL PUBLIC_BASE_URL BELVO_BASE_URL BELVO_SECRET_ID BELVO_SECRET_PASSWORD "
              "BELVO_BENEFICIARY_BANK_ACCOUNT BELVO_WEBHOOK_TOKEN ENCRYPTION_KEYS LOOKUP_KEY").split()
    return [{name, f"{name}_FILE"} for name in single] + [
        {"AUTH_HS256_SECRET", "AUTH_HS256_SECRET_FILE", "AUTH_JWKS_FILE", "AUTH_JWKS_URL"}]


def faults_of_settings(where, settings, files):
    """Settings that the server does not know, that it lacks, and secrets that no file is there for."""
    faults = [f"{where}: there is no setting {name}" for name in sorted(set(settings) - known_settings())]
    faults += [f"{where}: one of {', '.join(sorted(names))} is missing"
               for names in required_settings() if not names & set(settings)]
    paths = {value for name, value in settings.items() if name.endswith("_FILE")}
    if files is not None:
        faults += [f"{where}: nobody brings {path}" for path in sorted(paths - files)]
    return faults


def faults_of_compose(compose):
    faults = []
    servers = {name: service for name, service in compose["services"].items() if name.startswith("merchant-")}
    if len(servers) < 2:
        faults.append("compose: there are not two servers")
    for name, service in {**servers, "migrate": compose["services"]["migrate"]}.items():
        files = {f"/run/secrets/{secret}" for secret in service["secrets"]}
        faults += faults_of_settings(f"compose {name}", service["environment"], files)
        if service.get("build") != {"context": "../..", "target": "server"}:
            faults.append(f"compose {name}: its image is not built from this checkout")
        if not (service["read_only"] and service["cap_drop"] == ["ALL"] and service["user"] == image_user()):
            faults.append(f"compose {name}: has more rights than it needs")
    for name, service in compose["services"].items():
        unknown = set(service.get("secrets", [])) - set(compose["secrets"])
        faults += [f"compose {name}: there is no secret {secret}" for secret in sorted(unknown)]
        if "max-size" not in service["logging"]["options"]:
            faults.append(f"compose {name}: its log has no bound")
        limits = service.get("deploy", {}).get("resources", {}).get("limits", {})
        if name != "migrate" and not ("memory" in limits and "healthcheck" in service):
            faults.append(f"compose {name}: has no limit of memory, or no health check")
    for name, service in servers.items():
        if seconds(service["stop_grace_period"]) <= DRAIN:
            faults.append(f"compose {name}: is killed before it has drained")
        if service["depends_on"]["migrate"]["condition"] != "service_completed_successfully":
            faults.append(f"compose {name}: does not wait for the migrations")
    return faults


def faults_of_kubernetes(documents):
    faults = []
    settings = documents["ConfigMap", "merchant"]["data"]
    pods = {kind: documents[kind, name]["spec"]["template"]["spec"]
            for kind, name in (("Deployment", "merchant"), ("Job", "merchant-migrate"))}
    for kind, pod in pods.items():
        container = pod["containers"][0]
        mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
        where = f"kubernetes {kind}"
        faults += faults_of_settings(where, settings, None)
        faults += [f"{where}: {path} is not mounted" for name, path in settings.items()
                   if name.endswith("_FILE") and str(pathlib.PurePath(path).parent) not in mounts]
        rights, user = container["securityContext"], pod["securityContext"]
        if (rights["allowPrivilegeEscalation"] or not rights["readOnlyRootFilesystem"]
                or rights["capabilities"] != {"drop": ["ALL"]} or not user["runAsNonRoot"]
                or f"{user['runAsUser']}:{user['runAsGroup']}" != image_user()):
            faults.append(f"{where}: has more rights than it needs")
    server = pods["Deployment"]
    pause = server["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    if server["terminationGracePeriodSeconds"] <= pause + DRAIN:
        faults.append("kubernetes Deployment: is killed before it has drained")
    labels = documents["Deployment", "merchant"]["spec"]["template"]["metadata"]["labels"]
    selectors = {
        "Deployment": documents["Deployment", "merchant"]["spec"]["selector"]["matchLabels"],
        "Service": documents["Service", "merchant"]["spec"]["selector"],
        "PodDisruptionBudget": documents["PodDisruptionBudget", "merchant"]["spec"]["selector"]["matchLabels"]}
    faults += [f"kubernetes {kind}: selects no server" for kind, selector in selectors.items()
               if not selector.items() <= labels.items()]
    if documents["PodDisruptionBudget", "merchant"]["spec"]["minAvailable"] >= documents[
            "Deployment", "merchant"]["spec"]["replicas"]:
        faults.append("kubernetes PodDisruptionBudget: no machine can ever be emptied")
    ports = {port["name"]: port["containerPort"] for port in server["containers"][0]["ports"]}
    if settings["LISTEN"] != f"0.0.0.0:{ports['api']}" or settings["ADMIN_LISTEN"] != f"0.0.0.0:{ports['admin']}":
        faults.append("kubernetes Deployment: its ports are not those that the server listens on")
    return faults


def seconds(text):
    return int(text.removesuffix("s"))


def image_user():
    """As the image says it: the last USER of the stage `server`."""
    stage = (ROOT / "Dockerfile").read_text().split(" AS server\n")[1].split("\nFROM ")[0]
    return re.findall(r"^USER (.*)$", stage, re.MULTILINE)[-1]


def run(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return [] if done.returncode == 0 else [done.stdout.strip() or f"{command[0]} ended with {done.returncode}"]


def faults_of_schema_of_compose(path):
    return run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", path)


def faults_of_schema_of_kubernetes(path):
    return run(TOOLS / "kubernetes-validate", "--kubernetes-version", KUBERNETES, "--strict", "--quiet", path)


def faults_of_haproxy(path):
    with tempfile.TemporaryDirectory() as scratch:
        both = pathlib.Path(scratch, "both.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-subj",
             "/CN=a", "-keyout", both, "-out", f"{both}.crt"], check=True, stderr=subprocess.DEVNULL)
        both.write_text(both.read_text() + pathlib.Path(f"{both}.crt").read_text())
        return run("env", "PATH=/usr/sbin:/usr/bin:/bin", "ADDRESS=127.0.0.1:8443", f"CERTIFICATE={both}",
                   *(f"SERVER_{n}=127.0.0.1:{n}" for n in (1, 2, 3)), "haproxy", "-c", "-f", path)


def faults_of_the_two_proxies():
    files = [ROOT / f"deploy/{name}/haproxy.cfg" for name in ("patroni", "compose")]
    texts = [path.read_text().partition("global\n")[2] for path in files]
    first = [line for line in texts[0].splitlines() if "SERVER_3" not in line]
    # Where names are resolved while it runs stands in one of them alone.
    own = re.sub(r"# A container.*?\n\n", "", texts[1], flags=re.DOTALL)
    second = own.replace(" resolvers network init-addr none", "").splitlines()
    return [] if first == second else ["compose/haproxy.cfg and patroni/haproxy.cfg are not of one mind"]


def must_notice(what, faults):
    return [] if faults else [f"nobody notices {what}"]


def main():
    faults = []
    compose_path, kubernetes_paths = ROOT / "deploy/compose/compose.yml", sorted(
        (ROOT / "deploy/kubernetes").glob("*.yml"))
    compose = yaml.safe_load(compose_path.read_text())
    documents = {(document["kind"], document["metadata"]["name"]): document
                 for path in kubernetes_paths for document in yaml.safe_load_all(path.read_text())}
    for path in (compose_path, ROOT / "docker-compose.yml"):
        faults += faults_of_schema_of_compose(path)
    for path in kubernetes_paths:
        faults += faults_of_schema_of_kubernetes(path)
    for name in ("compose", "patroni"):
        faults += faults_of_haproxy(ROOT / f"deploy/{name}/haproxy.cfg")
    faults += faults_of_the_two_proxies() + faults_of_compose(compose) + faults_of_kubernetes(documents)

    with tempfile.TemporaryDirectory() as scratch:
        wrong = pathlib.Path(scratch, "wrong.yml")
        wrong.write_text(compose_path.read_text().replace("stop_grace_period", "stop_grace_time"))
        faults += must_notice("a wrong word in compose.yml", faults_of_schema_of_compose(wrong))
        wrong.write_text(kubernetes_paths[0].read_text().replace("readinessProbe", "readynessProbe"))
        faults += must_notice("a wrong word in a manifest", faults_of_schema_of_kubernetes(wrong))
        wrong.write_text((ROOT / "deploy/compose/haproxy.cfg").read_text().replace("balance", "balanced"))
        faults += must_notice("a wrong word in haproxy.cfg", faults_of_haproxy(wrong))
    other = copy.deepcopy(compose)
    other["services"]["merchant-1"]["stop_grace_period"] = f"{DRAIN}s"
    faults += must_notice("a container that is killed too early", faults_of_compose(other))
    other = copy.deepcopy(compose)
    other["services"]["merchant-1"]["environment"] = {"LISTEN": "a", "LISTEM": "b"}
    faults += must_notice("settings that are wrong", faults_of_compose(other))
    other = copy.deepcopy(documents)
    other["Deployment", "merchant"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = DRAIN + 5
    faults += must_notice("a pod that is killed too early", faults_of_kubernetes(other))
    other = copy.deepcopy(documents)
    other["Service", "merchant"]["spec"]["selector"] = {"app": "merchant"}
    faults += must_notice("a service without servers", faults_of_kubernetes(other))

    for fault in faults:
        print(fault)
    if not faults:
        print(f"{len(documents)} manifests, 2 compose files and 2 proxies are as they have to be.")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
