"""Feed sync over WebSocket between gateways (docs/formats/feed-sync.md): the shell around ``FeedSync``.

Both sides are given ``FeedSyncParty``s: what is stored of a network, wanted and offered, and where received data
goes.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from secrets import token_bytes
from typing import Final

from websockets.asyncio.connection import Connection
from websockets.asyncio.server import Server, ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.control.rows import BroughtRow
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.access import ListenerPolicy
from tinyssb_node.faces.ws_access import WsListenerAccess, WsProtocol, WsService, call, drop
from tinyssb_node.ids import FeedId, NetworkName
from tinyssb_node.islands.feedsync import limits as sync_limits
from tinyssb_node.islands.feedsync.handshake import Handshake
from tinyssb_node.islands.feedsync.packets import FeedSyncPacketError
from tinyssb_node.islands.feedsync.port import FeedSource
from tinyssb_node.islands.feedsync.sync import (
    FeedDataReceived,
    FeedSync,
    FeedSyncCounters,
    FeedSyncViolation,
)
from tinyssb_node.islands.relay.messages import RelayEnd

SUBPROTOCOL: Final = Subprotocol("tinyssb-feeds-1")
"""The subprotocol that both sides need."""
PATH: Final = "/feeds"
"""The path of the WebSocket."""
# 4 packets read ahead of storing are 60 kB; more wait at the sender.
_PROTOCOL: Final = WsProtocol(
    size_max=sync_limits.PACKET_SIZE_MAX, queue=4, subprotocols=(SUBPROTOCOL,), path=PATH
)
_RELAY_FAULTS: Final = frozenset({RelayEnd.QUOTA, RelayEnd.REPLACED})
KINDLY: Final = frozenset({"Forked", "full", "no shelf", "not wanted", "not in the set", "not on the shelf"})
"""Reasons for which the daemon refuses valid data; all others mean that the peer lies."""


def relay_end(closed: BaseException) -> RelayEnd | None:
    """Return why a relay ended a connection; None: for no reason of a relay's."""
    if not isinstance(closed, ConnectionClosed) or closed.rcvd is None:
        return None
    return RelayEnd(closed.rcvd.code) if closed.rcvd.code in _RELAY_ENDS else None


_RELAY_ENDS: Final = frozenset(RelayEnd)


@dataclass(frozen=True, slots=True)
class FeedSyncParty:
    """One side of a link, for one network."""

    name: NetworkName
    """The user's name of the network."""
    network: Network
    holding: FeedSource
    """The stored feeds, as they are at each moment."""
    wanted: Callable[[], Collection[FeedId]]
    """Returns the feeds that are wanted now."""
    offered: Callable[[], Collection[FeedId]]
    """Returns the feeds that are offered now."""
    bring: Callable[[FeedId, Sequence[bytes]], Awaitable[BroughtRow]]
    """Stores received packets (``BringClient.bring``). Raises LocalErrors."""


