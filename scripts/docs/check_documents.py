"""Holds the documents against what there is.

check_documents.py MERCHANT PSQL DATABASE_URL [DOCUMENT...]: every link leads to a file and a heading; every `./dev`
command, every `merchant` command and every option of one exists; every query of a view runs; every file and directory
that is named between backticks exists.
"""

import functools
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"),
                    *ROOT.glob("bench/*.md")])
# Folders whose files are named in prose by their place in the checkout.
FOLDERS = ("Sources/", "Tests/", "docs/", "scripts/", "deploy/", "config/", "contract/", "migrations/", "examples/",
           "bench/", "fuzz/", "chaos/")

# What a document names as an example or a plan, and says so. Once it is there, its line here has to go.
NOT_THERE = {"Sources/MerchantAPI/API/API+Limits.swift"}


def prose(text):
    """The lines outside of fenced blocks, with their numbers."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(path):
    """The anchors of a document's headings, as GitHub makes them."""
    return anchors_of_text(path.read_text(encoding="utf-8"))


def anchors_of_text(text):
    """
    >>> sorted(anchors_of_text("# A `b`, c\\n\\n## A b c\\n"))
    ['a-b-c', 'a-b-c-1']
    """
    found = {}
    for _, line in prose(text):
        heading = re.fullmatch(r"#{1,6} (.+)", line)
        if heading:
            words = re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")
            count = found.get(words, 0)
            found[words] = count + 1
            if count:
                found[f"{words}-{count}"] = 1
    return set(found)


def faults_of_links(path, text):
    for number, line in prose(text):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            goal = (path.parent / urllib.parse.unquote(name)).resolve() if name else path
            if not goal.exists():
                yield number, f"the link {target} leads nowhere"
            elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
                yield number, f"the link {target} leads to no heading"


def faults_of_names(_, text):
    for number, line in prose(text):
        for name in re.findall(r"`([\w./+-]+)`", line):
            if not name.startswith(FOLDERS):
                continue
            is_there = bool((ROOT / name).exists() or list(ROOT.glob(name + "*")))
            if is_there == (name in NOT_THERE):
                yield number, f"{name} is {'there' if is_there else 'not there'}"


def commands(text, program):
    """What is written as a command: between backticks, indented, or behind a prompt."""
    for number, line in enumerate(text.split("\n"), 1):
        shown = re.findall(rf"`({program} [^`]*)`", line)
        if re.match(rf"(?:    |\$ ){program} ", line):
            shown.append(line.lstrip("$ "))
        for command in shown:
            yield number, command


def faults_of_dev(_, text):
    for number, command in commands(text, r"\./dev"):
        word = command.split()[1]
        is_there = word == "help" or (ROOT / f"scripts/{word}.sh").exists()
        if re.fullmatch(r"[a-z][a-z-]*", word) and is_there == (word in NOT_THERE):
            yield number, f"there is {'a' if is_there else 'no'} ./dev {word}"


@functools.cache
def help_of(merchant, command):
    run = subprocess.run([merchant, "help", command], capture_output=True, text=True, check=False)
    # Of what is no command the program shows its own help.
    return run.stdout if f"USAGE: merchant {command}" in run.stdout else None


def faults_of_merchant(merchant):
    def faults(_, text):
        for number, command in commands(text, "merchant"):
            # What follows in the line is a remark.
            words = re.sub(r"\s{2,}#.*", "", command).split()
            options = set(re.findall(r"(?<!\S)(--[a-z-]+)", " ".join(words)))
            if words[1].startswith("--"):
                if options - {"--version", "--help", "--generate-completion-script"}:
                    yield number, f"{command}: no such option"
                continue
            shown = help_of(merchant, words[1]) if re.fullmatch(r"[a-z-]+", words[1]) else None
            if shown is None:
                yield number, f"{command}: there is no such command"
                continue
            for option in options:
                if option not in shown:
                    yield number, f"{command}: {words[1]} has no {option}"
    return faults


def statements(text):
    """The SQL in a document, with the line that it stands in; … stands for a value."""
    for number, line in enumerate(text.split("\n"), 1):
        shown_here = re.findall(
            r"`((?:SELECT|UPDATE) [^`]+)`|=> (SELECT [^;]+);|-c \"((?:SELECT|UPDATE) [^\"]+)\"", line)
        for shown in shown_here:
            statement = next(part for part in shown if part)
            if "..." not in statement:
                yield number, statement


def faults_of_sql(psql, database):
    def faults(_, text):
        for number, statement in statements(text):
            statement = re.sub(r"'…'", "NULL", statement).replace("PID", "1")
            # Not carried out, and read as strictly as if it were.
            command = [psql, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", database]
            run = subprocess.run(
                [*command, "--command", f"EXPLAIN {statement}"], capture_output=True, text=True, check=False)
            if run.returncode != 0:
                yield number, f"{statement}: {run.stderr.strip().splitlines()[0]}"
    return faults


def main():
    merchant, psql, database, *more = sys.argv[1:]
    checks = [faults_of_links, faults_of_names, faults_of_dev, faults_of_merchant(merchant),
              faults_of_sql(psql, database)]
    found, counts = [], {"documents": 0, "commands": 0, "queries": 0}
    for path in [*DOCUMENTS, *map(pathlib.Path, more)]:
        text = path.read_text(encoding="utf-8")
        counts["documents"] += 1
        counts["commands"] += len([*commands(text, "merchant"), *commands(text, r"\./dev")])
        counts["queries"] += len([*statements(text)])
        for check in checks:
            found += [f"{os.path.relpath(path, ROOT)}:{number}: {fault}" for number, fault in check(path, text)]
    if min(counts.values()) < 10:
        found.append(f"too little was read to be right: {counts}")
    read = ", ".join(f"{count} {name}" for name, count in counts.items())
    print("\n".join(found) or f"{read}: all as they should be.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
