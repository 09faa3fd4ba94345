"""Real daemons with gateways in network namespaces of this machine: behind the kernel's own NAT, and with IPv4 or IPv6.

Two follow each other's feed and know a third only, in the middle. Users may make namespaces of their own on most Linux
systems; where they may not, or nft or ip is missing, this is left out.
"""

import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.daemon.processes import PROGRAM, make_home, tinyssb
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.client import GatewayClient
from tinyssb_node.islands.gateway.rows import GatewayRow

MEET_S = 240.0
"""How long it may take: 70 to 105 s, most of it the minute for which adverts are collected, on an idle machine."""
PUBLIC4, PUBLIC6 = "203.0.113.{}/24", "2001:db8::{}/64"
_WITH_NAT = "masquerade"
_WITH_SYMMETRIC_NAT = "masquerade fully-random"


def _why_not() -> str:
    """Why there are no namespaces here; empty if there are."""
    missing = [program for program in ("unshare", "ip", "nft") if shutil.which(program) is None]
    if missing:
        return f"missing: {', '.join(missing)}"
    trial = "mount -t tmpfs tmpfs /run && ip netns add a && ip netns exec a nft add table ip nat"
    tried = subprocess.run([*_UNSHARE, "sh", "-c", trial], capture_output=True, check=False, timeout=20)
    return "" if not tried.returncode else f"no network namespaces: {tried.stderr.decode().strip()}"


_UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child")
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def namespaces() -> None:
    """Skip all of it where there are none."""
    if reason := _why_not():
        pytest.skip(reason)


class Internet:
    """A script that makes namespaces, runs a daemon in some of them, and ends with its standard input."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._number = 0
        self._lines = [
            "set -e",
            "mount -t tmpfs tmpfs /run",
            *_space("net"),
            *_on("net", "link add name br0 type bridge"),
        ]
        self._lines += _on("net", "link set dev br0 up")
        self._starts: list[str] = []
        self.feeds: dict[str, FeedId] = {}

    def public(self, name: str, *addresses: str) -> None:
        """Add a namespace with public *addresses*."""
        self._lines += _space(name)
        self._cable("net", name, "pub0", "br0")
        for address in addresses:
            self._lines += _on(name, f"addr add {address} dev pub0{' nodad' if ':' in address else ''}")
            six, way = ("-6 ", "2001:db8::fe") if ":" in address else ("", "203.0.113.254")
            self._lines += _on(name, f"{six}route add default via {way}")

    def behind(self, name: str, number: int, nat: str) -> None:
        """Add a namespace in a private network, behind a router that does *nat* and drops all that is no reply."""
        router = f"{name}-router"
        self.public(router, PUBLIC4.format(100 + number))
        self._lines += _space(name)
        self._cable(router, name, "eth0")
        self._lines += _on(router, f"addr add 10.{number}.0.1/24 dev in{self._number}")
        self._lines += _on(name, f"addr add 10.{number}.0.2/24 dev eth0")
        self._lines += _on(name, f"route add default via 10.{number}.0.1")
        rules = (
            "add table ip nat",
            "add chain ip nat out { type nat hook postrouting priority srcnat; }",
            f"add rule ip nat out oifname pub0 {nat}",
            "add table ip filter",
            "add chain ip filter through { type filter hook forward priority filter; policy drop; }",
            "add rule ip filter through ct state established,related accept",
            "add rule ip filter through iifname != pub0 accept",
        )
        self._lines.append(f"ip netns exec {router} sysctl -qw net.ipv4.ip_forward=1")
        self._lines += [f"ip netns exec {router} nft {shlex.quote(rule)}" for rule in rules]

    def _cable(self, near: str, far: str, there: str, bridge: str = "") -> None:
        self._number += 1
        end = f"in{self._number}"
        self._lines += _on(near, f"link add name {end} type veth peer name {there} netns {far}")
        self._lines += _on(near, f"link set dev {end} {f'master {bridge} ' if bridge else ''}up")
        self._lines += _on(far, f"link set dev {there} up")

    def gateway(self, name: str, *peers: str) -> None:
        """Run a node with a gateway that knows these *peers* in a namespace, with the default settings."""
        home = self.home(name)
        self.feeds[name] = make_home(home)
        with (home / "config.toml").open("a") as config:
            config.write(f"\n[gateway]\nenabled = true\npeers = {list(peers)}\n".replace("'", '"'))
        command = shlex.join([*PROGRAM, "--home", str(home), "run"])
        self._starts.append(f"ip netns exec {name} {command} 2>{shlex.quote(str(home / 'log'))} &")

    def home(self, name: str) -> Path:
        return self._root / name

    def status(self, name: str) -> GatewayRow:
        with GatewayClient.at_home(str(self.home(name))) as gateway:
            return gateway.gateway()

    def held(self, name: str, author: str) -> int:
        """Entries of the *author*'s feed that a node holds."""
        with DaemonClient(self.home(name) / "control.sock") as node:
            return next((row.seq for row in node.feeds() if row.feed == self.feeds[author].hex()), 0)

    def _answers(self, name: str) -> bool:
        return not tinyssb(self.home(name), "status").returncode

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run it."""
        script = "\n".join([*self._lines, *self._starts, "echo ready", "read -r _ || true"])
        process = subprocess.Popen(
            [*_UNSHARE, "bash", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            for name in self.feeds:
                _until(partial(self._answers, name))
            yield
        finally:
            process.kill()  # and with it all in its namespace of processes
            process.communicate()


def _space(name: str) -> list[str]:
    return [f"ip netns add {name}", *_on(name, "link set dev lo up")]


def _on(name: str, what: str) -> list[str]:
    return [f"ip -n {name} {what}"]


def _until(met: Callable[[], object]) -> None:
    end_s = time.monotonic() + MEET_S
    while not met():
        assert time.monotonic() < end_s, "it has not come"
        time.sleep(0.5)


def meet(internet: Internet, one: str, other: str) -> None:
    """Let two follow each other, and wait until each has the other's entry."""
    pairs: Sequence[tuple[str, str]] = ((one, other), (other, one))
    for here, there in pairs:
        for words in (("follow", internet.feeds[there].hex()), ("publish", "--yes", f"from {here}")):
            assert not tinyssb(internet.home(here), *words).returncode
    for here, there in pairs:
        _until(partial(internet.held, here, there))


