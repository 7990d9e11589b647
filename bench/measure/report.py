"""What the reports have in common: tables, goals, and where and when they were measured."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import textwrap
import time
from collections.abc import Iterable

from .figures import Figures
from .processes import output_of
from .site import Site, nginx_program


def row(*cells: object) -> str:
    """A row of a table; a cell without content leaves one blank between its bars."""
    return "|" + "|".join(f" {cell} " if str(cell) else " " for cell in cells) + "|"


def table(titles: str, rows: Iterable[str]) -> str:
    """A table under titles such as `what | measured`."""
    names = titles.split("|")
    head = "|" + "|".join(f" {name.strip()} " if name.strip() else " " for name in names) + "|"
    return "\n".join([head, "|" + "---|" * len(names), *rows])


def reflow(text: str) -> str:
    """A document whose paragraphs fill lines of 120 columns, however they stand in the source."""
    def filled(block: str) -> str:
        if block.startswith(("#", "|", "- ")):
            return block
        # What stands between backticks stays on one line.
        words = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), " ".join(block.split()))
        return textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False).replace("\0", " ")

    return "\n\n".join(filled(block) for block in text.split("\n\n"))


def goal(
    figures: Figures, what: str, name: str, comparison: str, value: float, unit: str = "", digits: int = 2
) -> str:
    """A row of a table of goals, by the confidence interval."""
    sign = "at least" if comparison == ">=" else "at most"
    return row(
        what, figures.with_interval(name, digits=digits) + unit, f"{sign} {value}{unit}",
        figures.reached(name, comparison, value))


def commit() -> str:
    """The commit that is measured, as short as git has it."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else "none"


def now() -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime()) + " UTC"


def origin(site: Site) -> list[str]:
    """The first lines of every report's list."""
    changes = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True).stdout
    return [
        f"commit: {commit()}" + (", with changes that are not committed" if changes else ""),
        f"taken: {now()}, at a load of {site.load_before} before it began"]


def processor() -> str:
    model = re.search(r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores"


def kernel() -> str:
    return f"kernel {platform.release()}"


def memory() -> str:
    kib = re.search(r"^MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.M)
    return f"{int(kib[1]) / 1_048_576:.1f} GiB"


def system() -> str:
    return re.search(r'^PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text(), re.M)[1]


def database(site: Site) -> str:
    fsync, commits = (site.database.query(f"SHOW {name}") for name in ("fsync", "synchronous_commit"))
    disk = output_of("findmnt", "--noheadings", "--output", "FSTYPE,SOURCE", "--target", site.scratch)
    return (
        f"database: fsync {fsync}, synchronous_commit {commits}, in a new cluster below\n"
        f"  {site.scratch.parent} ({' '.join(disk.split())})")


def versions(site: Site, *others: str) -> str:
    """Those of Swift and PostgreSQL, of these, and of OpenSSL."""
    swift = re.search(r"Swift version ([0-9.]*)", output_of("swift", "--version"))
    openssl = " ".join(output_of("openssl", "version").split()[:2])
    return "versions: " + ", ".join(
        [f"Swift {swift[1]}", f"PostgreSQL {site.database.query('SHOW server_version')}", *others, openssl])


def nginx_version() -> str:
    return subprocess.run([nginx_program(), "-v"], capture_output=True, text=True).stderr.strip().split(": ")[-1]


def wrk_version() -> str:
    """wrk --version ends with an error code and tells more than its version."""
    text = subprocess.run(["wrk", "--version"], capture_output=True, text=True)
    return " ".join((text.stdout + text.stderr).split()[:2])


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def replace_section(document: pathlib.Path, section: str) -> None:
    """Writes a section of a report anew, at its end."""
    heading = section.splitlines()[0]
    parts = re.split(r"(?m)^(?=## )", document.read_text())
    kept = [part for part in parts if part.splitlines()[:1] != [heading]]
    write(document, "".join(kept).rstrip("\n") + "\n\n" + section)


def write(document: pathlib.Path, text: str) -> None:
    """Puts the whole document in the place of the old one."""
    new = document.with_suffix(".new")
    new.write_text(text.rstrip("\n") + "\n")
    shutil.move(new, document)
