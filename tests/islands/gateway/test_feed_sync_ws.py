"""Feed sync over real sockets on this machine."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin as WebOrigin

from tests.certificates import Authority
from tests.daemon.processes import PATIENCE_S, RunningDaemon, daemon, make_home
from tests.islands.feed_sources import StoreFeedSource
from tests.islands.feedsync.gateways import Gateway, LiveHolding
from tests.nodes import key_of, packets_of, written
from tinyssb_node.codec.dmx import Network, chunk_hash
from tinyssb_node.control.rows import BroughtRow, RefusedRow
from tinyssb_node.errors import LocalError, StoreFailedError
from tinyssb_node.faces.tls import client_context, server_context
from tinyssb_node.faces.ws_access import CallFailedError
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId, NetworkName, Origin, Verdict
from tinyssb_node.islands.feedsync import limits as sync_limits
from tinyssb_node.islands.feedsync.handshake import Handshake
from tinyssb_node.islands.feedsync.packets import FeedSyncGive, PacketRun, serialize_packet
from tinyssb_node.islands.feedsync.port import FeedSource
from tinyssb_node.islands.gateway.bring_client import BringClient
from tinyssb_node.islands.gateway.feed_sync_ws import (
    PATH,
    SUBPROTOCOL,
    FeedSyncConnection,
    FeedSyncListener,
    FeedSyncParty,
    open_link,
)
from tinyssb_node.islands.gateway.feedfile import FeedFileSource, StoreAndShelfSource
from tinyssb_node.replication.replica import Replica
from tinyssb_node.store.home import Home
from tinyssb_node.store.sqlite import SqliteStore

ANA, BOB = key_of("ana").feed_id, key_of("bob").feed_id


class Bench:
    """A gateway without a daemon: what comes goes straight into a store in memory."""

    def __init__(self, wanted: Sequence[FeedId] = (), network: Network = Network()) -> None:  # noqa: B008 - a value
        self.gateway = Gateway()
        self.came = asyncio.Event()
        self.dropped: list[str] = []
        self.reason: str | None = None
        self.ended: list[str] = []
        self.port = 0
        for feed in wanted:
            self.gateway.replica.add_feed(feed, None)
        self.side = FeedSyncParty(
            DEFAULT_NETWORK,
            network,
            LiveHolding(self.gateway.store),
            lambda: self.said(wanted),
            lambda: [record.feed for record in self.gateway.store.feeds()],
            self.bring,
        )

    def said(self, wanted: Sequence[FeedId]) -> Sequence[FeedId]:
        self.came.set()
        return wanted

    def hung_up(self, _link: FeedSyncConnection, why: str) -> None:
        self.ended.append(why)
        self.came.set()

    async def bring(self, _feed: FeedId, packets: Sequence[bytes]) -> BroughtRow:
        new = held = 0
        refused = None if self.reason is None else RefusedRow(packet=0, reason=self.reason)
        for packet in packets:
            finding = self.gateway.replica.offer(packet, chunk_hash(packet), Origin.IMPORT, None)
            new += finding.verdict is Verdict.NEW
            held += finding.verdict is Verdict.DUPLICATE
            if finding.verdict not in {Verdict.NEW, Verdict.DUPLICATE}:
                refused = RefusedRow(packet=new + held, reason=finding.reason or "?")
                break
        self.came.set()
        return BroughtRow(
            shelved=False, entries=new, chunks=0, held=held, refused=refused, dropped=self.dropped
        )

    async def until(self, met: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not met():
                self.came.clear()
                await self.came.wait()


@asynccontextmanager
async def linked(
    here: Bench, there: Bench, *, peers: int = 4
) -> AsyncIterator[tuple[FeedSyncConnection, FeedSyncListener, asyncio.Task[str], list[str]]]:
    """*here* calls *there*."""
    listener = FeedSyncListener(lambda: [there.side], peers=peers, ended=there.hung_up)
    (server,) = await listener.open("127.0.0.1", 0)
    there.port = server.sockets[0].getsockname()[1]
    link = await open_link(f"ws://127.0.0.1:{there.port}{PATH}", here.side)
    running = asyncio.create_task(link.run())
    yield link, listener, running, there.ended
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    server.close()
    await server.wait_closed()


async def test_both_get_what_they_want_and_then_what_is_new() -> None:
    here, there = Bench([BOB]), Bench([ANA])
    here.gateway.write("ana", b"1", b"2" * 300)
    there.gateway.write("bob", b"1")
    async with linked(here, there) as (link, listener, _running, _ended):
        await here.until(lambda: len(here.gateway.packets(BOB)) == 1)
        await there.until(lambda: len(there.gateway.packets(ANA)) == 5)
        there.gateway.write("bob", b"2")
        for each in listener.links:
            each.changed([BOB])
        await here.until(lambda: len(here.gateway.packets(BOB)) == 2)
        assert link.side is here.side
        assert link.got == {BOB: 2}
        assert link.counts.given == 5
        assert not link.lied


async def test_what_is_wanted_later_comes_later() -> None:
    wanted: list[FeedId] = []
    here, there = Bench(wanted), Bench()
    there.gateway.write("bob", b"1")
    async with linked(here, there) as (link, listener, _running, _ended):
        await here.until(lambda: link.side is not None)
        here.gateway.replica.add_feed(BOB, None)
        wanted.append(BOB)
        link.refresh()
        await here.until(lambda: len(here.gateway.packets(BOB)) == 1)
        link.leave([BOB])
        there.gateway.write("bob", b"2")
        link.refresh()
        for each in listener.links:
            each.changed([BOB])
        await here.until(lambda: len(here.gateway.packets(BOB)) == 2)


@pytest.mark.parametrize(("reason", "lied"), [("full", False), ("WrongSignature", True)])
async def test_who_is_refused_is_hung_up_on_only_if_it_lies(reason: str, lied: bool) -> None:
    here, there = Bench([BOB]), Bench()
    there.gateway.write("bob", b"1")
    here.reason = reason
    async with linked(here, there) as (link, _listener, running, _ended):
        await here.until(lambda: bool(here.gateway.packets(BOB)))
        if lied:
            assert "invalid data of the feed" in await running
        assert link.lied == lied


async def test_what_had_to_make_room_is_wanted_no_more() -> None:
    here, there = Bench([ANA, BOB]), Bench()
    there.gateway.write("bob", b"1")
    here.dropped = [ANA.hex()]
    async with linked(here, there) as (_link, listener, _running, _ended):
        await here.until(lambda: bool(here.gateway.packets(BOB)))
        there.gateway.write("ana", b"1")
        there.gateway.write("bob", b"2")
        for each in listener.links:
            each.refresh()
            each.changed([BOB])
        await here.until(lambda: len(here.gateway.packets(BOB)) == 2)
        assert here.gateway.packets(ANA) == []


async def test_strangers_are_hung_up_on() -> None:
    here, there = Bench(network=Network(b"ours")), Bench()
    async with linked(here, there) as (_link, _listener, running, ended):
        assert await running
        await there.until(lambda: bool(ended))
        assert "another network" in ended[0]


async def test_web_pages_do_not_reach_it() -> None:
    there = Bench()
    async with linked(Bench(), there):
        with pytest.raises(InvalidStatus, match="403"):
            await connect(
                f"ws://127.0.0.1:{there.port}{PATH}",
                origin=WebOrigin("https://evil.example"),
                subprotocols=[SUBPROTOCOL],
            )


async def test_who_speaks_something_else_gets_nowhere() -> None:
    there = Bench()
    async with linked(Bench(), there, peers=1) as (_link, listener, _running, _ended):
        await there.until(lambda: bool(listener.links))
        port = there.port
        with pytest.raises(InvalidStatus):
            await connect(f"ws://127.0.0.1:{port}/elsewhere", subprotocols=[SUBPROTOCOL])
        with pytest.raises(CallFailedError, match="503"):
            await open_link(f"ws://127.0.0.1:{port}{PATH}", Bench().side)
    with pytest.raises(CallFailedError, match="no connection"):
        await open_link(f"ws://127.0.0.1:{port}{PATH}", Bench().side)


async def test_one_address_does_not_take_all_places() -> None:
    there = Bench()
    listener = FeedSyncListener(lambda: [there.side], peers=3, each=2, ended=there.hung_up)
    (server,) = await listener.open("127.0.0.1", 0)
    url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}{PATH}"
    links = [await open_link(url, Bench().side) for _ in range(2)]
    with pytest.raises(CallFailedError, match="no connection"):
        await open_link(url, Bench().side)
    links.append(await open_link(url, Bench().side, local="127.0.0.9"))
    with pytest.raises(CallFailedError, match="503"):
        await open_link(url, Bench().side, local="127.0.0.8")
    running = [asyncio.create_task(link.run()) for link in links]
    await there.until(lambda: len(listener.links) == 3)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize(
    "to", ["ws://127.0.0.2:{}/admin?reboot=1", "ws://[::1/x", "ws://" + "a" * 70 + ".b:{}/x"]
)
async def test_who_is_called_does_not_send_us_elsewhere(to: str) -> None:
    asked: list[bytes] = []

    async def at_home(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.close()

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    home = await asyncio.start_server(at_home, "127.0.0.2", 0)
    place = await asyncio.start_server(redirect, "127.0.0.1", 0)
    location = to.format(home.sockets[0].getsockname()[1])
    with pytest.raises(CallFailedError, match="302"):
        await open_link(f"ws://127.0.0.1:{place.sockets[0].getsockname()[1]}{PATH}", Bench().side)
    for server in (home, place):
        server.close()
        await server.wait_closed()
    assert asked == []


async def test_what_breaks_here_is_nobody_elses_fault() -> None:
    class Broken:
        """A disk that fails."""

        def state(self, _feed: FeedId) -> None:
            raise StoreFailedError("disk I/O error")

    here, there = Bench([BOB]), Bench()
    there.gateway.write("bob", b"1")
    here.side = replace(here.side, holding=cast("FeedSource", Broken()))
    async with linked(here, there) as (link, _listener, running, _ended):
        assert await running == "disk I/O error"
        assert (link.excused, link.lied) == (True, False)


async def test_a_peer_that_breaks_the_protocol_has_lied() -> None:
    there = Bench([ANA])
    listener = FeedSyncListener(lambda: [there.side], peers=2, ended=there.hung_up)
    (server,) = await listener.open("127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with connect(f"ws://127.0.0.1:{port}{PATH}", subprotocols=[SUBPROTOCOL]) as liar:
        greeting = Handshake([Network()], caller=True, nonce=bytes(sync_limits.NONCE_SIZE))
        while greeting.met is None:
            for packet in greeting.packets():
                await liar.send(packet)
            data = await liar.recv()
            assert isinstance(data, bytes)
            greeting.receive(data)
        (link,) = listener.links
        await liar.send(serialize_packet(FeedSyncGive(0, (PacketRun(1, None, (bytes(120),)),))))
        await there.until(lambda: not listener.links)
    assert link.lied
    server.close()
    await server.wait_closed()


async def test_over_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("here")
    here, there = Bench([BOB]), Bench()
    there.gateway.write("bob", b"1")
    listener = FeedSyncListener(lambda: [there.side], peers=2)
    (server,) = await listener.open("127.0.0.1", 0, server_context(pair.certificate, pair.key))
    url = f"wss://127.0.0.1:{server.sockets[0].getsockname()[1]}{PATH}"
    with pytest.raises(CallFailedError, match="no connection"):
        await open_link(url, here.side, client_context())
    link = await open_link(url, here.side, client_context(authorities=authority.certificate))
    running = asyncio.create_task(link.run())
    await here.until(lambda: len(here.gateway.packets(BOB)) == 1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    server.close()
    await server.wait_closed()


# --- with daemons


@contextmanager
def gateway_of(
    home: Path, wanted: Sequence[FeedId], came: asyncio.Event
) -> Iterator[tuple[FeedSyncParty, BringClient, StoreAndShelfSource]]:
    """Make the parts of a gateway beside the daemon in *home*."""
    bringer = BringClient(Home(home).control_socket)
    with closing(StoreAndShelfSource(Home(home).store, Home(home).shelf)) as files:

        async def bring(feed: FeedId, packets: Sequence[bytes]) -> BroughtRow:
            brought = await bringer.bring(DEFAULT_NETWORK, feed, packets)
            came.set()
            return brought

        def offered() -> list[FeedId]:
            with closing(FeedFileSource(Home(home).store)) as store:
                return [*store.feeds(), *files.shelved()]

        yield FeedSyncParty(DEFAULT_NETWORK, Network(), files, lambda: wanted, offered, bring), bringer, files


async def test_between_two_daemons_it_goes_into_the_set_and_onto_the_shelf(tmp_path: Path) -> None:
    homes = [tmp_path / "here", tmp_path / "there"]
    feeds, came = [make_home(home) for home in homes], asyncio.Event()
    with ExitStack() as stack:
        daemons: list[RunningDaemon] = [stack.enter_context(daemon(home)) for home in homes]
        with daemons[1].client() as node:
            for text in (b"far away", b"and longer " * 40):
                node.publish(text)
        with daemons[0].client() as node:
            node.follow(feeds[1].hex())
            node.publish(b"here")
        here, bringer, files = stack.enter_context(gateway_of(homes[0], [feeds[1]], came))
        there, other, far = stack.enter_context(gateway_of(homes[1], [feeds[0]], came))
        listener = FeedSyncListener(lambda: [there], peers=2)
        (server,) = await listener.open("127.0.0.1", 0)
        link = await open_link(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}{PATH}", here)
        running = asyncio.create_task(link.run())
        async with asyncio.timeout(PATIENCE_S):
            while (state := files.state(feeds[1])) is None or state.seq < 2 or state.chains:
                came.clear()
                await came.wait()
            while far.shelved() != [feeds[0]]:
                came.clear()
                await came.wait()
        with daemons[0].client() as node:
            assert [row.content for row in node.log(feeds[1].hex())] == [
                b"far away".hex(),
                (b"and longer " * 40).hex(),
            ]
        with daemons[1].client() as node:
            assert node.goset().count == 1
            node.follow(feeds[0].hex())
            node.bring(feeds[0].hex(), [])  # it does not wait for the daemon's next turn
            assert [row.content for row in node.log(feeds[0].hex())] == [b"here".hex()]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        bringer.close()
        other.close()
        server.close()
        await server.wait_closed()


async def test_nobody_takes_it_where_there_is_no_daemon(tmp_path: Path) -> None:
    bringer = BringClient(tmp_path / "control.sock")
    with pytest.raises(LocalError, match="does not answer"):
        await bringer.bring(DEFAULT_NETWORK, ANA, [])
    here, there = Bench([BOB]), Bench()
    there.gateway.write("bob", b"1")

    async def bring(feed: FeedId, packets: Sequence[bytes]) -> BroughtRow:
        return await bringer.bring(NetworkName("x"), feed, packets)

    here.side = FeedSyncParty(
        DEFAULT_NETWORK, Network(), here.side.holding, here.side.wanted, here.side.offered, bring
    )
    async with linked(here, there) as (link, _listener, running, _ended):
        assert "does not answer" in await running
        assert not link.lied


def test_a_file_is_held_as_its_store_is(tmp_path: Path) -> None:
    packets = packets_of(written(key_of("ana"), [b"1", b"two " * 100, b"3"]))
    other = packets_of(written(key_of("ana"), [b"1", b"other"]))[-1]
    nobody = key_of("nobody").feed_id
    with closing(SqliteStore.open(tmp_path / "store.sqlite")) as store:
        replica = Replica(store, Network(), read_only=False)
        for feed in (ANA, BOB):
            replica.add_feed(feed, None)
        store.commit(1)
        with closing(FeedFileSource(tmp_path / "store.sqlite")) as file:
            for packet in [*packets[:4], other]:
                replica.offer(packet, chunk_hash(packet), Origin.IMPORT, None)
                store.commit(1)
                expected = StoreFeedSource(store)
                assert [file.state(feed) for feed in (ANA, BOB, nobody)] == [
                    expected.state(feed) for feed in (ANA, BOB, nobody)
                ]
                assert list(file.entries(ANA, 1, 9)) == list(expected.entries(ANA, 1, 9))
                assert list(file.chunks(ANA, 2, 1, 9)) == list(expected.chunks(ANA, 2, 1, 9))
            state = file.state(ANA)
            assert state is not None
            assert state.fork is not None
            assert state.fork.seq == 2
            assert file.feeds() == [ANA]


def test_a_state_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *more = packets_of(written(key_of("ana"), [b"1", b"two " * 100]))
    with closing(SqliteStore.open(tmp_path / "store.sqlite")) as store:
        replica = Replica(store, Network(), read_only=False)
        replica.add_feed(ANA, None)
        replica.offer(first, chunk_hash(first), Origin.IMPORT, None)
        store.commit(1)
        with closing(FeedFileSource(tmp_path / "store.sqlite")) as file:
            expected = file.state(ANA)
            select = FeedFileSource.select
            asked: list[str] = []

            def and_then_more_comes(
                file: FeedFileSource, sql: str, *values: int | bytes
            ) -> list[tuple[Any, ...]]:
                rows = select(file, sql, *values)
                if not asked:
                    replica.offer(more[0], chunk_hash(more[0]), Origin.IMPORT, None)
                    store.commit(1)
                asked.append(sql)
                return rows

            monkeypatch.setattr(FeedFileSource, "select", and_then_more_comes)
            assert file.state(ANA) == expected
            assert file.state(ANA) == StoreFeedSource(store).state(ANA) != expected
    assert len(asked) > 2


def test_a_shelf_of_a_newer_version_is_as_if_there_were_none(tmp_path: Path) -> None:
    for name in ("store.sqlite", "shelf.sqlite"):
        SqliteStore.open(tmp_path / name).close()
    with closing(sqlite3.connect(tmp_path / "shelf.sqlite")) as shelf:
        shelf.execute("PRAGMA user_version = 99")
    with closing(StoreAndShelfSource(tmp_path / "store.sqlite", tmp_path / "shelf.sqlite")) as files:
        assert (files.state(ANA), files.shelved()) == (None, ())
