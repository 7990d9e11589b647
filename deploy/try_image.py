"""Builds the images of the Dockerfile and runs the one for production as deploy/compose and deploy/kubernetes do.

    try_image.py build --programs DIRECTORY --base DIRECTORY --scratch DIRECTORY
    try_image.py run --scratch DIRECTORY [--libraries DIRECTORY]

There is no registry and no Docker engine here: `debian:bookworm-slim` is what debootstrap made, buildah runs every line
from there on, and podman runs the image. The stage `build` is not run, since its image comes from a registry: its
programs are those of this machine. With programs that are not linked statically, their libraries are mounted where they
look for them. `run` belongs into a network namespace of its own, as `./dev image` does it: the ports are free there.
"""

import argparse
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BASE = "docker.io/library/debian:bookworm-slim"
NAME = "merchant-image-trial"


class Failure(Exception):
    """An image is not as it has to be."""


def output_of(*command, expect=(0,), **options):
    run = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if run.returncode not in expect:
        raise Failure(f"{' '.join(map(str, command))} ended with {run.returncode}:\n{run.stdout[-3000:]}")
    return run.stdout.strip()


def buildah(*words, **options):
    return output_of("buildah", *words, env=os.environ | {"BUILDAH_ISOLATION": "chroot"}, **options)


def podman(*words, **options):
    return output_of("podman", "--storage-driver", "overlay", "--cgroup-manager", "cgroupfs", "--runtime", "runc",
                     *words, **options)


def import_base(directory):
    container = buildah("from", "scratch").splitlines()[-1]
    mounted = buildah("mount", container).splitlines()[-1]
    output_of("tar", "--directory", mounted, "--extract", stdin=subprocess.Popen(
        ["tar", "--directory", directory, "--create", "--exclude=./proc/*", "--exclude=./sys/*", "."],
        stdout=subprocess.PIPE).stdout)
    buildah("umount", container)
    buildah("commit", "--rm", container, BASE)


def make_images(programs, scratch):
    """The lines of the Dockerfile behind its first stage; what they take from there lies in the context."""
    context = scratch / "context"
    (context / "programs").mkdir(parents=True)
    (context / "source").mkdir()
    for name in ("merchant", "belvo-sandbox"):
        output_of("cp", programs / name, context / "programs")
    output_of("cp", "--recursive", ROOT / "scripts", context / "source")
    text = (ROOT / "Dockerfile").read_text()
    stages = text[text.index("\nFROM debian:bookworm-slim AS server"):]
    taken, count = re.subn(
        r"^COPY --from=build (.*)$", lambda found: "COPY " + re.sub(r"(^| )/(programs|source)", r"\1\2", found[1]),
        stages, flags=re.MULTILINE)
    if count != 2:
        raise Failure(f"{count} lines take something from the stage `build`")
    (context / "Dockerfile").write_text(taken)
    for stage in ("server", "demo"):
        buildah("bud", "--pull-never", "--format", "docker", "--target", stage, "--tag", f"{NAME}-{stage}", context)


def container(*words, libraries=None, secrets=None, detached=False):
    """How compose.yml and merchant.yml run it: nothing is writable, no capability, no way to more rights."""
    mounts = ["--volume", f"{libraries}:{libraries}:ro"] if libraries else []
    mounts += ["--volume", f"{secrets}:/run/secrets:ro"] if secrets else []
    return ["run", "--pull=never", "--read-only", "--read-only-tmpfs=false", "--cap-drop=ALL",
            "--security-opt=no-new-privileges", "--network=host", "--cgroupns=host", "--no-healthcheck",
            "--ulimit=nofile=4096:4096", "--ulimit=nproc=1024:1024", *mounts,
            *(["--detach", f"--name={NAME}"] if detached else ["--rm"]), *words]


def check_rights(libraries):
    image = f"{NAME}-server"
    told = json.loads(buildah("inspect", "--type", "image", image))["Docker"]["config"]
    if told["User"] != "65532:65532" or told["Cmd"] != ["merchant", "serve"]:
        raise Failure(f"the image runs {told['Cmd']} as {told['User']}")
    status = podman(*container(image, "grep", "-E", "^(Uid|CapEff|CapBnd|NoNewPrivs)", "/proc/self/status"))
    facts = dict(line.split(":", 1) for line in status.splitlines() if ":" in line and "level=" not in line)
    if (facts["Uid"].split() != ["65532"] * 4 or int(facts["CapEff"], 16) or int(facts["CapBnd"], 16)
            or facts["NoNewPrivs"].strip() != "1"):
        raise Failure(f"it runs with {facts}")
    for path in ("/x", "/tmp/x", "/var/x"):
        podman(*container(image, "touch", path), expect=(1,))
    print(podman(*container(image, "merchant", "--version", libraries=libraries)).splitlines()[-1])
    demo = json.loads(buildah("inspect", "--type", "image", f"{NAME}-demo"))["Docker"]["config"]
    if demo["User"] != "65532:65532":
        raise Failure(f"the demo runs as {demo['User']}")


