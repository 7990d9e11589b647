"""Makes the Debian package: make_package.py PROGRAM MANUAL DIRECTORY [--version VERSION]; prints its path.

PROGRAM is a `merchant` linked with --static-swift-stdlib, MANUAL what `./dev manual` wrote. Which packages it needs is
asked of dpkg-shlibdeps.
"""

import argparse
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

NAME = "biometric-pix-merchant"
ROOT = pathlib.Path(__file__).resolve().parents[2]
SECRETS = [
    "DATABASE_URL", "BELVO_SECRET_ID", "BELVO_SECRET_PASSWORD", "BELVO_WEBHOOK_TOKEN", "ENCRYPTION_KEYS",
    "LOOKUP_KEY", "SHOP_TOKEN"]

COPYRIGHT = """\
Copyright: the authors of biometric-pix-merchant
License: Apache-2.0, whose text is in /usr/share/common-licenses/Apache-2.0
"""


def output_of(*command, **options):
    return subprocess.run(
        list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True, **options).stdout.strip()


def version_of(program):
    """As `merchant --version` says it: merchant 1.1.0, commit 0123456789ab."""
    found = re.match(r"merchant (\d+\.\d+\.\d+), commit ", output_of(program, "--version"))
    if not found:
        raise SystemExit(f"{program} does not say its version.")
    return found[1]


def settings():
    """The settings of config/merchant.env, and before them where the secrets are."""
    lines = [
        "# Where the secrets are, for the commands that root runs. The service has the same ones from systemd, whose",
        "# environment wins over this file.",
        *(f"{name}_FILE=/etc/merchant/credentials/{name}" for name in SECRETS), "", ""]
    return "\n".join(lines) + (ROOT / "config/merchant.env").read_text()


def needed_packages(program):
    with tempfile.TemporaryDirectory() as scratch:
        control = pathlib.Path(scratch, "debian/control")
        control.parent.mkdir()
        control.write_text(f"Source: {NAME}\n\nPackage: {NAME}\nArchitecture: any\n")
        said = output_of("dpkg-shlibdeps", "-O", program, cwd=scratch, stderr=subprocess.DEVNULL)
    return said.removeprefix("shlibs:Depends=")


def fill(tree, program, manual):
    """Everything but the control files."""
    def put(source, place, mode=0o644):
        target = tree / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, bytes):
            target.write_bytes(source)
        else:
            shutil.copyfile(ROOT / source, target)
        target.chmod(mode)

    documents = f"usr/share/doc/{NAME}"
    put(pathlib.Path(program).resolve(), "usr/bin/merchant", 0o755)
    output_of("strip", "--strip-unneeded", tree / "usr/bin/merchant")
    put(settings().encode(), "etc/merchant/merchant.env")
    for unit in sorted((ROOT / "deploy/systemd").glob("merchant*")):
        put(unit, f"usr/lib/systemd/system/{unit.name}")
    for drop_in in sorted((ROOT / "deploy/systemd/drop-ins").iterdir()):
        put(drop_in, f"{documents}/drop-ins/{drop_in.name}")
    put("deploy/debian/README.md", f"{documents}/README.md")
    put("docs/operations.md", f"{documents}/operations.md")
    pages = sorted(manual.glob("man1/*.1"))
    if not any(page.name == "merchant.1" for page in pages):
        raise SystemExit(f"{manual} has no manual pages.")
    for page in pages:
        put(gzip.compress(page.read_bytes(), mtime=0), f"usr/share/man/man1/{page.name}.gz")
    for shell, place in {
            "bash": "bash-completion/completions/merchant", "zsh": "zsh/vendor-completions/_merchant",
            "fish": "fish/vendor_completions.d/merchant.fish"}.items():
        # It is read by a shell, not run.
        text = re.sub(r"\A#!.*\n", "", (manual / f"completions/merchant.{shell}").read_text())
        put(text.encode(), f"usr/share/{place}")
    put(COPYRIGHT.encode(), f"{documents}/copyright")
    put(gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=0), f"{documents}/CHANGELOG.md.gz")


def make(program, manual, directory, version=None):
    version = version or version_of(program)
    architecture = output_of("dpkg", "--print-architecture")
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch, "tree")
        tree.mkdir(mode=0o755)
        old = os.umask(0o022)
        try:
            fill(tree, program, pathlib.Path(manual).resolve())
            size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())
            control = tree / "DEBIAN"
            control.mkdir()
            text = (ROOT / "deploy/debian/control.in").read_text()
            for name, value in {
                    "VERSION": version, "ARCHITECTURE": architecture, "SIZE": str(size // 1024),
                    "DEPENDS": needed_packages(tree / "usr/bin/merchant")}.items():
                text = text.replace(f"@{name}@", value)
            (control / "control").write_text(text)
            (control / "conffiles").write_text("/etc/merchant/merchant.env\n")
            for script in ["postinst", "prerm", "postrm"]:
                shutil.copyfile(ROOT / "deploy/debian" / script, control / script)
                (control / script).chmod(0o755)
        finally:
            os.umask(old)
        package = pathlib.Path(directory, f"{NAME}_{version}_{architecture}.deb")
        output_of("dpkg-deb", "--root-owner-group", "-Zgzip", "--build", tree, package)
    return package


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("manual")
    parser.add_argument("directory")
    parser.add_argument("--version")
    wishes = parser.parse_args()
    print(make(wishes.program, wishes.manual, wishes.directory, wishes.version))


if __name__ == "__main__":
    main()
