"""Two gateways that cannot be reached meet by a third one: real sockets of this machine, a time of its own."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from tests.certificates import Authority
from tests.daemon.processes import PATIENCE_S
from tests.islands.gateway.test_feed_sync_ws import Bench
from tests.islands.gateway.test_links import ANA, BOB, Clock, Post, circle, posts
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.feed_sync_ws import PATH, SUBPROTOCOL, FeedSyncConnection
from tinyssb_node.islands.gateway.links import TrustedGateways
from tinyssb_node.islands.gateway.peersfile import KnownPeers
from tinyssb_node.islands.gateway.relay_ws import (
    RELAY_PATH,
    RELAY_SUBPROTOCOL,
    RelayBusyError,
    RelayedNode,
    call_by_relay,
    dial_relay,
)
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer, node_of, relayed, split_relayed
from tinyssb_node.islands.locator.packets import LocatorPing, serialize
from tinyssb_node.islands.relay import limits as relay_limits
from tinyssb_node.islands.relay.messages import RelayAccept, RelayCall, RelayEnd, serialize_relay


class Hidden:
    """A gateway without a port that others reach, with two entries of bob's."""

    def __init__(self, clock: Clock, trusted: TrustedGateways | None = None) -> None:
        self.bench = Bench()
        self.bench.gateway.write("bob", b"1", b"2")
        self.places: tuple[ContactAddress, ...] = ()
        self.changed = asyncio.Event()
        self.told: list[tuple[str, str]] = []
        self.trusted = trusted
        self.node = RelayedNode(
            Post(9, clock, []).island.group,
            self.dial,
            self.called,
            self.placed,
            self.tell,
            clock,
            random.Random(1).random,
        )

    async def dial(self, relay: ContactAddress) -> ClientConnection:
        return await dial_relay(relay, None if self.trusted is None else self.trusted.calling.current())

    async def called(self, connection: ClientConnection) -> None:
        await FeedSyncConnection(connection, [self.bench.side], caller=False, relayed=True).run()

    def placed(self, places: tuple[ContactAddress, ...]) -> None:
        self.places = places
        self.changed.set()

    def tell(self, where: str, what: str) -> None:
        self.told.append((where, what))
        self.changed.set()

    async def changes(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.changed.wait()
        self.changed.clear()


@asynccontextmanager
async def meeting(
    trusted: TrustedGateways | None = None, quota: int = 2**24
) -> AsyncIterator[tuple[Post, Post, Hidden]]:
    """One that wants bob's feed, a relay, and the one that has it, which is registered there."""
    clock = Clock()
    async with AsyncExitStack() as stack:
        here, relay = Post(1, clock, [BOB], trusted), Post(2, clock, [], trusted, quota)
        for post in (here, relay):
            await post.open()
            stack.push_async_callback(post.links.close)
        hidden = Hidden(clock, trusted)
        stack.push_async_callback(hidden.node.close)
        hidden.node.look([relay.place])
        await hidden.changes()
        yield here, relay, hidden


async def test_two_that_cannot_be_reached_sync_by_a_relay() -> None:
    async with meeting() as (here, relay, hidden):
        (place,) = hidden.places
        assert place.node.startswith(relay.place.node)
        here.learns(BOB, place, 2)
        await here.until(lambda: len(here.bench.gateway.packets(BOB)) == 2)
        (row,) = here.links.rows(here.clock())
        assert (row.relayed, row.called, row.got) == (True, True, 2)
        counts = relay.links.relay_row()
        assert counts is not None
        assert (counts.registered, counts.pairs, counts.refused) == (1, 1, 0)
        assert 200 < counts.used_bytes < 2_000
        assert here.told == relay.told == hidden.told == []
        # It is no connection of the relay's own: the relay itself can still be called.
        assert relay.connected == 0


def exchange(*posts: Post) -> None:
    """Let the locators of *posts* hear each other's datagrams."""
    for post in posts:
        post.island.wake(post.clock())
    while any(post.sent for post in posts):
        for post in posts:
            while post.sent:
                to, datagram = post.sent.pop()
                for other in posts:
                    if other.place.peer == to:
                        other.island.receive(datagram, post.place.peer, post.clock())


async def test_a_gateway_that_nobody_reaches_is_called_by_a_relay_and_may_call_it() -> None:
    async with posts([ANA], [], [BOB]) as (here, relay, other):
        here.bench.gateway.write("bob", b"1")
        here.island.begin(here.place, KnownPeers((), (relay.place.peer,)), here.clock())
        here.clock.now_us += limits.REACHED_WAIT_US
        exchange(here, relay)
        await here.until(lambda: bool(here.links.relays(DEFAULT_NETWORK)))
        (text,) = here.links.relays(DEFAULT_NETWORK)
        _, handle = text.split("/")
        other.learns(BOB, relayed(relay.place, bytes.fromhex(handle)), 1)
        await other.until(lambda: len(other.bench.gateway.packets(BOB)) == 1)
        (row,) = here.links.rows(here.clock())
        assert (row.relayed, row.called, row.given) == (True, False, 1)
        # The connection comes from the relay's address, and is not the relay's own.
        here.learns(ANA, relay.place, 1)
        assert here.links.room == limits.CALLS_MAX - 1
        # Once somebody reaches it by its own address, it needs no relay.
        stranger = Peer(node_of("127.0.2.9"), relay.place.message)
        ping = serialize(LocatorPing(stranger, b"cookie"), here.island.group)
        here.island.receive(ping, stranger, here.clock())
        await here.until(lambda: not here.links.relays(DEFAULT_NETWORK))


async def test_with_tls_only_a_circle_is_relayed(tmp_path: Path) -> None:
    ours = circle(Authority(tmp_path), "here")
    async with meeting(ours) as (here, relay, hidden):
        here.learns(BOB, hidden.places[0], 2)
        await here.until(lambda: len(here.bench.gateway.packets(BOB)) == 2)
        plain = Hidden(here.clock)
        plain.node.look([relay.place])
        await plain.changes()
        assert plain.places == ()
        await plain.node.close()


async def test_a_node_that_left_its_relay_costs_one_call() -> None:
    async with meeting() as (here, relay, hidden):
        (place,) = hidden.places
        hidden.node.leave()
        await hidden.changes()
        assert hidden.places == ()
        await relay.until(lambda: (row := relay.links.relay_row()) is not None and row.registered == 0)
        here.learns(BOB, place, 2)
        await here.until(lambda: bool(here.told))
        assert here.island.seeking.places(BOB) == {}
        assert here.links.room == limits.CALLS_MAX


async def test_when_the_quota_is_used_up_nobody_is_blamed() -> None:
    async with meeting(quota=1_600) as (here, relay, hidden):
        hidden.bench.gateway.write("bob", *(bytes([number]) * 40 for number in range(20)))
        (place,) = hidden.places
        here.learns(BOB, place, 22)
        await here.until(lambda: bool(here.told))
        assert list(here.island.seeking.places(BOB)) == [place]
        row = relay.links.relay_row()
        assert row is not None
        assert (row.used_bytes <= 400, row.quota_bytes, row.refused) == (True, 1_600, 1)
        with pytest.raises(RelayBusyError, match="used up its bytes"):
            await call_by_relay(hidden.dial, place, here.island.group)


async def test_a_relay_that_ends_is_replaced_later() -> None:
    async with meeting() as (_, relay, hidden):
        await relay.links.close()
        await hidden.changes()
        assert hidden.places == ()
        hidden.node.look([relay.place])
        assert not hidden.changed.is_set()


async def test_a_called_node_that_does_not_come_ends_the_call() -> None:
    async with meeting() as (here, relay, hidden):
        url = f"ws://127.0.2.2:{relay.links.port}{RELAY_PATH}"
        async with connect(url, subprotocols=[RELAY_SUBPROTOCOL], proxy=None) as caller:
            await caller.send(serialize_relay(RelayAccept(bytes(8))))
            with pytest.raises(ConnectionClosed) as closed:
                await caller.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == RelayEnd.UNKNOWN
        async with connect(url, subprotocols=[RELAY_SUBPROTOCOL], proxy=None) as silent:
            await silent.ping()
            here.clock.now_us += relay_limits.CALL_WAIT_US
            relay.look()
            with pytest.raises(ConnectionClosed) as closed:
                await silent.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == RelayEnd.TIMEOUT
        assert len(hidden.places) == 1


async def test_each_protocol_has_its_path_and_text_is_none() -> None:
    async with meeting() as (_, relay, hidden):
        base = f"ws://127.0.2.2:{relay.links.port}"
        for path, subprotocol in ((PATH, RELAY_SUBPROTOCOL), (RELAY_PATH, SUBPROTOCOL)):
            with pytest.raises(ConnectionClosed):
                async with connect(base + path, subprotocols=[subprotocol], proxy=None) as wrong:
                    await wrong.recv()
        with pytest.raises(InvalidStatus, match="404"):
            await connect(f"{base}/other", subprotocols=[Subprotocol("tinyssb-relay-1")], proxy=None)
        async with connect(base + RELAY_PATH, subprotocols=[RELAY_SUBPROTOCOL], proxy=None) as texting:
            await texting.send("register me")
            with pytest.raises(ConnectionClosed):
                await texting.recv()
        assert len(hidden.places) == 1


async def test_who_called_too_often_from_one_address_gets_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay_limits, "PAIRS_EACH_MAX", 0)
    async with meeting() as (here, _, hidden):
        with pytest.raises(RelayBusyError, match="no place left"):
            await call_by_relay(hidden.dial, hidden.places[0], here.island.group)


