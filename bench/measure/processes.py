"""The processes that a measurement starts, what they use, and their end."""

import os
import pathlib
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

_tick_us = 1_000_000 // os.sysconf("SC_CLK_TCK")


def say(text: str) -> None:
    print(text, flush=True)


class Failure(Exception):
    """What keeps the measurement from going on, in words for whoever started it."""


def fail_with_log(message: str, log: pathlib.Path) -> Failure:
    """A failure whose reason stands at the end of a log."""
    for line in log.read_text(errors="replace").splitlines()[-15:]:
        print(f"    {line}", file=sys.stderr)
    return Failure(f"{message}. Above is the end of {log}.")


@dataclass
class Child:
    """A process in a session of its own, which is told when this one dies, whatever it dies of."""

    name: str
    process: subprocess.Popen
    stop_signal: signal.Signals
    log: pathlib.Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_until(self, seconds: float, condition: Callable[[], bool], complaint: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None:
                raise fail_with_log(f"{complaint} (exit code {self.process.returncode})", self.log)
            if time.monotonic() > deadline:
                raise fail_with_log(complaint, self.log)
            time.sleep(0.05)

    def session(self) -> list[int]:
        """The living processes of the session that this one leads."""
        return [pid for pid, fields in _stats() if int(fields[3]) == self.pid and fields[0] != "Z"]

    def stop(self) -> None:
        """Asks it and all that it started to stop, and ends what has not done so after 20 seconds."""
        deadline = time.monotonic() + 20
        self._signal(self.stop_signal)
        while self.process.poll() is None or self.session():
            if time.monotonic() > deadline:
                say(f"{self.name} did not stop within 20 seconds and was killed.")
                self._signal(signal.SIGKILL)
                break
            time.sleep(0.02)
        self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.session():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


@dataclass
class Children:
    """What is running, in the order of its start."""

    running: list[Child] = field(default_factory=list)

    def start(
        self, name: str, log: pathlib.Path, command: Iterable[object], *, stop: signal.Signals = signal.SIGTERM,
        environment: dict[str, str] | None = None, talks: bool = False,
    ) -> Child:
        """Starts a command; one that talks has pipes for orders and answers, and only its errors in the log."""
        words = ["setpriv", "--pdeathsig", stop.name.removeprefix("SIG"), *map(str, command)]
        with open(log, "wb") as output:
            process = subprocess.Popen(
                words, env=os.environ | (environment or {}), start_new_session=True, bufsize=0,
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if talks else output, stderr=output)
        child = Child(name, process, stop, log)
        self.running.append(child)
        return child

    def stop(self, child: Child) -> None:
        child.stop()
        self.running.remove(child)

    def stop_all(self) -> None:
        while self.running:
            self.stop(self.running[-1])


@dataclass
class OrderTaker:
    """A load generator that does what it is told, line by line."""

    child: Child

    def order(self, *words: object) -> list[str]:
        self.child.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        return self.hear()

    def hear(self) -> list[str]:
        """The next answer, in words."""
        deadline, line = time.monotonic() + 120, b""
        output = self.child.process.stdout
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([output], [], [], max(0, deadline - time.monotonic()))
            piece = output.read(1) if ready else b""
            if not piece:
                raise fail_with_log(f"the {self.child.name} does not answer", self.child.log)
            line += piece
        return line.decode().split()


def _stats() -> Iterable[tuple[int, list[str]]]:
    """Of every process its id and what follows its name in /proc/PID/stat: state, parent, group, session ..."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(path.parent.name), text[text.rindex(")") + 2:].split()


def cpu_us(*pids: int) -> dict[int, int]:
    """The microseconds that each of them and its children have used, the children that have ended included."""
    used = dict.fromkeys(pids, 0)
    for pid, fields in _stats():
        owner = pid if pid in used else int(fields[1])
        if owner in used:
            # utime and stime, and of the process itself those of its ended children.
            used[owner] += _tick_us * sum(map(int, fields[11:15] if pid == owner else fields[11:13]))
    return used


def cpu_ns(pid: int) -> int:
    """What all threads of the process have used. The hundredths of a second of /proc/PID/stat are too coarse for a
    server that is nearly idle."""
    return sum(int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))


def family_cpu_ns(pid: int) -> int:
    """What the process and its children have used, as exactly as `cpu_ns`; those that have ended, to a hundredth of a
    second."""
    used = 0
    for member, fields in _stats():
        if member == pid:
            used += 1_000 * _tick_us * sum(map(int, fields[13:15]))
        if member == pid or int(fields[1]) == pid:
            try:
                used += cpu_ns(member)
            except (FileNotFoundError, ProcessLookupError):
                continue
    return used


def status_field(pid: int, name: str) -> int:
    """A number of /proc/PID/status: `VmRSS` in KiB, `Threads`."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    raise Failure(f"process {pid} has no {name}")


def output_of(*command: object) -> str:
    """What a command prints, without the last line feed; its failure is ours."""
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if result.returncode != 0:
        raise Failure(f"{command[0]} failed: {(result.stderr or result.stdout).strip()}")
    return result.stdout.strip()
