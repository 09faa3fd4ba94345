"""The gateway's choice of peers to call, and its conclusions: real sockets of this machine, a time of its own."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.certificates import Authority
from tests.daemon.processes import PATIENCE_S
from tests.islands.gateway.test_feed_sync_ws import Bench
from tests.islands.gateway.wires import S, Shelf, holding, settings
from tests.nodes import key_of
from tinyssb_node.codec.dmx import Network
from tinyssb_node.control.rows import BroughtRow
from tinyssb_node.errors import LocalError
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.links import GatewayLinks, TrustedGateways, load_trusted_gateways
from tinyssb_node.islands.gateway.network import GatewayNetwork, HoldingChanges
from tinyssb_node.islands.gateway.peersfile import KnownPeers
from tinyssb_node.islands.gateway.relay_ws import RelayListener
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer, node_of, port_of
from tinyssb_node.islands.locator.values import Location, ResourceParameters

ANA, BOB = key_of("ana").feed_id, key_of("bob").feed_id


class Clock:
    """All gateways' time."""

    now_us = 1_000 * S

    def __call__(self) -> int:
        return self.now_us


class Post:
    """A gateway at 127.0.2.N, without a socket for datagrams."""

    def __init__(
        self,
        number: int,
        clock: Clock,
        wanted: Sequence[FeedId],
        circle: TrustedGateways | None = None,
        quota: int = 2**24,
    ) -> None:
        self.host = f"127.0.2.{number}"
        self.clock = clock
        self.bench = Bench(wanted)
        self.shelf = Shelf()
        self.shelf.feeds = [holding(feed, 0) for feed in wanted]
        self.told: list[tuple[str, str]] = []
        self.sent: list[tuple[Peer, bytes]] = []
        """Datagrams that go nowhere, unless a test takes them there."""
        self.changed = asyncio.Event()
        self.island = GatewayNetwork(
            DEFAULT_NETWORK,
            Network(),
            settings(),
            self.shelf,
            lambda to, datagram: self.sent.append((to, datagram)),
            chance=random.Random(number),
        )
        self.links = GatewayLinks(
            {DEFAULT_NETWORK: self.island},
            {DEFAULT_NETWORK: self.bench.side},
            self.tell,
            clock,
            circle,
            relay=RelayListener([self.island.group], quota, clock),
        )

    def tell(self, where: str, what: str) -> None:
        self.told.append((where, what))
        self.changed.set()
        self.bench.came.set()

    async def open(self) -> None:
        await self.links.open(self.host, 0)
        self.island.begin(self.place, KnownPeers(), self.clock())
        self.look()

    @property
    def place(self) -> ContactAddress:
        port = port_of(self.links.port)
        return ContactAddress(node_of(self.host), port, port)

    def look(self) -> None:
        """As the process does once a second."""
        held = [holding(record.feed, record.seq) for record in self.bench.gateway.store.feeds()]
        self.shelf.feeds = held
        changes = self.island.look(self.links.linked(DEFAULT_NETWORK), self.clock())
        if changes is not None:
            self.links.changed(DEFAULT_NETWORK, changes)
        self.links.look(self.clock())

    def learns(self, feed: FeedId, place: ContactAddress, seq: int) -> None:
        """A report tells that *feed* is at *place*."""
        self.island.seeking.found(feed, [Location(place, ResourceParameters(seq))], self.clock())
        self.look()

    async def until(self, met: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not met():
                self.look()
                await asyncio.sleep(0)

    @property
    def connected(self) -> int:
        return len(self.links.rows(self.clock()))


@asynccontextmanager
async def posts(
    *wanted: Sequence[FeedId], circles: Sequence[TrustedGateways | None] = (None,) * 9
) -> AsyncIterator[list[Post]]:
    """Gateways, each with what it wants, and who vouches for it."""
    clock = Clock()
    async with AsyncExitStack() as stack:
        made = [
            Post(number, clock, feeds, circle)
            for number, (feeds, circle) in enumerate(zip(wanted, circles, strict=False), 1)
        ]
        for post in made:
            await post.open()
            stack.push_async_callback(post.links.close)
        yield made


async def test_what_was_promised_is_brought_and_then_news() -> None:
    async with posts([BOB], []) as (here, there):
        there.bench.gateway.write("bob", b"1", b"2")
        here.learns(BOB, there.place, 2)
        await here.until(lambda: len(here.bench.gateway.packets(BOB)) == 2)
        (row,) = here.links.rows(here.clock())
        assert (row.called, row.feed, row.got, row.given) == (True, BOB.hex(), 2, 0)
        assert row.address.startswith("127.0.2.2:")
        (row,) = there.links.rows(here.clock())
        assert (row.called, row.feed, row.given) == (False, None, 2)
        assert row.address.startswith("127.0.2.1:")
        there.bench.gateway.write("bob", b"3")
        there.links.changed(DEFAULT_NETWORK, HoldingChanges([BOB], []))
        await here.until(lambda: len(here.bench.gateway.packets(BOB)) == 3)
        here.clock.now_us += 10 * limits.PROMISE_US
        here.look()
        assert here.connected == 1
        assert here.told == []


async def test_a_place_where_nobody_is_costs_one_connection() -> None:
    async with posts([BOB], []) as (here, there):
        nobody = there.place
        await there.links.close()
        here.learns(BOB, nobody, 2**39 - 1)
        assert here.links.room == limits.CALLS_MAX - 1
        await here.until(lambda: bool(here.told))
        assert "no connection" in here.told[0][1]
        assert here.links.room == limits.CALLS_MAX
        assert here.island.seeking.places(BOB) == {}
        assert len(here.told) == 1


async def test_one_that_gives_nothing_of_what_it_promised_is_left() -> None:
    async with posts([BOB], []) as (here, there):
        there.bench.gateway.write("bob", b"1")
        here.learns(BOB, there.place, 1_000)
        await here.until(lambda: len(here.bench.gateway.packets(BOB)) == 1)
        here.clock.now_us += limits.PROMISE_US
        here.look()
        assert here.connected == 1
        here.clock.now_us += limits.PROMISE_US + 1
        await here.until(lambda: not here.connected)
        assert here.told[0][1] == "it sends nothing of what it promised"
        assert here.island.seeking.places(BOB) == {}


async def test_two_that_call_each_other_keep_one_connection() -> None:
    async with posts([BOB], [ANA]) as (here, there):
        here.bench.gateway.write("ana", b"1")
        there.bench.gateway.write("bob", b"1")
        here.learns(BOB, there.place, 1)
        there.learns(ANA, here.place, 1)
        assert (here.links.room, there.links.room) == (limits.CALLS_MAX - 1, limits.CALLS_MAX - 1)
        await here.until(lambda: len(here.bench.gateway.packets(BOB)) == 1)
        await there.until(lambda: len(there.bench.gateway.packets(ANA)) == 1)
        await there.until(lambda: here.connected == there.connected == 1)
        # It goes on so.
        here.clock.now_us += 2 * limits.CALL_AGAIN_US
        here.look()
        there.look()
        assert (here.links.room, there.links.room) == (limits.CALLS_MAX - 1, limits.CALLS_MAX)
        assert here.connected == there.connected == 1


async def test_who_called_us_is_called_if_he_does_not_bring_what_he_promised() -> None:
    async with posts([BOB], [ANA]) as (here, there):
        here.bench.gateway.write("ana", b"1")
        there.learns(ANA, here.place, 1)
        await here.until(lambda: here.connected == 1)
        here.learns(BOB, there.place, 7)
        assert here.links.room == limits.CALLS_MAX
        here.clock.now_us += limits.PROMISE_US + 1
        here.look()
        assert here.links.room == limits.CALLS_MAX - 1


async def test_who_has_no_place_is_not_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CALLERS_MAX", 0)
    async with posts([BOB], []) as (here, there):
        for post in (here, there):
            post.bench.gateway.write("bob", b"1")
        here.learns(BOB, there.place, 1)
        await here.until(lambda: bool(here.told))
        assert "503" in here.told[0][1]
        assert here.island.seeking.places(BOB) == {}


async def test_while_one_rests_another_is_called() -> None:
    async with posts([BOB], [], []) as (here, there, third):
        for post in (there, third):
            post.bench.gateway.write("bob", b"1")
        here.learns(BOB, there.place, 1)
        await here.until(lambda: len(here.bench.gateway.packets(BOB)) == 1)
        here.look()
        here.clock.now_us += limits.SETTLED_US
        await there.links.close()
        await here.until(lambda: not here.connected)
        assert list(here.island.seeking.places(BOB)) == [there.place]
        assert here.links.room == limits.CALLS_MAX
        here.learns(BOB, third.place, 1)
        assert here.links.linked(DEFAULT_NETWORK) == {third.place}


@pytest.mark.parametrize("dropped", [False, True])
async def test_what_the_daemon_has_no_room_for_is_left_alone_for_a_while(dropped: bool) -> None:
    async with posts([BOB], []) as (here, there):
        there.bench.gateway.write("bob", b"1")
        if dropped:
            here.bench.dropped = [BOB.hex()]
        else:
            here.bench.reason = "full"
        here.learns(BOB, there.place, 1)
        await here.until(lambda: BOB not in here.island.seeking.feeds)
        assert here.connected == 1
        assert here.told == []
        here.clock.now_us += limits.REFRAIN_US
        here.look()
        assert BOB in here.island.seeking.feeds


async def test_what_goes_wrong_here_is_not_held_against_others() -> None:
    async with posts([BOB], []) as (here, there):

        async def bring(_feed: FeedId, _packets: Sequence[bytes]) -> BroughtRow:
            raise LocalError("the daemon is away")

        there.bench.gateway.write("bob", b"1")
        side = replace(here.bench.side, bring=bring)
        here.links = GatewayLinks(
            {DEFAULT_NETWORK: here.island}, {DEFAULT_NETWORK: side}, here.tell, here.clock
        )
        here.learns(BOB, there.place, 1)
        await here.until(lambda: bool(here.told))
        await here.until(lambda: here.links.room == limits.CALLS_MAX)
        assert ("daemon", "the daemon is away") in here.told
        assert list(here.island.seeking.places(BOB)) == [there.place]
        # It is not tried again at once.
        here.look()
        assert here.links.room == limits.CALLS_MAX
        here.clock.now_us += limits.CALL_AGAIN_US
        here.look()
        assert here.links.room == limits.CALLS_MAX - 1


@pytest.mark.parametrize(("host", "other"), [("::", "127.0.0.1"), ("::", "::1"), ("::1", "::1")])
async def test_both_kinds_of_addresses_are_listened_on(host: str, other: str) -> None:
    post = Post(1, Clock(), [])
    await post.links.open(host, 0)
    _, writer = await asyncio.open_connection(other, post.links.port)
    writer.close()
    await writer.wait_closed()
    await post.links.close()


def circle(authority: Authority, name: str) -> TrustedGateways:
    pair = authority.issue(name, "192.0.2.1")
    made = load_trusted_gateways(
        settings(cert_file=pair.certificate, key_file=pair.key, ca_file=authority.certificate)
    )
    assert made is not None
    return made


async def test_over_tls_only_the_circle_connects(tmp_path: Path) -> None:
    for folder in ("ours", "others"):
        (tmp_path / folder).mkdir()
    ours, others = Authority(tmp_path / "ours"), Authority(tmp_path / "others")
    circles = [circle(ours, "here"), circle(ours, "there"), circle(others, "stranger"), None]
    async with posts([BOB], [], [BOB], [BOB], circles=circles) as (here, there, stranger, plain):
        there.bench.gateway.write("bob", b"1")
        for post in (here, stranger, plain):
            post.learns(BOB, there.place, 1)
        await here.until(lambda: len(here.bench.gateway.packets(BOB)) == 1)
        for post in (stranger, plain):
            await post.until(lambda post=post: bool(post.told))  # type: ignore[misc]  # a default binds it
            assert post.bench.gateway.packets(BOB) == []
            assert post.island.seeking.places(BOB) == {}
        assert here.told == []
        assert load_trusted_gateways(settings()) is None
