"""Runs the built tests in several processes at once: run.py BUNDLE; each suite runs in one of them alone.

Within a process one test follows the other, so that what a test counts of its process is its own. Most of a test's time
is waiting (for PostgreSQL, a browser, an interval), so there are three processes more than processors.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

# These begin first, each by itself, because the longest decides when all are done. A list out of date costs time alone.
SLOW = (
    "ShopPageTests", "ShopAccessibilityTests", "LandingPageTests", "ChaosTests", "SimulationTests",
    "ServerFaultTests", "WebFlowTests", "LandingPageConductTests", "ShopKeyboardTests", "FailureTableTests",
    "DatabaseAwayTests", "MetricsPageTests", "DoctorTests", "AndroidExampleTests", "IOSExampleTests",
    "ResendingTests", "ProbeThroughShopTests", "MayBelvoStillPayRaceTests", "GuideTests", "CommandTests",
    "WireFormTests", "DocsCheckTests", "SlowReaderTests", "ValidationTests", "TakenBackTests", "RefusalTests",
    "MonitorCheckTests")
SUITES_AT_ONCE = 10
# A process uses a third of a processor. With many more some tests run into the deadlines of their statements.
PROCESSES_MORE = 3
# A process that hangs must not look like a slow machine: the longest takes two to four minutes.
SECONDS_MAX = 900


def listed(bundle: str) -> list[str]:
    """Each test by its name, as --list-tests prints it: Module.Suite/test()."""
    command = [bundle, "--testing-library", "swift-testing", "--list-tests"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line for line in text.splitlines() if re.match(r"\w+\.\w", line)]


def batches(tests: list[str]) -> list[list[str]]:
    """The suites, in the order in which they begin; those that are not known to be slow go about ten at a time."""
    suites = sorted({test.split("/")[0] for test in tests})
    slow = [suite for name in SLOW for suite in suites if suite.split(".")[-1] == name]
    quick = [suite for suite in suites if suite not in slow]
    # Neighbours in the alphabet are about the same thing, and as slow as each other: each batch gets one of them.
    count = -(-len(quick) // SUITES_AT_ONCE)
    return [[suite] for suite in slow] + [quick[first::count] for first in range(count)]


def run(bundle: str, suites: list[str]) -> tuple[int, str]:
    """The exit code, and all that was printed."""
    pattern = f"^({'|'.join(map(re.escape, suites))})/"
    command = ["env", "NO_COLOR=1", "setpriv", "--pdeathsig", "TERM", bundle, "--testing-library", "swift-testing",
               "--no-parallel", "--filter", pattern]
    with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace") as process:
        try:
            text = process.communicate(timeout=SECONDS_MAX)[0]
            return process.returncode, text
        except subprocess.TimeoutExpired:
            state = waiting_of(process.pid)
            process.kill()
            text = process.communicate()[0]
            return 1, f"{text}\n{state}\n✘ it did not end within {SECONDS_MAX} seconds\n"


def waiting_of(root: int) -> str:
    """What each thread of a process and of its descendants waits for, a line each, so that a hang can be understood."""
    parents = {int(path.name): int(stat.rpartition(")")[2].split()[1])
               for path in pathlib.Path("/proc").glob("[0-9]*") if (stat := content(path / "stat"))}
    below = {root}
    while found := {child for child, parent in parents.items() if parent in below} - below:
        below |= found
    lines = []
    for process in sorted(below):
        arguments = content(pathlib.Path(f"/proc/{process}/cmdline")).replace("\0", " ")
        lines.append(f"process {process}: {arguments[:120]}")
        for thread in sorted(pathlib.Path(f"/proc/{process}/task").glob("*")):
            about = (content(thread / name).strip() for name in ("comm", "wchan", "syscall"))
            lines.append(f"  thread {thread.name}: {' '.join(about)}")
    return "\n".join(lines)


def content(path: pathlib.Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def main() -> None:
    bundle = sys.argv[1]
    tests, begin, ran, failures = listed(bundle), time.monotonic(), 0, []
    with concurrent.futures.ThreadPoolExecutor(PROCESSES_MORE + (os.cpu_count() or 2)) as workers:
        started = {workers.submit(run, bundle, suites): suites for suites in batches(tests)}
        for done in concurrent.futures.as_completed(started):
            code, text = done.result()
            print(text, flush=True)
            found = re.search(r"Test run with (\d+) tests?", text)
            ran += int(found[1]) if found else 0
            if code != 0:
                failures.append(f"{', '.join(started[done])}: exit code {code}\n" + "\n".join(
                    re.findall(r"^✘.* recorded an issue.*(?:\n(?![◇✔✘]).*){0,4}", text, re.M)
                    or ["no test by itself: the run ended early; its last lines:", *text.splitlines()[-40:]]))
    if ran != len(tests):
        failures.append(f"of {len(tests)} tests {ran} ran.")
    result = f"Test run with {ran} tests {{}} after {time.monotonic() - begin:.0f} seconds, all processes together."
    if failures:
        sys.exit("\n".join(["What failed:", *failures, "✘ " + result.format("failed")]))
    print("✔ " + result.format("passed"))


main()