class FeedSyncConnection:
    """One connection that is open, with the sync over it."""

    def __init__(
        self, connection: Connection, sides: Sequence[FeedSyncParty], *, caller: bool, relayed: bool = False
    ) -> None:
        """*sides*: one for each network it may be about; the *caller* has one. *relayed*: a relay joined two
        connections, and this one leads to it."""
        self._connection = connection
        self._sides = sides
        self._caller = caller
        self.address: tuple[str, int] = connection.remote_address[:2]
        """Host and port of the other side, or of the relay."""
        self.relayed = relayed
        self._sync: FeedSync | None = None
        self._work = asyncio.Event()
        self._left: set[FeedId] = set()
        """Feeds without room or use: not requested any more over this connection."""
        self.side: FeedSyncParty | None = None
        """The side of its network, once that is known."""
        self.got: Counter[FeedId] = Counter()
        """New entries and chunks that were stored, by feed."""
        self.lied: bool = False
        """The peer sent data that cannot pass verification, or broke the protocol."""
        self.excused: bool = False
        """It ended by a local fault: our daemon or our disk does not work."""

    @property
    def counts(self) -> FeedSyncCounters:
        """Traffic of the connection."""
        return FeedSyncCounters() if self._sync is None else self._sync.counts

    def refresh(self) -> None:
        """Read again which feeds are wanted and offered."""
        if self._sync is not None and self.side is not None:
            self._sync.want(feed for feed in self.side.wanted() if feed not in self._left)
            self._sync.offer(self.side.offered())
            self._work.set()

    def leave(self, feeds: Iterable[FeedId]) -> None:
        """Stop requesting these feeds, until ``refresh`` finds them wanted again."""
        if self._sync is not None:
            self._sync.leave(feeds)
            self._work.set()

    def changed(self, feeds: Iterable[FeedId]) -> None:
        """Note that these feeds have grown here, or turned out to be forked."""
        if self._sync is not None:
            self._sync.changed(feeds)
            self._work.set()

    async def run(self) -> str:
        """Exchange packets until the connection ends. Return why it ended, in words."""
        try:
            async with asyncio.TaskGroup() as tasks:
                async with asyncio.timeout(limits.WS_OPEN_S):
                    sync = await self._meet()
                writing = tasks.create_task(self._write(sync))
                reason = await self._read(sync)
                writing.cancel()
        except* ConnectionClosed as closed:
            reason = f"the connection broke: {closed.exceptions[0]}"
            # The other side can do nothing about it.
            self.excused = self.relayed and relay_end(closed.exceptions[0]) in _RELAY_FAULTS
        except* FeedSyncPacketError as wrong:
            self.lied, reason = True, str(wrong.exceptions[0])
        except* TimeoutError:
            reason = "the other side sends no handshake"
        except* LocalError as ours:
            self.excused, reason = True, str(ours.exceptions[0])
        finally:
            drop(self._connection)
        return reason

    async def _meet(self) -> FeedSync:
        networks = [side.network for side in self._sides]
        greeting = Handshake(networks, caller=self._caller, nonce=token_bytes(sync_limits.NONCE_SIZE))
        while True:
            for packet in greeting.packets():
                await self._connection.send(packet)
            if greeting.met is not None:
                break
            greeting.receive(await self._packet())
        self.side = self._sides[greeting.met.network]
        self._sync = FeedSync(self.side.holding, greeting.met.salt)
        self.refresh()
        return self._sync

    async def _packet(self) -> bytes:
        data = await self._connection.recv()
        if isinstance(data, str):
            raise FeedSyncPacketError("it is text")
        return data

    async def _read(self, sync: FeedSync) -> str:
        while True:
            sync.receive(await self._packet())
            self._work.set()
            events = sync.events()
            for given in [event for event in events if isinstance(event, FeedDataReceived)]:
                await self._take(sync, given)
            for broken in [
                event for event in (*events, *sync.events()) if isinstance(event, FeedSyncViolation)
            ]:
                self.lied = True
                return broken.why

    async def _take(self, sync: FeedSync, given: FeedDataReceived) -> None:
        """Let the daemon store received data, before more is read."""
        assert self.side is not None
        brought = await self.side.bring(given.feed, given.packets)
        self.got[given.feed] += brought.entries + brought.chunks
        if (refused := brought.refused) is not None:
            if refused.reason in KINDLY:
                self._left.add(given.feed)
            else:
                sync.refused(given.feed, refused.reason)
        # Evicted feeds must not come again at once: they would evict each other.
        self._left.update(FeedId.from_hex(feed) for feed in brought.dropped)
        self.leave(self._left)
        sync.changed([given.feed])
        self._work.set()

    async def _write(self, sync: FeedSync) -> None:
        while True:
            while (packet := sync.next_packet()) is not None:
                await self._connection.send(packet)
            self._work.clear()
            await self._work.wait()


class FeedSyncListener:
    """Listener that syncs with every peer that connects."""

    def __init__(
        self,
        sides: Callable[[], Sequence[FeedSyncParty]],
        *,
        peers: int,
        each: int | None = None,
        beside: Sequence[WsService] = (),
        ended: Callable[[FeedSyncConnection, str], None] = lambda _link, _why: None,
    ) -> None:
        """Sync the networks of *sides* with at most *peers* at a time, and *each* from one address; *beside* are the
        other protocols of the port. *ended* is called with the reason when a link ends."""
        self._sides = sides
        ours = WsService(protocol=_PROTOCOL, handler=self._serve, places=peers, each=each)
        self._services = [ours, *beside]
        bounds = [one.each for one in self._services if one.each is not None]
        each_of_all = sum(bounds) if len(bounds) == len(self._services) else None
        places = sum(one.places for one in self._services)
        self._door = WsListenerAccess(ListenerPolicy(each=each_of_all), places)
        self._ended = ended
        self.links: set[FeedSyncConnection] = set()
        """Connections that are open."""

    async def open(self, host: str, port: int, context: ssl.SSLContext | None = None) -> list[Server]:
        """Accept connections until the servers are closed, one server for each address of *host*; with a *context* over
        TLS. Raises OSError."""
        return await self._door.serve_all(host, port, self._services, tls=context)

    async def _serve(self, connection: ServerConnection) -> None:
        await self.serve(FeedSyncConnection(connection, self._sides(), caller=False))

    async def serve(self, link: FeedSyncConnection) -> None:
        """Sync over *link* until it ends."""
        self.links.add(link)
        reason = "this side went away"
        try:
            reason = await link.run()
        finally:
            self.links.discard(link)
            self._ended(link, reason)


async def open_link(
    url: str, side: FeedSyncParty, context: ssl.SSLContext | None = None, *, local: str | None = None
) -> FeedSyncConnection:
    """Connect to the gateway at *url*, ``ws://host:port/feeds`` or ``wss:`` with *context*. The caller runs the link.
    *local* is our address to call from; None: the system chooses. Raises CallFailedError."""
    connection = await call(url, _PROTOCOL, context, local=local)
    return FeedSyncConnection(connection, [side], caller=True)
