"""PZP sync over real sockets on this machine."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Origin, Subprotocol

from tests.certificates import Authority
from tests.faces.recording_sink import PATIENCE_S
from tests.pzp.database.messages import ALICE, BOB, need, public
from tests.pzp.sync.replicas import ALL, NONE, Replica, newest, world
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.access import EVERYBODY, Credentials, ListenerPolicy
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.pzp.database import limits as pzp_limits
from tinyssb_node.pzp.database import replica as pzp_replica
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.revocations import Revocations, remove_key
from tinyssb_node.pzp.database.sqlite import SqlitePzpRows
from tinyssb_node.pzp.messages import base58, message
from tinyssb_node.pzp.messages.versions import V4, write_consent
from tinyssb_node.pzp.sync.packets import parse_packet
from tinyssb_node.pzp.sync.port import MessageOutcome, PzpReplica
from tinyssb_node.pzp.sync.sync import Event, PzpSyncViolation, SyncCompleted
from tinyssb_node.pzp.sync_ws import SUBPROTOCOL, SUBPROTOCOL_1, PzpSyncConnector, PzpSyncListener


class Told:
    """Collects what happened, and wakes who waits for it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    async def until(self, met: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not met():
                self._changed.clear()
                await self._changed.wait()

    def synced(self) -> list[str]:
        return [event.root for event in self.events if isinstance(event, SyncCompleted)]


@asynccontextmanager
async def listening(
    replica: PzpReplica,
    roots: Iterable[str] = (),
    *,
    port: int = 0,
    peers: int = 4,
    guard: ListenerPolicy = EVERYBODY,
) -> AsyncIterator[tuple[int, Told, PzpSyncListener]]:
    told = Told()
    listener = PzpSyncListener(replica, lambda: roots, told, peers=peers, guard=guard)
    (server,) = await listener.open("127.0.0.1", port)
    yield server.sockets[0].getsockname()[1], told, listener
    server.close()
    await server.wait_closed()


@asynccontextmanager
async def calling(
    port: int, replica: PzpReplica, roots: Iterable[str]
) -> AsyncIterator[tuple[PzpSyncConnector, Told]]:
    told = Told()
    url, backoff = f"ws://127.0.0.1:{port}", Backoff(lambda: 0.0, min_s=0.001)
    caller = PzpSyncConnector(url, replica, lambda: roots, told, backoff=backoff)
    task = asyncio.create_task(caller.run())
    yield caller, told
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_two_daemons_become_alike_both_ways() -> None:
    here, there = world(1), world(2)
    one = here.fill(Replica(), here.posts[:20])
    other = there.fill(here.fill(Replica(), here.posts[:11]))
    async with listening(other) as (port, _, _), calling(port, one, [here.feed, there.feed]) as (_, told):
        await told.until(lambda: len(told.synced()) == 2)
    for feed in (here.feed, there.feed):
        assert one.whole(feed) == other.whole(feed)
    assert len(one.whole(there.feed)) == 31
    assert not one.refusals
    assert not other.refusals


async def test_who_shows_the_token_syncs_and_others_read_nothing(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    hut, token = authority.issue("hut"), tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    for file in (hut.key, token):
        file.chmod(0o600)
    guard = ListenerPolicy(certificate=hut.certificate, key=hut.key, token=token)
    here = world(5)
    other = here.fill(Replica())
    async with listening(other, [here.feed], guard=guard) as (port, _, listener):
        url = f"wss://127.0.0.1:{port}"
        trusting = Credentials(tls=True, authorities=authority.certificate)
        stranger = PzpSyncConnector(url, Replica(), list, print, trusting)
        assert "401" in await stranger.connect_once()
        assert (
            "no connection"
            in await PzpSyncConnector(f"ws://127.0.0.1:{port}", Replica(), list, print).connect_once()
        )
        assert not listener.links
        told, one = Told(), Replica()
        known = PzpSyncConnector(url, one, lambda: [here.feed], told, replace(trusting, token=token))
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(known.run())
            await told.until(lambda: bool(told.synced()))
            task.cancel()
    assert one.whole(here.feed) == set(here.ids())


async def test_a_listener_brings_what_only_it_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pzp_limits, "GATEWAY_LISTENER_WAIT_S", 0.0)
    here = world(3)
    held = Replica({here.feed: newest(3)}, default=NONE)
    async with listening(held, [here.feed]) as (port, told, _), calling(port, here.fill(Replica()), []):
        await told.until(lambda: bool(told.synced()))
    assert set(here.ids()[-2:]) < held.whole(here.feed) < set(here.ids())


async def test_news_are_synced_at_once_and_a_broken_connection_comes_back() -> None:
    here = world(4)
    one, other = here.fill(Replica(), here.posts[:5]), Replica()
    async with calling(1, one, [here.feed]) as (caller, told):
        async with listening(other) as (port, _, _):
            caller.url = f"ws://127.0.0.1:{port}"
            await told.until(lambda: len(told.synced()) == 1)
            for post in here.posts[5:]:
                one.add(here.feed, post)
            assert caller.link is not None
            caller.link.sync([here.feed])
            await told.until(lambda: len(told.synced()) == 2)
            assert other.whole(here.feed) == set(here.ids())
        fresh = Replica()
        async with listening(fresh, port=port):
            await told.until(lambda: len(told.synced()) == 3)
    assert fresh.whole(here.feed) == set(here.ids())
    assert caller.problem is not None


class Full(Replica):
    """A replica on a disk that is full."""

    def add(self, *_: object) -> MessageOutcome:
        raise LocalError("the disk is full")


async def test_what_this_machine_cannot_keep_ends_the_connection_and_is_said() -> None:
    here = world(1)
    async with listening(Full()) as (port, _, listener):
        caller = PzpSyncConnector(f"ws://127.0.0.1:{port}", here.fill(Replica()), lambda: [here.feed], print)
        await caller.connect_once()
    assert listener.problem == "the disk is full"


@pytest.mark.parametrize("said", ["text", b"nonsense"])
async def test_who_speaks_otherwise_is_hung_up_on(said: str | bytes) -> None:
    async with listening(Replica()) as (port, told, _):
        async with connect(f"ws://127.0.0.1:{port}", subprotocols=[SUBPROTOCOL], proxy=None) as stranger:
            await stranger.send(said)
            with pytest.raises(ConnectionClosed):
                async with asyncio.timeout(PATIENCE_S):
                    await stranger.recv()
        assert [type(event) for event in told.events] == [PzpSyncViolation] * isinstance(said, bytes)
        with pytest.raises(InvalidHandshake):
            await connect(f"ws://127.0.0.1:{port}", proxy=None)


@pytest.mark.parametrize(("spoken", "sizes"), [(SUBPROTOCOL, {16, 32}), (SUBPROTOCOL_1, {16})])
async def test_a_peer_of_the_version_before_is_asked_for_no_tangle_of_v4(
    spoken: Subprotocol, sizes: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pzp_limits, "GATEWAY_LISTENER_WAIT_S", 0.0)
    roots = [base58.encode(bytes([size]) * size) for size in (32, 16)]
    async with listening(Replica(), roots) as (port, _, _):
        url = f"ws://127.0.0.1:{port}"
        async with connect(url, subprotocols=[spoken], proxy=None) as peer, asyncio.timeout(PATIENCE_S):
            found = [parse_packet(await peer.recv(decode=False)) for _ in sizes]
            assert {len(base58.decode(packet.of.root)) for packet in found} == sizes


async def test_web_pages_do_not_reach_it() -> None:
    async with listening(Replica()) as (port, _, listener):
        with pytest.raises(InvalidStatus, match="403"):
            await connect(
                f"ws://127.0.0.1:{port}",
                origin=Origin("https://evil.example"),
                subprotocols=[SUBPROTOCOL],
                proxy=None,
            )
        assert not listener.links


async def test_there_are_only_so_many_peers() -> None:
    async with listening(Replica(), peers=1) as (port, _, listener):
        url = f"ws://127.0.0.1:{port}"
        async with connect(url, subprotocols=[SUBPROTOCOL], proxy=None) as first:
            with pytest.raises(InvalidStatus, match="503"):
                await connect(url, subprotocols=[SUBPROTOCOL], proxy=None)
            await first.ping()
            assert len(listener.links) == 1


async def test_a_caller_says_what_is_wrong() -> None:
    async def silent(connection: ServerConnection) -> None:
        await connection.wait_closed()

    caller = PzpSyncConnector("ws://127.0.0.1:1", Replica(), list, print)
    assert "no connection" in await caller.connect_once()
    async with serve(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        caller = PzpSyncConnector(f"ws://127.0.0.1:{port}", Replica(), list, print)
        assert "does not speak pzp-sync-2 or pzp-sync-1" in await caller.connect_once()


async def test_databases_in_files_become_alike(tmp_path: Path) -> None:
    here = world(5)
    with (
        closing(PzpDatabase(SqlitePzpRows.open(tmp_path / "one"))) as one,
        closing(PzpDatabase(SqlitePzpRows.open(tmp_path / "other"))) as other,
    ):
        for added in (*here.identity, *here.posts):
            one.add(dict(added), wall_us=1)
        held = pzp_replica.DatabaseReplica(one, lambda: 1)
        wanting = pzp_replica.DatabaseReplica(other, lambda: 2, default=ALL)
        async with listening(held) as (port, _, _), calling(port, wanting, [here.feed]) as (_, told):
            await told.until(lambda: told.synced() == [here.feed])
        assert other.tangle(here.feed).topological() == one.tangle(here.feed).topological()
        assert other.tangle(here.group).keys == one.tangle(here.group).keys


async def test_accounts_of_v4_are_synced_with_the_removal_of_a_key(tmp_path: Path) -> None:
    with (
        closing(PzpDatabase(SqlitePzpRows.open(tmp_path / "one"))) as one,
        closing(PzpDatabase(SqlitePzpRows.open(tmp_path / "other"))) as other,
    ):
        account = one.create_identity(ALICE, "x", wall_us=1)
        one.add_key(ALICE, account, public(BOB), consent=write_consent(BOB, account), wall_us=1)
        for key in (ALICE, BOB, ALICE):
            one.write(key, {"by": public(key)}, "post", account, wall_us=1)
        feed = message.feed_id(V4.fields, account, "post")
        held = pzp_replica.DatabaseReplica(one, lambda: 1)
        wanting = pzp_replica.DatabaseReplica(other, lambda: 2, default=ALL)
        async with listening(held) as (port, _, _), calling(port, wanting, [feed]) as (_, told):
            await told.until(lambda: told.synced() == [feed])
        assert other.tangle(feed).topological() == one.tangle(feed).topological()
        late = other.write(BOB, {"by": "bob, who does not know yet"}, "post", account, wall_us=1)
        remove_key(one, ALICE, account, public(BOB), wall_us=1)
        held = pzp_replica.DatabaseReplica(one, lambda: 1, default=ALL)
        async with listening(held) as (port, _, _), calling(port, wanting, [account, feed]) as (_, told):
            await told.until(lambda: len(told.synced()) == 2)
        for database in (one, other):
            assert len(database.tangle(feed)) == 5
            assert Revocations(database).is_revoked(need(database.record(late)))
