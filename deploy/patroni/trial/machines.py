"""Machines: network namespaces on one bridge, each with an address, and the processes in it.

All of it lives in a network, mount and process namespace of its own, which scripts/ha.sh makes: what is left at the end
is gone with its first process.
"""

import os
import pathlib
import signal
import subprocess
import time


class Failure(Exception):
    """It cannot be played."""


def output_of(*command, text=None, timeout=60, expect=(0,), environment=None):
    run = subprocess.run(
        list(map(str, command)), input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=timeout, env=None if environment is None else os.environ | environment)
    if run.returncode not in expect:
        raise Failure(f"{command[0]} ended with {run.returncode}: {' '.join(map(str, command))}\n{run.stdout[-2000:]}")
    return run.stdout.strip()


def wait_for(what, within, condition, pause=0.1):
    """Until the condition is met; gives the seconds that it took."""
    begun = time.monotonic()
    while time.monotonic() - begun < within:
        if condition():
            return time.monotonic() - begun
        time.sleep(pause)
    raise Failure(f"{what}: not within {within} s")


class Network:
    """The bridge that connects the machines, and this program, which is outside of them."""

    prefix = "10.77.0"
    outside = "10.77.0.254"

    def __init__(self):
        output_of("ip", "link", "set", "lo", "up")
        output_of("mount", "-t", "tmpfs", "none", "/run/netns")
        output_of("ip", "link", "add", "bridge", "type", "bridge")
        output_of("ip", "address", "add", f"{self.outside}/24", "dev", "bridge")
        output_of("ip", "link", "set", "bridge", "up")


class Machine:
    """A machine on the network."""

    def __init__(self, name, number, scratch):
        self.name, self.address = name, f"{Network.prefix}.{number}"
        self.log = scratch / f"{name}.log"
        self.started = []
        output_of("ip", "netns", "add", name)
        output_of("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        output_of("ip", "link", "set", f"to-{name}", "master", "bridge", "up")
        output_of("ip", "-netns", name, "address", "add", f"{self.address}/24", "dev", "eth0")
        output_of("ip", "-netns", name, "link", "set", "eth0", "up")
        output_of("ip", "-netns", name, "link", "set", "lo", "up")

    def run(self, *command, **options):
        """A command to its end."""
        return output_of("nsenter", f"--net=/run/netns/{self.name}", *command, **options)

    def start(self, *command, user=None, environment=None):
        """A process that stays."""
        as_user = [] if user is None else [
            "setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", "HOME=/"]
        with open(self.log, "ab") as log:
            child = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.name}", *as_user, *map(str, command)], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd="/", env=os.environ | (environment or {}), start_new_session=True)
        self.started.append(child)
        return child

    def processes(self):
        """All processes of the machine."""
        mine = os.stat(f"/run/netns/{self.name}").st_ino
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.stat(entry / "ns/net").st_ino == mine:
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def signal(self, number):
        for process in self.processes():
            try:
                os.kill(process, number)
            except ProcessLookupError:
                continue

    def kill(self):
        """Ends everything at one stroke, as a power failure does: stopped first, so that nobody says a last word."""
        self.signal(signal.SIGSTOP)
        self.signal(signal.SIGKILL)
        for child in self.started:
            child.wait()
        self.started.clear()
        wait_for(f"the end of {self.name}", 10, lambda: not self.processes())

    def halt(self):
        self.signal(signal.SIGSTOP)

    def wake(self):
        self.signal(signal.SIGCONT)

    def cut(self, machines):
        """From now on nothing goes to these machines any more; silently, as when a cable is pulled."""
        addresses = ", ".join(machine.address for machine in machines)
        rules = (
            "table inet cut { chain output { type filter hook output priority 0; policy accept; "
            f"ip daddr {{ {addresses} }} drop; }}; chain input {{ type filter hook input priority 0; policy accept; "
            f"ip saddr {{ {addresses} }} drop; }}; }}")
        self.run("nft", "-f", "-", text=rules)

    def mend(self):
        self.run("nft", "delete", "table", "inet", "cut")
