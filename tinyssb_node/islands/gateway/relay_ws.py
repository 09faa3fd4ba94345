"""Relays over WebSocket (docs/formats/relay.md): the shell around ``RelayService``, and the use of others' relays."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from secrets import token_bytes
from typing import Final

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from tinyssb_node.faces.access import owner_of
from tinyssb_node.faces.ws_access import CallFailedError, WsProtocol, WsService, call, drop
from tinyssb_node.islands.feedsync.limits import PACKET_SIZE_MAX
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.feed_sync_ws import relay_end
from tinyssb_node.islands.gateway.rows import RelayRow
from tinyssb_node.islands.locator.addresses import ContactAddress, split_relayed, text_of
from tinyssb_node.islands.relay import limits as relay_limits
from tinyssb_node.islands.relay.messages import (
    RelayAccept,
    RelayCall,
    RelayCalled,
    RelayEnd,
    RelayJoined,
    RelayMessageError,
    RelayRegister,
    RelayRegistered,
    RelayReply,
    RelayRequest,
    parse_relay_reply,
    serialize_relay,
)
from tinyssb_node.islands.relay.registrations import RelayRegistrations
from tinyssb_node.islands.relay.service import RelayEffect, RelayService, SendRelayed

RELAY_PATH: Final = "/relay"
"""The path of the WebSocket."""
RELAY_SUBPROTOCOL: Final = Subprotocol("tinyssb-relay-1")
"""The subprotocol that both sides need."""
_PROTOCOL: Final = WsProtocol(
    size_max=PACKET_SIZE_MAX, queue=4, subprotocols=(RELAY_SUBPROTOCOL,), path=RELAY_PATH
)
_BUSY: Final = frozenset({RelayEnd.FULL, RelayEnd.QUOTA})


class RelayBusyError(CallFailedError):
    """A relay that has no place or no bytes left for now: the node behind it is not to blame."""


class RelayListener:
    """The relay of this gateway, at the port of its other connections."""

    def __init__(self, groups: Collection[bytes], quota: int, now_us: Callable[[], int]) -> None:
        """Join nodes of the networks with these group identifiers, for *quota* bytes an hour."""
        self._now_us = now_us
        self._relay = RelayService(groups, token_bytes, quota, now_us())
        self._connections: dict[int, ServerConnection] = {}
        self._count = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def service(self) -> WsService:
        """The protocol, for a listener."""
        return WsService(
            protocol=_PROTOCOL,
            handler=self._serve,
            places=relay_limits.CONNECTIONS_MAX,
            each=relay_limits.CONNECTIONS_EACH_MAX,
        )

    def look(self) -> None:
        """End what has waited too long; called once a second."""
        if effects := self._relay.look(self._now_us()):
            self._later(self._perform(effects))

    def row(self) -> RelayRow:
        """Return its state for the status."""
        relay, now_us = self._relay, self._now_us()
        relay.quota.left("", now_us)  # begins an hour that is due
        return RelayRow(
            registered=relay.registered,
            registered_max=relay_limits.REGISTERED_MAX,
            pairs=relay.pairs,
            pairs_max=relay_limits.PAIRS_MAX,
            used_bytes=relay.quota.used,
            quota_bytes=relay.quota.most,
            refused=relay.refused,
            refused_bytes=relay.refused_bytes,
            refused_ago_us=None if relay.refused_us is None else now_us - relay.refused_us,
        )

    async def close(self) -> None:
        """End what is being closed."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, connection: ServerConnection) -> None:
        self._count += 1
        number = self._count
        self._connections[number] = connection
        self._relay.opened(number, owner_of(str(connection.remote_address[0])), self._now_us())
        try:
            async for data in connection:
                known = data if isinstance(data, bytes) else b""  # text is no message
                await self._perform(self._relay.receive(number, known, self._now_us()))
        except ConnectionClosed:
            pass  # as connections end
        finally:
            del self._connections[number]
            await self._perform(self._relay.closed(number))
            drop(connection)

    async def _perform(self, effects: Sequence[RelayEffect]) -> None:
        for effect in effects:
            if isinstance(effect, SendRelayed):
                if (connection := self._connections.get(effect.to)) is not None:
                    with suppress(ConnectionClosed):
                        # A slow reader slows down the one who sends.
                        await connection.send(effect.data)
            elif (connection := self._connections.get(effect.connection)) is not None:
                self._later(connection.close(effect.reason, effect.reason.name.lower()))

    def _later(self, what: Awaitable[None]) -> None:
        task = asyncio.ensure_future(what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


Dial = Callable[[ContactAddress], Awaitable[ClientConnection]]
"""Connects to the relay of a gateway. Raises CallFailedError."""


async def dial_relay(
    relay: ContactAddress,
    context: ssl.SSLContext | None,
    *,
    host: str | None = None,
    local: str | None = None,
) -> ClientConnection:
    """Connect to the *relay*; at *host* if that is our own one. Raises CallFailedError."""
    where = text_of(relay.node, relay.connection)
    if host is not None:
        port = int.from_bytes(relay.connection, "big")
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    scheme = "ws" if context is None else "wss"
    return await call(f"{scheme}://{where}{RELAY_PATH}", _PROTOCOL, context, local=local)


async def call_by_relay(dial: Dial, place: ContactAddress, group: bytes) -> ClientConnection:
    """Call the node at *place* by its relay. Return a connection that leads to it. Raises CallFailedError."""
    node, handle = split_relayed(place.node)
    connection = await dial(ContactAddress(node, place.message, place.connection))
    return await _joined(connection, RelayCall(group, handle))


async def _joined(connection: ClientConnection, request: RelayRequest) -> ClientConnection:
    """Send *request*, and wait until the other side is there. Raises CallFailedError."""
    try:
        # The called node may take as long as a relay waits for it, and then our own delay comes on top.
        async with asyncio.timeout(relay_limits.CALL_WAIT_US / 1e6 + limits.RELAY_MARGIN_S):
            await connection.send(serialize_relay(request))
            await _wait_joined(connection)
    except BaseException as error:
        drop(connection)
        end = relay_end(error)
        if end in _BUSY:
            raise RelayBusyError(f"the relay {end.words}") from error
        if isinstance(error, ConnectionClosed | TimeoutError | RelayMessageError):
            why = "no answer in time" if isinstance(error, TimeoutError) else str(error)
            raise CallFailedError(f"no connection by the relay: {why}") from error
        raise
    return connection


async def _wait_joined(connection: Connection) -> None:
    if not isinstance(await _reply(connection), RelayJoined):
        raise RelayMessageError("a relay answers a call by something else")


async def _reply(connection: Connection) -> RelayReply:
    data = await connection.recv()
    return parse_relay_reply(data if isinstance(data, bytes) else b"")


class RelayedNode:
    """This gateway, where it cannot be reached: registered at relays of one network, and called by them."""

    def __init__(
        self,
        group: bytes,
        dial: Dial,
        called: Callable[[ClientConnection], Awaitable[None]],
        placed: Callable[[tuple[ContactAddress, ...]], None],
        tell: Callable[[str, str], None],
        now_us: Callable[[], int],
        entropy: Callable[[], float],
    ) -> None:
        """*dial* connects to relays. *called* runs a connection that leads to a node which called us, *placed* gets our
        locations when they change, *tell* an address and what went wrong there."""
        self._group = group
        self._dial = dial
        self._called = called
        self._placed = placed
        self._tell = tell
        self._now_us = now_us
        self._secret = token_bytes(relay_limits.SECRET_SIZE)
        self._registrations = RelayRegistrations(entropy)
        self._stays: dict[ContactAddress, asyncio.Task[None]] = {}
        self._calls: set[asyncio.Task[None]] = set()

    @property
    def places(self) -> tuple[ContactAddress, ...]:
        """Our locations at relays."""
        return self._registrations.places

    def look(self, peers: Sequence[ContactAddress]) -> None:
        """Register at some of *peers*, if relays are missing; called once a second, and not by a node that can be
        reached."""
        for relay in self._registrations.choose(peers, self._now_us()):
            self._stays[relay] = asyncio.create_task(self._stay(relay))

    def leave(self) -> None:
        """Leave all relays: others can reach us."""
        for task in self._stays.values():
            task.cancel()

    async def close(self) -> None:
        """End all connections."""
        tasks = [*self._stays.values(), *self._calls]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _stay(self, relay: ContactAddress) -> None:
        """Register at *relay*, and accept calls until the connection ends."""
        where = text_of(relay.node, relay.connection)
        try:
            connection = await self._dial(relay)
            try:
                await connection.send(serialize_relay(RelayRegister(self._group, self._secret)))
                while True:
                    self._take(relay, await _reply(connection))
            finally:
                drop(connection)
        except (CallFailedError, ConnectionClosed, RelayMessageError) as error:
            end = relay_end(error)
            self._tell(where, f"no relay: {error}" if end is None else f"the relay {end.words}")
        finally:
            del self._stays[relay]
            had = self.places
            self._registrations.lost(relay, self._now_us())
            if had != self.places:
                self._placed(self.places)

    def _take(self, relay: ContactAddress, reply: RelayReply) -> None:
        match reply:
            case RelayRegistered(handle):
                self._registrations.registered(relay, handle)
                self._placed(self.places)
            case RelayCalled(ticket) if len(self._calls) < limits.RELAYED_CALLERS_MAX:
                task = asyncio.create_task(self._accept(relay, ticket))
                self._calls.add(task)
                task.add_done_callback(self._calls.discard)
            case _:
                pass  # too many calls; nothing is joined here

    async def _accept(self, relay: ContactAddress, ticket: bytes) -> None:
        try:
            connection = await _joined(await self._dial(relay), RelayAccept(ticket))
        except CallFailedError as error:
            self._tell(text_of(relay.node, relay.connection), str(error))
            return
        await self._called(connection)
