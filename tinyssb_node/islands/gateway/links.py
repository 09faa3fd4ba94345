"""Connections to other gateways, outgoing and incoming: which are made, which are ended, and why."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from random import SystemRandom
from typing import NamedTuple

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import Server

from tinyssb_node.control.rows import BroughtRow
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.renewed import RenewedFiles
from tinyssb_node.faces.ws_access import CallFailedError
from tinyssb_node.ids import FeedId, NetworkName
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.config import GatewayConfig
from tinyssb_node.islands.gateway.datagrams import ALL_ADDRESSES, EXHAUSTED, WITHOUT_IPV6
from tinyssb_node.islands.gateway.feed_search import ConnectionCandidate
from tinyssb_node.islands.gateway.feed_sync_ws import (
    KINDLY,
    PATH,
    FeedSyncConnection,
    FeedSyncListener,
    FeedSyncParty,
    open_link,
)
from tinyssb_node.islands.gateway.network import GatewayNetwork, HoldingChanges
from tinyssb_node.islands.gateway.relay_ws import (
    RelayBusyError,
    RelayedNode,
    RelayListener,
    call_by_relay,
    dial_relay,
)
from tinyssb_node.islands.gateway.rows import LinkRow, RelayRow
from tinyssb_node.islands.locator.addresses import (
    ContactAddress,
    node_of,
    relayed,
    split_relayed,
    text_of,
)
from tinyssb_node.islands.locator.limits import IPV4_SIZE


class TrustedGateways(NamedTuple):
    """TLS contexts for gateways with certificates of trusted authorities."""

    listening: ssl.SSLContext
    calling: RenewedFiles[ssl.SSLContext]


def load_trusted_gateways(settings: GatewayConfig) -> TrustedGateways | None:
    """Load the TLS files of the settings; None if there are none. Raises CertificateError and its kin."""
    if settings.cert_file is None or settings.key_file is None or settings.ca_file is None:
        return None
    from tinyssb_node.faces.tls import client_context, server_context  # noqa: PLC0415 - most gateways do without

    authorities, certificate, key = settings.ca_file, settings.cert_file, settings.key_file

    def load() -> ssl.SSLContext:
        calling = client_context(authorities=authorities, certificate=certificate, key=key)
        # Gateways have changing addresses and no names: a certificate of a trusted authority is enough.
        calling.check_hostname = False
        return calling

    listening = server_context(certificate, key, clients=authorities)
    return TrustedGateways(listening, RenewedFiles((authorities, certificate, key), load))


@dataclass(slots=True)
class _Called:
    """An outgoing connection, open or being opened."""

    island: GatewayNetwork
    why: ConnectionCandidate
    held: int
    """Entries of the feed stored here when it was called."""
    since_us: int
    task: asyncio.Task[None] | None = None
    link: FeedSyncConnection | None = None
    """None while there is no connection yet."""
    got: int = 0
    """New packets of the feed at the last check."""
    progress_us: int = 0
    """When that number last grew."""


class GatewayLinks:
    """All connections of the gateway."""

    def __init__(
        self,
        islands: Mapping[NetworkName, GatewayNetwork],
        sides: Mapping[NetworkName, FeedSyncParty],
        tell: Callable[[str, str], None],
        now_us: Callable[[], int],
        circle: TrustedGateways | None = None,
        *,
        relay: RelayListener | None = None,
    ) -> None:
        """Connect *islands* to others, with the *sides* of the sync. *tell* is called with the address and the reason
        when a connection ends or fails. *circle*: use TLS. *relay*: join others that cannot be reached."""
        self._islands = islands
        self._sides = {name: replace(side, bring=self._excusing(side)) for name, side in sides.items()}
        self._circle = circle
        self._tell = tell
        self._now_us = now_us
        self._listener = FeedSyncListener(
            lambda: list(self._sides.values()),
            peers=limits.CALLERS_MAX,
            each=4,  # from one address: a network each, or a few gateways behind one router
            beside=() if relay is None else (relay.service,),
            ended=self._caller_left,
        )
        self._relay = relay
        self._hidden = {name: self._relayed_node(island) for name, island in islands.items()}
        self._servers: list[Server] = []
        self._called: dict[tuple[NetworkName, ContactAddress], _Called] = {}
        self._rest: dict[tuple[NetworkName, ContactAddress], int] = {}
        """Until when locations are not called again."""
        self._waited: dict[tuple[NetworkName, ContactAddress], int] = {}
        """Until when locations are not called because they called us, while connected."""
        self._since_us: dict[FeedSyncConnection, int] = {}
        """Incoming connections, and since when they are open."""
        self._local: str | None = None
        """Our address for outgoing calls: the one we listen on, so that others recognize it."""
        self.port = 0
        """The port that is listened on."""

    # --- open and close

    async def open(self, host: str, port: int) -> None:
        """Listen for others. Raises OSError."""
        # A socket of IPv6 for all addresses takes none of IPv4: asyncio says so to the system.
        for each in ["0.0.0.0", ALL_ADDRESSES] if host == ALL_ADDRESSES else [host]:  # noqa: S104 - as the settings say
            context = None if self._circle is None else self._circle.listening
            try:
                self._servers += await self._listener.open(each, self.port or port, context)
            except OSError as error:
                if not self._servers or error.errno not in WITHOUT_IPV6:
                    raise
                break  # a system without IPv6
            bound, self.port = next(iter(self._servers[-1].sockets)).getsockname()[:2]
            self._local = bound if any(node_of(bound)) else None

    async def close(self) -> None:
        """Close all connections."""
        tasks = [called.task for called in self._called.values() if called.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(
            *tasks, *(node.close() for node in self._hidden.values()), return_exceptions=True
        )
        for server in self._servers:
            server.close()
            await server.wait_closed()
        self._servers.clear()
        if self._relay is not None:
            await self._relay.close()

    # --- relays

    def _relayed_node(self, island: GatewayNetwork) -> RelayedNode:
        """Return how we are called by relays, where we cannot be reached."""

        async def called(connection: ClientConnection) -> None:
            side = self._sides[island.name]
            await self._listener.serve(FeedSyncConnection(connection, [side], caller=False, relayed=True))

        return RelayedNode(
            island.group,
            self._dial,
            called,
            lambda places: island.relayed(places, self._now_us()),
            self._tell,
            self._now_us,
            SystemRandom().random,
        )

    async def _dial(self, relay: ContactAddress) -> ClientConnection:
        """Connect to a relay, which may be our own. Raises CallFailedError."""
        context = self._calling()
        if any(island.is_ours(relay.node) for island in self._islands.values()):
            return await dial_relay(relay, context, host=self._local or "127.0.0.1")
        return await dial_relay(relay, context, local=self._from(relay))

    def relays(self, network: NetworkName) -> list[str]:
        """Return our locations at relays, as text."""
        return [text_of(place.node, place.connection) for place in self._hidden[network].places]

    def relay_row(self) -> RelayRow | None:
        """Return the state of the relay of ours, if there is one."""
        return None if self._relay is None else self._relay.row()

    def _look_for_relays(self, now_us: int) -> None:
        if self._relay is not None:
            self._relay.look()
        for name, node in self._hidden.items():
            island = self._islands[name]
            if island.needs_relays(now_us):
                peers = island.reachable_peers()
                # Others reach a relay by IPv4 most likely.
                node.look([peer for peer in peers if len(peer.node) == IPV4_SIZE] or peers)
            else:
                node.leave()

    # --- outgoing connections

    @property
    def room(self) -> int:
        """How many more outgoing connections are allowed."""
        return limits.CALLS_MAX - len(self._called)

    def linked(self, network: NetworkName) -> set[ContactAddress]:
        """Return the locations with outgoing connections."""
        return {place for name, place in self._called if name == network}

    def look(self, now_us: int) -> None:
        """Close connections that do not keep their promises, and open those that are worth it."""
        self._rest = {place: until for place, until in self._rest.items() if until > now_us}
        self._waited = {
            (name, place): until
            for (name, place), until in self._waited.items()
            if self._callers(name, place.node)
        }
        for link in self._listener.links:
            self._since_us.setdefault(link, now_us)
        self._look_for_relays(now_us)
        for called in tuple(self._called.values()):
            self._check(called, now_us)
        for name, island in self._islands.items():
            linked = self.linked(name)
            linked |= {
                place for (each, place), until in self._waited.items() if each == name and until > now_us
            }
            resting = {place for each, place in self._rest if each == name}
            for why in island.calls(linked, self.room, now_us, resting=resting):
                if not self._is_here(name, why, now_us):
                    self._call(island, why, now_us)

    def _is_here(self, name: NetworkName, why: ConnectionCandidate, now_us: int) -> bool:
        """Return True if that address called us: for a while, it may send what it has over that connection."""
        if not self._callers(name, why.place.node):
            return False
        key = (name, why.place)
        if why.newer and key in self._waited:
            return False
        self._waited[key] = now_us + limits.PROMISE_US
        return True

    def _callers(self, name: NetworkName, node: bytes) -> bool:
        return any(
            link.side is not None and link.side.name == name and _node(link) == node
            for link in self._listener.links
        )

    def _call(self, island: GatewayNetwork, why: ConnectionCandidate, now_us: int) -> None:
        held = island.held(why.feed)
        called = _Called(island, why, held, now_us, progress_us=now_us)
        self._called[island.name, why.place] = called
        called.task = asyncio.create_task(self._talk(called))

    async def _talk(self, called: _Called) -> None:
        """Connect, sync until the connection ends, and judge the location."""
        island, place = called.island, called.why.place
        where = text_of(place.node, place.connection)
        try:
            called.link = await self._open_link(island, place)
            called.progress_us = self._now_us()
            reason = await called.link.run()
            self._tell(where, reason)
            now_us = self._now_us()
            vain = self._owes(called) or now_us - called.since_us < limits.SETTLED_US
            island.seeking.lost(place, now_us)
            if called.link.lied or (vain and not called.link.excused):
                island.failed(place, now_us)
        except RelayBusyError as error:
            self._tell(where, str(error))
        except CallFailedError as error:
            self._tell(where, str(error))
            cause = error.__cause__
            if not (isinstance(cause, OSError) and cause.errno in EXHAUSTED):
                island.failed(place, self._now_us())
        except Exception as error:
            # A fault of this program that the location may cause: it must not do so every half minute.
            self._tell(where, f"a fault of this program: {error!r}")
            island.failed(place, self._now_us())
            raise
        finally:
            del self._called[island.name, place]
            self._rest[island.name, place] = self._now_us() + limits.CALL_AGAIN_US

    async def _open_link(self, island: GatewayNetwork, place: ContactAddress) -> FeedSyncConnection:
        """Connect to *place*, by its relay if it has one. Raises CallFailedError."""
        side = self._sides[island.name]
        if split_relayed(place.node)[1]:
            connection = await self._call_by_relay(island, place)
            return FeedSyncConnection(connection, [side], caller=True, relayed=True)
        context = self._calling()
        url = f"{'ws' if context is None else 'wss'}://{text_of(place.node, place.connection)}{PATH}"
        return await open_link(url, side, context, local=self._from(place))

    async def _call_by_relay(self, island: GatewayNetwork, place: ContactAddress) -> ClientConnection:
        """Call the node at *place*: by its relay, or if there is no route to that one, by others, of which one may be
        the same relay at its address of the other family. Raises CallFailedError."""
        node, handle = split_relayed(place.node)
        if island.has_route(node):
            return await call_by_relay(self._dial, place, island.group)
        others = [one for one in island.reachable_peers() if island.has_route(one.node)]
        error = CallFailedError("there is no route to the relay's address, nor a peer that is the same relay")
        for other in others[: limits.OTHER_RELAYS_MAX]:
            try:
                return await call_by_relay(self._dial, relayed(other, handle), island.group)
            except CallFailedError as failed:
                error = failed
        raise error

    def _calling(self) -> ssl.SSLContext | None:
        """Return the TLS settings with which we call, as the files are now; None for no TLS."""
        return None if self._circle is None else self._circle.calling.current()

    def _from(self, place: ContactAddress) -> str | None:
        """Return our address to call *place* from, if it is of the same family."""
        local = self._local
        return local if local is not None and len(node_of(local)) == len(place.node) else None

    def _check(self, called: _Called, now_us: int) -> None:
        """Close the connection if a promise was not kept, or if there are two to the same gateway."""
        link, task = called.link, called.task
        if link is None or task is None:
            return
        name, place = called.island.name, called.why.place
        if link.got[called.why.feed] > called.got:
            called.got, called.progress_us = link.got[called.why.feed], now_us
        if self._owes(called):
            if now_us - called.progress_us > limits.PROMISE_US:
                self._tell(text_of(place.node, place.connection), "it sends nothing of what it promised")
                called.island.failed(place, now_us)
                task.cancel()
        elif called.island.address_like(place.node) > place.node and self._callers(name, place.node):
            # Both called at once. One connection is enough, and both sides choose the same (tie-break).
            self._waited[name, place] = now_us + limits.PROMISE_US
            task.cancel()

    def _excusing(self, side: FeedSyncParty) -> Callable[[FeedId, Sequence[bytes]], Awaitable[BroughtRow]]:
        """Return a ``bring`` that reports failures, and remembers feeds not to be fetched."""

        async def bring(feed: FeedId, packets: Sequence[bytes]) -> BroughtRow:
            try:
                brought = await side.bring(feed, packets)
            except LocalError as error:
                self._tell("daemon", str(error))
                raise
            if (refused := brought.refused) is not None and refused.reason in KINDLY:
                self._islands[side.name].refrain(feed, self._now_us())
            for gone in brought.dropped:
                self._islands[side.name].refrain(FeedId.from_hex(gone), self._now_us())
            return brought

        return bring

    @staticmethod
    def _owes(called: _Called) -> bool:
        """Return True if it promised more than it has sent, and that is still wanted."""
        island, why = called.island, called.why
        if not why.newer or why.feed not in island.seeking.feeds:
            return False
        if why.seq > called.held:
            return island.held(why.feed) < why.seq
        return not called.got and (called.link is None or not called.link.got[why.feed])

    # --- changes here

    def changed(self, network: NetworkName, changes: HoldingChanges) -> None:
        """Pass changes of stored and wanted feeds to all connections."""
        for link in self._of(network):
            link.leave(changes.gone)
            link.refresh()
            link.changed(changes.feeds)

    def _of(self, network: NetworkName) -> Sequence[FeedSyncConnection]:
        links = [*self._listener.links, *(called.link for called in self._called.values() if called.link)]
        return [link for link in links if link.side is not None and link.side.name == network]

    def _caller_left(self, link: FeedSyncConnection, reason: str) -> None:
        self._since_us.pop(link, None)
        self._tell(_where(link), reason)

    # --- status

    def rows(self, now_us: int) -> list[LinkRow]:
        """Return the connections for the status."""
        rows = [
            _row(called.link, called.why.feed, now_us - called.since_us)
            for called in self._called.values()
            if called.link is not None and called.link.side is not None
        ]
        callers = [link for link in self._listener.links if link.side is not None]
        return rows + [_row(link, None, now_us - self._since_us.get(link, now_us)) for link in callers]


def _row(link: FeedSyncConnection, why: FeedId | None, up_us: int) -> LinkRow:
    assert link.side is not None, "others are not shown"
    counts = link.counts
    return LinkRow(
        network=link.side.name,
        address=_where(link),
        called=why is not None,
        feed=None if why is None else why.hex(),
        up_us=up_us,
        got=counts.got,
        given=counts.given,
        received_bytes=counts.received_bytes,
        sent_bytes=counts.sent_bytes,
        relayed=link.relayed,
    )


def _where(link: FeedSyncConnection) -> str:
    host, port = link.address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _node(link: FeedSyncConnection) -> bytes:
    """Return the node address of the other side, as in the locator; empty if it has none, or a relay is between."""
    if link.relayed:
        return b""
    with suppress(ValueError):
        return node_of(link.address[0])
    return b""