def start_database(scratch):
    programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parts[-2]))
    place = scratch / "database"
    place.mkdir()
    output_of("chown", "postgres:", place)
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "env", "--chdir=/"]
    output_of(*as_user, programs / "initdb", f"--pgdata={place}", "--username=merchant", "--auth=trust",
              "--encoding=UTF8", "--locale=C.UTF-8")
    server = subprocess.Popen(
        [*as_user, programs / "postgres", "-D", place, "-c", "listen_addresses=127.0.0.1", "-c",
         "unix_socket_directories="], stdout=open(scratch / "database.log", "wb"), stderr=subprocess.STDOUT)
    for _ in range(100):
        if subprocess.run([programs / "pg_isready", "-q", "-h", "127.0.0.1"], check=False).returncode == 0:
            return server
        time.sleep(0.1)
    raise Failure("PostgreSQL does not start")


def make_secrets(scratch):
    """Files as compose.yml has them, which nobody but the image's user reads."""
    place = scratch / "secrets"
    place.mkdir()
    key = base64.b64encode(b"a key of this trial, of 32 bytes").decode()
    for name, text in {
            "database_url": "postgresql://merchant@127.0.0.1/postgres", "belvo_secret_id": "sandbox-id",
            "belvo_secret_password": "sandbox-password", "belvo_webhook_token": "a-token-of-this-trial",
            "encryption_keys": f"trial:{key}", "lookup_key": key, "shop_token": "a-token-of-this-trial",
            "users": "a-secret-of-this-trial-that-is-long-enough"}.items():
        (place / name).write_text(text + "\n")
        (place / name).chmod(0o400)
        os.chown(place / name, 65532, 65532)
    os.chown(place, 65532, 65532)
    place.chmod(0o500)
    return place


def check_service(scratch, libraries):
    """Migrated, started, healthy, and ended by SIGTERM with 0."""
    settings = {
        "PUBLIC_BASE_URL": "https://pay.shop.example", "BELVO_BASE_URL": "http://127.0.0.1:1",
        "BELVO_BENEFICIARY_BANK_ACCOUNT": "5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10", "LISTEN": "0.0.0.0:8080",
        "ADMIN_LISTEN": "0.0.0.0:9464", "AUTH_HS256_SECRET_FILE": "/run/secrets/users"}
    for name in ("database_url", "belvo_secret_id", "belvo_secret_password", "belvo_webhook_token", "encryption_keys",
                 "lookup_key", "shop_token"):
        settings[f"{name.upper()}_FILE"] = f"/run/secrets/{name}"
    environment = [f"--env={name}={value}" for name, value in settings.items()]
    place, image = make_secrets(scratch), f"{NAME}-server"
    said = podman(*container(*environment, image, "merchant", "migrate", libraries=libraries, secrets=place))
    print(said.splitlines()[-1])
    podman(*container(*environment, image, libraries=libraries, secrets=place, detached=True))
    try:
        for _ in range(100):
            found = podman("exec", NAME, "merchant", "ready", expect=(0, 69))
            if '"status":"ok"' in found:
                break
            time.sleep(0.2)
        else:
            raise Failure(f"the server is not ready: {found}\n{podman('logs', NAME)}")
        print(found.splitlines()[-1])
        podman("stop", "--time", "35", NAME)
        code = podman("inspect", "--format", "{{.State.ExitCode}}", NAME).splitlines()[-1]
        if code != "0":
            raise Failure(f"the server ended with {code}")
    finally:
        podman("rm", "--force", NAME)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=["build", "run"])
    for name in ("programs", "base", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    parser.add_argument("--libraries")
    wishes = parser.parse_args()
    server = None
    try:
        if wishes.phase == "build":
            import_base(wishes.base)
            make_images(wishes.programs, wishes.scratch)
            return
        check_rights(wishes.libraries)
        server = start_database(wishes.scratch)
        check_service(wishes.scratch, wishes.libraries)
        print("The images are as they have to be.")
    except Failure as failure:
        print(f"try_image: {failure}", file=sys.stderr)
        sys.exit(1)
    finally:
        if server:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