@pytest.mark.parametrize("nat", [_WITH_NAT, _WITH_SYMMETRIC_NAT], ids=["port-restricted", "symmetric"])
def test_two_behind_nats_meet_by_a_third(tmp_path: Path, nat: str) -> None:
    internet = Internet(tmp_path)
    internet.public("middle", PUBLIC4.format(3))
    internet.gateway("middle")
    for number, name in enumerate(("ana", "bob"), 1):
        internet.behind(name, number, nat)
        internet.gateway(name, "203.0.113.3:8789")
    with internet.running():
        meet(internet, "ana", "bob")
        relay = internet.status("middle").relay
        assert relay is not None
        assert (relay.registered, relay.refused) == (2, 0)
        assert 0 < relay.used_bytes < 10_000
        assert internet.held("middle", "ana") == 0, "it passes entries on and stores none"
        assert internet.status("ana").address is None
        assert any(link.relayed for link in internet.status("ana").links)
        doctor = tinyssb(internet.home("ana"), "doctor").stdout.decode()
        assert "they reach it by the relay 203.0.113.3:8789" in doctor


def test_one_with_ipv4_and_one_with_ipv6_meet_by_a_third_that_has_both(tmp_path: Path) -> None:
    internet = Internet(tmp_path)
    internet.public("middle", PUBLIC4.format(3), PUBLIC6.format(3))
    internet.gateway("middle")
    internet.public("four", PUBLIC4.format(1))
    internet.gateway("four", "203.0.113.3:8789")
    internet.public("six", PUBLIC6.format(2))
    internet.gateway("six", "[2001:db8::3]:8789")
    with internet.running():
        meet(internet, "four", "six")
        assert internet.status("middle").also == "[2001:db8::3]:8789"


def test_two_with_both_meet(tmp_path: Path) -> None:
    internet = Internet(tmp_path)
    for number, (name, peers) in enumerate((("ana", ()), ("bob", ("[2001:db8::1]:8789",))), 1):
        internet.public(name, PUBLIC4.format(number), PUBLIC6.format(number))
        internet.gateway(name, *peers)
    with internet.running():
        meet(internet, "ana", "bob")
        row = internet.status("bob")
        assert (row.address, row.also) == ("[2001:db8::2]:8789", "203.0.113.2:8789")
