"""PZP sync over WebSocket between daemons (docs/formats/pzp-sync.md): the shell around ``PzpSync``."""

import asyncio
import random
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, TypeAlias

from websockets.asyncio.connection import Connection
from websockets.asyncio.server import Server, ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from tinyssb_node.errors import LocalError
from tinyssb_node.faces.access import EVERYBODY, PLAIN, Credentials, ListenerPolicy
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.ws_access import (
    CallFailedError,
    WsListenerAccess,
    WsProtocol,
    call,
    drop,
    renewed_options,
)
from tinyssb_node.pzp.database import limits as pzp_limits
from tinyssb_node.pzp.messages import base58
from tinyssb_node.pzp.messages.limits import HASH_SIZE
from tinyssb_node.pzp.sync import limits as sync_limits
from tinyssb_node.pzp.sync.port import PzpReplica
from tinyssb_node.pzp.sync.sync import Event, PzpSync, PzpSyncViolation

Roots: TypeAlias = Callable[[], Iterable[str]]
"""Which tangles are to be synced, at the moment."""
SUBPROTOCOL: Final = Subprotocol("pzp-sync-2")
"""The subprotocol of this version."""
SUBPROTOCOL_1: Final = Subprotocol("pzp-sync-1")
"""The one before, whose speakers know no tangles of V4: an id of 32 bytes would make them hang up."""
# 4 packets read ahead of the database are 5 MB at most.
_PROTOCOL: Final = WsProtocol(
    size_max=sync_limits.PACKET_SIZE_MAX, queue=4, subprotocols=(SUBPROTOCOL, SUBPROTOCOL_1)
)


class PzpSyncConnection:
    """One connection that is open, with the sync over it."""

    def __init__(self, connection: Connection, msgs: PzpReplica, told: Callable[[Event], None]) -> None:
        self._connection = connection
        self._sync = PzpSync(msgs, secrets.token_bytes)
        self._told = told
        self._work = asyncio.Event()

    def sync(self, roots: Iterable[str]) -> None:
        """Sync these tangles, now or when it is their turn. What does not fit is left for the next time."""
        every = self._connection.subprotocol != SUBPROTOCOL_1
        for root in roots:
            if every or len(base58.decode(root)) == HASH_SIZE:
                self._sync.start(root)
        self._work.set()

    async def run(self, roots: Roots, wait_s: float) -> str:
        """Carry packets until the connection ends, and sync *roots* after *wait_s* and then now and again.

        Returns why it ended, in words, be it that this machine cannot keep what came.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                others = [tasks.create_task(self._write()), tasks.create_task(self._begin(roots, wait_s))]
                reason = await self._read()
                for task in others:
                    task.cancel()
        except* ConnectionClosed as closed:
            reason = f"the connection broke: {closed.exceptions[0]}"
        except* LocalError as ours:
            reason = str(ours.exceptions[0])
        finally:
            drop(self._connection)
        return reason

    async def _begin(self, roots: Roots, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        while True:
            self.sync(roots())
            await asyncio.sleep(600.0)  # two packets of 60 bytes a tangle if nothing is new

    async def _read(self) -> str:
        while True:
            try:
                data = await self._connection.recv()
            except ConnectionClosed as closed:
                return f"the other side closed it: {closed}"
            if isinstance(data, str):
                return "the other side sends text"
            self._sync.receive(data, _now_us())
            self._work.set()
            if (why := self._tell()) is not None:
                return why

    async def _write(self) -> None:
        while True:
            packet = self._sync.next_packet(_now_us())
            self._tell()
            if packet is not None:
                await self._connection.send(packet)
                continue
            self._work.clear()
            wake_us = self._sync.next_wake_us()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if wake_us is None else max(0, wake_us - _now_us()) / 1e6):
                    await self._work.wait()
            self._sync.wake(_now_us())
            self._tell()

    def _tell(self) -> str | None:
        """Tell what happened. Returns why to hang up, if there is a reason."""
        why = None
        for event in self._sync.events():
            self._told(event)
            if isinstance(event, PzpSyncViolation):
                why = event.why
        return why


def _now_us() -> int:
    return int(asyncio.get_running_loop().time() * 1e6)


class PzpSyncListener:
    """Listens, and syncs with whoever connects."""

    def __init__(
        self,
        msgs: PzpReplica,
        roots: Roots,
        told: Callable[[Event], None],
        *,
        peers: int,
        guard: ListenerPolicy = EVERYBODY,
    ) -> None:
        """Sync *msgs*, and of them *roots* unasked, with at most some *peers* at a time whom *guard* lets in."""
        self._msgs = msgs
        self._roots = roots
        self._told = told
        self._door = WsListenerAccess(guard, peers)
        self.links: set[PzpSyncConnection] = set()
        """Connections that are open."""
        self.problem: str | None = None
        """Why the last one ended that did."""

    async def open(self, host: str, port: int) -> list[Server]:
        """Accept connections, until the servers are closed, one for each address of *host*.

        Raises OSError if it cannot be listened on; CertificateError, SecretExposedError, SecretUnusableError.
        """
        return await self._door.serve(host, port, self._serve, _PROTOCOL)

    async def _serve(self, connection: ServerConnection) -> None:
        link = PzpSyncConnection(connection, self._msgs, self._told)
        self.links.add(link)
        try:
            self.problem = await link.run(self._roots, pzp_limits.GATEWAY_LISTENER_WAIT_S)
        finally:
            self.links.discard(link)


class PzpSyncConnector:
    """Keeps one connection to a listener up."""

    def __init__(
        self,
        url: str,
        msgs: PzpReplica,
        roots: Roots,
        told: Callable[[Event], None],
        credentials: Credentials = PLAIN,
        *,
        backoff: Backoff | None = None,
    ) -> None:
        """Call *url* with *credentials*. Raises CertificateError, SecretExposedError, SecretUnusableError."""
        self.url = url
        self._options = renewed_options(credentials)
        self._msgs = msgs
        self._roots = roots
        self._told = told
        self._backoff = backoff or Backoff(random.random)
        self.link: PzpSyncConnection | None = None
        """The connection, while it is open."""
        self.problem: str | None = None
        """Why there is none, or the last one ended."""

    async def run(self) -> None:
        """Connect, and connect again whenever the connection is lost, until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            begun_s = clock()
            self.problem = await self.connect_once()
            self._backoff.link_was_up(clock() - begun_s)
            await asyncio.sleep(self._backoff.next_s())

    async def connect_once(self) -> str:
        """Connect, and sync until the connection ends. Return why it ended, or could not be made."""
        try:
            connection = await call(self.url, _PROTOCOL, *self._options.current())
        except CallFailedError as error:
            return str(error)
        self.link = PzpSyncConnection(connection, self._msgs, self._told)
        try:
            return await self.link.run(self._roots, 0.0)
        finally:
            self.link = None
