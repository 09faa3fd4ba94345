"""Real daemons with real gateways on addresses of this machine: what is written on one island is read on the other."""

import json
import os
import shutil
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from tests.daemon.processes import PATIENCE_S, RunningDaemon, daemon, make_home, tinyssb
from tests.daemon.test_process_networks import free_udp_port
from tinyssb_node.codec.dmx import Network
from tinyssb_node.errors import StoreDamagedError, StoreFailedError
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.gateway.feedfile import FeedFileSource
from tinyssb_node.islands.gateway.process import free_bytes
from tinyssb_node.islands.gateway.rows import GatewayRow, LocationRow
from tinyssb_node.islands.locator.addresses import ContactAddress, node_of, port_of
from tinyssb_node.islands.locator.packets import LocatorPost, serialize
from tinyssb_node.islands.locator.values import (
    Advert,
    Location,
    ResourceParameters,
    group_of_network,
    label_of_feed,
)
from tinyssb_node.store.home import Home

pytestmark = pytest.mark.realtime

CROSS_S = 5.0
"""How long a message may take once both islands are on line. On a machine with other work it took 2.1 s at most."""
Answer = TypeVar("Answer")


def until(met: Callable[[], Answer]) -> Answer:
    """Ask again and again until the answer is yes; return it."""
    end_s = time.monotonic() + PATIENCE_S
    while not (answer := met()):
        assert time.monotonic() < end_s, "it has not come"
    return answer


class Islands:
    """Nodes without a face, each with a gateway at 127.0.1.N, that know of no other but the first."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._port = free_udp_port()
        self.feeds: dict[int, FeedId] = {}

    def home(self, number: int) -> Path:
        return self._root / f"n{number}"

    def shelved(self, number: int, author: int) -> int:
        """Entries of the *author*'s feed that the node holds beside its set."""
        with suppress(StoreFailedError, StoreDamagedError):  # there is none, or it is just being made
            with closing(FeedFileSource(Home(self.home(number)).shelf)) as file:
                state = file.state(self.feeds[author])
            return 0 if state is None else state.seq
        return 0

    def address(self, number: int) -> str:
        return f"127.0.1.{number}:{self._port}"

    def make(self, number: int, *, key: str = "", first: int = 1, carry: int | None = None) -> None:
        """A node of the network *key* that asks the gateway *first*, and carries the feed of another."""
        self.feeds[number] = make_home(self.home(number))
        peers = [] if number == first else [self.address(first)]
        with (self.home(number) / "config.toml").open("a") as config:
            config.write(f'network_key = "{key}"\n[gateway]\nenabled = true\n')
            if carry is not None:
                config.write(f'carry = ["{self.feeds[carry].hex()}"]\n')
            config.write(f'listen = "{self.address(number)}"\npeers = {json.dumps(peers)}\n')

    @contextmanager
    def running(self, *numbers: int) -> Iterator[dict[int, RunningDaemon]]:
        with ExitStack() as stack:
            running = {number: stack.enter_context(daemon(self.home(number))) for number in numbers}
            for number in numbers:
                self.comes_up(number)
            yield running
            for one in running.values():
                code, log = one.stop()
                assert code == 0, log
                assert "Traceback" not in log

    def comes_up(self, number: int) -> None:
        until(lambda: self.status(number) is not None)

    def status(self, number: int) -> GatewayRow | None:
        ended = tinyssb(self.home(number), "gateway", "--json")
        if ended.returncode:
            return None
        return msgspec.json.decode(ended.stdout, type=GatewayRow)

    def how(self, number: int) -> GatewayRow:
        row = self.status(number)
        assert row is not None
        return row

    def says(self, number: int, text: str) -> None:
        assert tinyssb(self.home(number), "publish", "--bipf", json.dumps(text)).returncode == 0

    def follows(self, number: int, other: int) -> None:
        assert tinyssb(self.home(number), "follow", self.feeds[other].hex()).returncode == 0

    def reads(self, number: int, other: int) -> list[str]:
        """Return the texts that *number* has of the feed of *other*."""
        ended = tinyssb(self.home(number), "log", self.feeds[other].hex(), "--json")
        return [json.loads(line)["decoded"] for line in ended.stdout.splitlines()]

    def crosses(self, number: int, other: int, said: list[str]) -> None:
        """Wait until *number* has read what *other* *said*, which is to be soon."""
        begun_s = time.monotonic()
        until(lambda: self.reads(number, other) == said)
        assert time.monotonic() - begun_s < CROSS_S

    def poison(self, victim: int, feed: FeedId, place: ContactAddress) -> None:
        """Tell the gateway of *victim* that *feed* is at *place*, all of it and more."""
        advert = Advert(label_of_feed(feed), Location(place, ResourceParameters(2**39 - 1)))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind(("127.0.9.9", 0))
            host, port = self.address(victim).split(":")
            sock.sendto(serialize(LocatorPost((advert,)), group_of_network(Network())), (host, int(port)))


