"""Another machine: a network namespace of this one, behind a router that can lose packets without a word.

    here ── router ── there        each is a namespace, each line a pair of virtual interfaces

Neither end sees the router lose anything, as with a real one. It takes root's rights over the network, the programs
`ip` and `nft`, and addresses of the block that is meant for tests of networks (198.18.0.0/15). No packet leaves this
machine.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

_PROGRAMS = ("ip", "nft")
_NAMESPACES = Path("/run/netns")
BLOCK = IPv4Network("198.18.0.0/15")
_EACH = 8  # addresses of the block
_ESTABLISHED = "01"  # in /proc/net/tcp


@dataclass(frozen=True, kw_only=True)
class Machine:
    """`here` and `there` are addresses: ours as it sees it, and its own."""

    name: str
    here: str
    there: str

    def command(self, command: str) -> str:
        """The command, to be run there."""
        return f"ip netns exec {self.name} {command}"

    def cut_off(self) -> None:
        """No packet comes or goes any more."""
        self._route("add rule inet way through drop")

    def lose_connections(self, *to: int) -> int:
        """Packets of the TCP connections that it has now to these ports are lost, new ones pass. How many those are."""
        ports = self._ports_in_use({f"{_in_hex(self.here)}:{port:04X}" for port in to})
        if ports:
            its_own, others = ",".join(map(str, ports)), ",".join(map(str, to))
            # No new connection gets one of these ports, whose packets would be lost too.
            self._run_there(f"echo {its_own} >/proc/sys/net/ipv4/ip_local_reserved_ports")
            for source, destination in ((its_own, others), (others, its_own)):
                self._route(f"add rule inet way through tcp sport {{ {source} }} tcp dport {{ {destination} }} drop")
        return len(ports)

    def mend(self) -> None:
        """All packets pass again."""
        self._route("flush chain inet way through")

    def _run_there(self, command: str) -> None:
        _run("ip", "netns", "exec", self.name, "sh", "-c", command)

    def _route(self, rule: str) -> None:
        _run("ip", "netns", "exec", _router(self.name), "nft", rule)

    def _ports_in_use(self, others: set[str]) -> list[int]:
        """Its own ends of the connections to these."""
        lines = _run("ip", "netns", "exec", self.name, "cat", "/proc/net/tcp").splitlines()[1:]
        ends = [line.split()[1:4] for line in lines]
        return sorted(
            int(own.split(":")[1], 16) for own, other, state in ends if state == _ESTABLISHED and other in others
        )


def what_is_missing() -> str:
    """Why there can be no other machine here; empty if there can."""
    if missing := [program for program in _PROGRAMS if not shutil.which(program)]:
        return f"no {' and no '.join(missing)} is installed"
    try:
        with other_machine():
            return ""
    except subprocess.CalledProcessError as error:
        said: str = error.stderr
        return f"the rights over the network are missing ({said.strip()})"


@contextmanager
def other_machine() -> Iterator[Machine]:
    """One with a link to here until the end of the block. Raises CalledProcessError."""
    _remove_what_others_left()
    name, first = f"engage-{os.getpid()}", os.getpid() * _EACH % BLOCK.num_addresses
    here, near, far, there = (str(BLOCK[first + place]) for place in (1, 2, 5, 6))
    router, ours = _router(name), f"eng{os.getpid()}"
    with ExitStack() as stack:
        for namespace in (router, name):
            _run("ip", "netns", "add", namespace)
            stack.callback(_run, "ip", "netns", "del", namespace)
            _run("ip", "-n", namespace, "link", "set", "lo", "up")
        _run("ip", "link", "add", ours, "type", "veth", "peer", "name", "near", "netns", router)
        stack.callback(_run, "ip", "link", "del", ours)
        _run("ip", "-n", router, "link", "add", "far", "type", "veth", "peer", "name", "far", "netns", name)
        _give_address(here, "dev", ours)
        _give_address(near, "dev", "near", namespace=router)
        _give_address(far, "dev", "far", namespace=router)
        _give_address(there, "dev", "far", namespace=name)
        _run("ip", "route", "add", f"{there}/32", "via", near)
        _run("ip", "-n", name, "route", "add", "default", "via", far)
        _run("ip", "netns", "exec", router, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
        machine = Machine(name=name, here=here, there=there)
        machine._route("add table inet way")
        machine._route("add chain inet way through { type filter hook forward priority 0; }")
        yield machine


def _in_hex(address: str) -> str:
    """As in /proc/net/tcp."""
    return f"{int.from_bytes(IPv4Address(address).packed, sys.byteorder):08X}"


def _router(name: str) -> str:
    return f"{name}-way"


def _give_address(address: str, *where: str, namespace: str = "") -> None:
    within = ["-n", namespace] if namespace else []
    _run("ip", *within, "address", "add", f"{address}/30", *where)
    _run("ip", *within, "link", "set", *where, "up")


def _remove_what_others_left() -> None:
    """Those of runs that were killed; their links go with them."""
    left = _NAMESPACES.glob("engage-*") if _NAMESPACES.exists() else iter(())
    for namespace in left:
        if not Path("/proc", namespace.name.split("-")[1]).exists():
            _run("ip", "netns", "del", namespace.name)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
