"""Load generators that others wrote, and what they print."""

import re
import resource
import subprocess
from dataclasses import dataclass

from .processes import Failure, cpu_us, output_of
from .site import Site


@dataclass(frozen=True)
class WrkRound:
    """What wrk says of one round."""

    count: int
    rate: float
    p50_us: float
    p99_us: float
    #: Answers that were no success.
    refused: int


def run_wrk(site: Site, url: str, connections: int, seconds: int, *options: str) -> WrkRound:
    """One round of wrk from the other processor. Every request has to be answered."""
    text = output_of(
        *site.placement.on_other, "wrk", "--threads", 1, "--connections", connections, "--duration", f"{seconds}s",
        "--latency", *options, url)
    if "Socket errors" in text:
        raise Failure(f"not every request to {url} was answered:\n{text}")
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return WrkRound(
        int(_found(r"(\d+) requests in", text)), float(_found(r"Requests/sec:\s+([\d.]+)", text)),
        _microseconds(_found(r"\n\s+50%\s+(\S+)", text)), _microseconds(_found(r"\n\s+99%\s+(\S+)", text)),
        int(refused[1]) if refused else 0)


def run_wrk_beside(
    site: Site, pid: int, url: str, connections: int, seconds: int, *options: str
) -> tuple[WrkRound, float]:
    """One round, and the processor time in microseconds that the server used for one of its requests."""
    before = cpu_us(pid)[pid]
    result = run_wrk(site, url, connections, seconds, *options)
    return result, (cpu_us(pid)[pid] - before) / result.count


def run_h2load(site: Site, url: str, *options: str, on_server: bool = False) -> str:
    """What h2load prints of HTTP/1.1 requests."""
    placement = site.placement.on_server if on_server else site.placement.on_other
    return output_of(*placement, "h2load", "--h1", *options, url)


def paced_quantiles(
    site: Site, url: str, clients: int, rate: int, seconds: int, *options: str, good_status: str = "200"
) -> dict[str, float]:
    """The median and the 99th percentile, in microseconds, at a fixed rate on each connection."""
    log = site.scratch / "paced.tsv"
    log.unlink(missing_ok=True)
    run_h2load(
        site, url, f"--clients={clients}", f"--rps={rate}", f"--duration={seconds}", "--warm-up-time=1",
        f"--log-file={log}", *options)
    # When, the status, and how many microseconds it took.
    lines = [line.split("\t") for line in log.read_text().splitlines()]
    bad = sum(line[1] != good_status for line in lines)
    if bad or not lines:
        raise Failure(f"{bad} of {len(lines)} requests to {url} were not answered with {good_status}.")
    times = sorted(int(line[2]) for line in lines)
    return {f"p{percent}_us": times[(len(times) - 1) * percent // 100] for percent in (50, 99)}


def cpu_of_command(*command: object) -> tuple[float, str]:
    """The seconds of processor time that a command used, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, text


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise Failure(f"this says nothing of {pattern}:\n{text}")
    return match[1]


def _microseconds(text: str) -> float:
    """wrk writes 950.00us, 1.25ms or 1.00s."""
    for unit, factor in (("us", 1), ("ms", 1_000), ("s", 1_000_000)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    raise Failure(f"wrk's {text} is no time.")