@pytest.fixture
def islands(tmp_path: Path) -> Islands:
    return Islands(tmp_path)


class Trap:
    """Listens where a liar says that a feed is, and counts who falls for it."""

    def __init__(self) -> None:
        self._sock = socket.create_server(("127.0.9.9", 0))
        self.place = ContactAddress(node_of("127.0.9.9"), port_of(7), port_of(self._sock.getsockname()[1]))
        self.calls: Counter[str] = Counter()
        """By whom."""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, (host, _) = self._sock.accept()
                self.calls[host] += 1
                connection.close()

    def close(self) -> None:
        self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        self._thread.join()


def test_islands_find_each_other_and_a_liar_costs_one_connection(islands: Islands) -> None:
    for number in (2, 3):
        islands.make(number)
    islands.make(1, carry=2)
    islands.make(4, key="0badcafe")
    trap = Trap()
    with islands.running(1, 2, 4) as running:
        islands.says(2, "before")
        islands.follows(4, 2)
        for victim in (1, 2):
            islands.poison(victim, islands.feeds[2], trap.place)
        with islands.running(3):
            islands.follows(3, 2)
            islands.crosses(3, 2, ["before"])
            islands.says(2, "and live")
            islands.crosses(3, 2, ["before", "and live"])
            islands.says(3, "an answer")
            islands.follows(2, 3)
            islands.crosses(2, 3, ["an answer"])
            found = tinyssb(islands.home(3), "locate", islands.feeds[2].hex(), "--seconds", "3", "--json")
            places = [msgspec.json.decode(line, type=LocationRow) for line in found.stdout.splitlines()]
            assert found.returncode == 0
            # Some three seconds are enough for one of those who have it, and mostly for both.
            assert {one.connection for one in places} & {islands.address(1), islands.address(2)}
            links = islands.how(3).links
            assert {link.network for link in links} == {"default"}
            assert sum(link.got for link in links) > 0
            shown = tinyssb(islands.home(3), "gateway").stdout.decode()
            assert f"address:    {islands.address(3)}" in shown
        # What is carried for others waits beside the set.
        assert tinyssb(islands.home(1), "feeds", "--json").stdout.count(b"\n") == 1
        until(lambda: islands.shelved(1, 2) == 2)
        islands.follows(1, 2)
        islands.crosses(1, 2, ["before", "and live"])
        assert set(trap.calls.values()) == {1}
        nobody = tinyssb(islands.home(4), "locate", islands.feeds[2].hex(), "--seconds", "1")
        assert nobody.returncode == 66
        stranger, third = islands.how(4), islands.how(1)
        assert islands.reads(4, 2) == []
        assert (stranger.links, stranger.networks[0].confirmed) == ([], 0)
        assert third.networks[0].drops["ForeignGroup"] > 0
        assert len(running) == 3
    trap.close()


def test_a_gateway_that_ends_comes_back_with_whom_it_knew(islands: Islands) -> None:
    for number in (1, 2, 3):
        islands.make(number)
    with islands.running(2, 3):
        with islands.running(1):
            islands.says(2, "before")
            islands.follows(3, 2)
            islands.crosses(3, 2, ["before"])
            until(lambda: islands.how(3).networks[0].confirmed == 2)
        before = islands.how(3)
        os.kill(before.pid, signal.SIGTERM)
        until(lambda: (islands.status(3) or before).pid != before.pid)
        known = json.loads((islands.home(3) / "locator.json").read_text())
        assert islands.address(2) in known["networks"]["default"]["recent"]
        # The one that it was told to ask first is gone.
        islands.says(2, "after")
        islands.crosses(3, 2, ["before", "after"])


def test_free_space_is_that_of_the_disk_within_the_quota(tmp_path: Path) -> None:
    assert free_bytes(tmp_path, 1) == 2**20
    assert free_bytes(tmp_path, 0) == 0
    disk = shutil.disk_usage(tmp_path)
    assert 0 < free_bytes(tmp_path, 2**20) <= disk.total
    assert free_bytes(tmp_path / "none", 1) == 0