def test_a_call_names_network_and_handle() -> None:
    assert serialize_relay(RelayCall(b"village!", b"8 bytes.")) == b"\x02village!8 bytes."
    assert DEFAULT_NETWORK


async def test_a_relay_whose_address_has_no_route_is_sought_among_peers() -> None:
    async with meeting() as (here, relay, hidden):
        _, handle = split_relayed(hidden.places[0].node)
        here.island.begin(here.place, KnownPeers((), (relay.place.peer,)), here.clock(), families={4})
        exchange(here, relay)
        away = ContactAddress(node_of("2001:db8::2"), relay.place.message, relay.place.connection)
        here.learns(BOB, relayed(away, handle), 2)
        await here.until(lambda: len(here.bench.gateway.packets(BOB)) == 2)
        (row,) = here.links.rows(here.clock())
        assert row.relayed


async def test_without_such_a_peer_the_call_fails() -> None:
    async with meeting() as (here, relay, _):
        here.island.begin(here.place, KnownPeers(), here.clock(), families={4})
        away = ContactAddress(node_of("2001:db8::2"), relay.place.message, relay.place.connection)
        here.learns(BOB, relayed(away, bytes(8)), 2)
        await here.until(lambda: bool(here.told))
        assert "no route to the relay's address" in here.told[0][1]
