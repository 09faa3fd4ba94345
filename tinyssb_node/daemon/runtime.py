"""The shell around the nodes: faces' frames in, effects out, everything durable before it is visible.

One *turn* takes what came in since the last one, lets the nodes think, commits each store once, writes the event logs,
and only then hands packets to the faces. A turn never waits, so nobody sees half of one.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from tinyssb_node import limits
from tinyssb_node.daemon.clock import Clock, ClockWatch
from tinyssb_node.daemon.face_sender import FaceSender
from tinyssb_node.daemon.face_store_reader import FaceStoreReader
from tinyssb_node.daemon.fork_handler import date_forks
from tinyssb_node.daemon.logs import EventLogger, Logger
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.effects import Send
from tinyssb_node.errors import (
    EventLogFullError,
    LocalError,
    NodeReadOnlyError,
    StoreDamagedError,
    StoreFailedError,
    StoreFullError,
)
from tinyssb_node.events import ChunkAppended, DaemonStarted, EntryAppended, Event
from tinyssb_node.faces.face import Face
from tinyssb_node.ids import DEFAULT_NETWORK, FaceName, NetworkName
from tinyssb_node.node.networks import Action, Networks, Owned
from tinyssb_node.scheduling.link import Reception
from tinyssb_node.store.port import Store

Result = TypeVar("Result")

_Report = Callable[[Networks, int], list[Owned]]
"""Something besides a frame that the nodes hear of in their turn."""

_PAUSE_AT = limits.INBOX_MAX // 2
"""Waiting frames at which streams are asked to pause."""
_RESUME_AT = limits.INBOX_MAX // 4
"""Waiting frames at which they may go on."""


class Runtime:
    """Drives the nodes of all networks. To endpoints it is the FaceSink."""

    def __init__(
        self,
        *,
        make_networks: Callable[[bool], Networks],
        places: Sequence[NetworkStorage],
        clock: Clock,
        logger: Logger,
        has_room: Callable[[], bool],
        show_life: Callable[[int], None] | None = None,
    ) -> None:
        """*make_networks* loads the nodes from their *places* (its argument: read-only), of which the first keeps the
        accounts of airtime; *has_room* looks at the disk; *show_life* hears the time of each tick."""
        self._make_networks = make_networks
        self._places = {place.name: place for place in places}
        self._clock = clock
        self._logger = logger
        self._lines = {place.name: EventLogger(logger, place.name) for place in places}
        self._has_room = has_room
        self._show_life = show_life
        self._watch = ClockWatch(clock)
        self._inbox: deque[tuple[bytes, FaceName, Reception] | _Report] = deque()
        self._ports: dict[FaceName, FaceSender] = {}
        self._awake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._appended = asyncio.Event()
        self._stopping = False
        self._retry_us = 0
        self._tick_us = 0
        self.read_only: str | None = None
        """Why nothing is signed and stored at the moment; None: all is well."""
        try:
            self.networks = make_networks(False)
            for place in places:
                place.store.commit(clock.wall_us())
        except StoreFullError as error:
            for place in places:
                place.store.rollback()
            self._stop_writing(error, clock.now_us())

    # --- what endpoints tell (FaceSink)

    def up(self, face: Face, spec: str) -> None:
        """See FaceSink."""

        def report(networks: Networks, now_us: int) -> list[Owned]:
            self._ports[face.name] = FaceSender(face, spec, self._left, self._logger)
            return networks.face_up(face.name, face.profile, spec, now_us)

        self._report(report)

    def down(self, face: FaceName, reason: str) -> None:
        """See FaceSink."""

        def report(networks: Networks, now_us: int) -> list[Owned]:
            self._ports.pop(face).close()
            return networks.face_down(face, reason, now_us)

        self._report(report)

    def frame(self, face: FaceName, packet: bytes, reception: Reception) -> bool:
        """See FaceSink. A frame is taken even where the answer is "wait", unless the inbox is full."""
        if len(self._inbox) < limits.INBOX_MAX:
            self._inbox.append((packet, face, reception))
            self._awake.set()
        if len(self._inbox) < _PAUSE_AT:
            return True
        self._room.clear()
        return False

    def junk(self, face: FaceName, reason: str, length: int) -> None:
        """See FaceSink."""
        if len(self._inbox) < limits.INBOX_MAX:
            # Plain text: faces name their reasons by an enumeration, which a log would show as one.
            self._report(lambda networks, now_us: networks.junk(face, str(reason), length, now_us))

    async def room(self) -> None:
        """See FaceSink."""
        await self._room.wait()

    def libraries(self) -> Sequence[FaceStoreReader]:
        """See FaceSink."""
        return [
            FaceStoreReader(place.network, place.store, partial(self._knows, name), partial(self._keep, name))
            for name, place in self._places.items()
        ]

    def _knows(self, network: NetworkName, packet: bytes) -> bool:
        return self.networks.node(network).knows(packet)

    def _keep(self, network: NetworkName, key: str, value: str) -> None:
        """Keep a value in the store of *network*; a full disk is tried again by itself, and what a value is for
        has to do without it."""
        if self.read_only is None:
            put = self._places[network].store.put_meta
            with contextlib.suppress(StoreFullError):
                self._perform(lambda _networks, _now_us: (put(key, value), []))

    def _report(self, report: _Report) -> None:
        """Let the nodes hear of something in their turn, behind the frames that came before."""
        self._inbox.append(report)
        self._awake.set()

    # --- what the daemon asks for

    async def run(self) -> None:
        """Work until ``stop``; then finish what came in. Raises StoreFailedError and other LocalErrors."""
        while not self._stopping:
            await self._rest()
            self._turn()
        while self._inbox:
            self._turn()

    def stop(self) -> None:
        """Let ``run`` return soon."""
        self._stopping = True
        self._awake.set()

    def do(self, action: Action[Result], network: NetworkName = DEFAULT_NETWORK) -> Result:
        """Let the node of *network* do *action*; return its result when all of it is durable.

        Raises what *action* raises, and StoreFullError, of which nothing was kept.
        """
        return self._perform(lambda networks, now_us: networks.do(network, action, now_us))

    def _perform(self, deed: Callable[[Networks, int], tuple[Result, list[Owned]]]) -> Result:
        now_us = self._clock.now_us()
        owned: list[Owned] = []
        committed: set[NetworkName] = set()
        try:
            result, owned = deed(self.networks, now_us)
            # The first place is charged for everybody's airtime: a charge in vain is safe, a packet uncharged is not.
            for name, effects in owned:
                date_forks(self._places[name].store, effects, self._clock.wall_us())
            for name, place in self._places.items():
                place.store.commit(self._clock.wall_us())
                committed.add(name)
        except StoreFullError as error:
            for place in self._places.values():
                place.store.rollback()
            self._stop_writing(error, now_us)
            self._record([each for each in owned if each[0] in committed], now_us)
            raise
        if not self._record(owned, now_us):
            return result
        for _, effects in owned:
            for effect in effects:
                if isinstance(effect, Send) and (port := self._ports.get(effect.face)) is not None:
                    port.give(effect.packet)
        return result

    def reload(self, network: NetworkName, change: Callable[[Store], Sequence[Event]]) -> None:
        """Let *change* do to the store of *network* what a node cannot, and load the nodes anew. Returns when all of it
        is durable. Raises NodeReadOnlyError; StoreFullError, of which nothing was kept; StoreFailedError."""
        if self.read_only is not None:
            raise NodeReadOnlyError
        now_us, store = self._clock.now_us(), self._places[network].store
        try:
            events = change(store)
            store.commit(self._clock.wall_us())
        except StoreFullError as error:
            store.rollback()
            self._stop_writing(error, now_us)
            raise
        self._record([(network, events)], now_us)
        self._load_networks(now_us)
        self._awake.set()

    def begin(self, network: NetworkName, event: DaemonStarted) -> None:
        """Begin the event log of *network*. On a full disk its records wait in memory, and the node begins read-only.

        Raises EventLogFailedError, StoreFailedError.
        """
        now_us = self._clock.now_us()
        try:
            self._places[network].events.begin(event, self._clock.wall_us(), now_us)
        except EventLogFullError as error:
            self._stop_writing(error, now_us)

    def note(self, event: Event) -> None:
        """Put *event* into every event log: something of the daemon that no node knows of."""
        self._record([(name, [event]) for name in self._places], self._clock.now_us())

    def appended(self) -> asyncio.Event:
        """Set when the next entry or chunk was appended. Take it before looking at the store."""
        return self._appended

    # --- turns

    async def _rest(self) -> None:
        """Sleep until something came in or is due."""
        await asyncio.sleep(0)
        due_us = self._tick_us if self.read_only is None else min(self._tick_us, self._retry_us)
        wake_us = self.networks.next_wake_us()
        delay_us = min(due_us, due_us if wake_us is None else wake_us) - self._clock.now_us()
        timer = asyncio.get_running_loop().call_later(max(0, delay_us) / 1e6, self._awake.set)
        await self._awake.wait()
        timer.cancel()
        self._awake.clear()

    def _turn(self) -> None:
        now_us = self._clock.now_us()
        if self.read_only is not None and now_us >= self._retry_us:
            self._start_writing(now_us)
        if now_us >= self._tick_us:
            self._tick(now_us)
        # A full disk was said when it was met, and is tried again.
        with contextlib.suppress(StoreFullError):
            self._perform(self._take_input)
        if len(self._inbox) <= _RESUME_AT:
            self._room.set()
        if self._inbox:
            self._awake.set()

    def _take_input(self, networks: Networks, now_us: int) -> tuple[None, list[Owned]]:
        owned: list[Owned] = []
        for taken in range(len(self._inbox)):
            if taken % limits.TURN_CHECK_FRAMES == 0 and self._clock.now_us() - now_us > limits.TURN_US:
                break
            item = self._inbox.popleft()
            try:
                owned += (
                    networks.receive(*item, now_us) if isinstance(item, tuple) else item(networks, now_us)
                )
            except (StoreFullError, StoreFailedError, StoreDamagedError):
                raise
            except Exception:
                packet, face = (item[0].hex(), item[1]) if isinstance(item, tuple) else (None, None)
                self._logger.critical(
                    "what came in broke the node, which is a bug of it", packet=packet, face=face
                )
                raise
        wake_us = networks.next_wake_us()
        if wake_us is not None and wake_us <= now_us:
            owned += networks.wake(now_us)
        return None, owned

    def _tick(self, now_us: int) -> None:
        """Once a second: what depends on time but on nothing that came in."""
        self._tick_us = now_us + limits.TICK_US
        if self._show_life is not None:
            self._show_life(now_us)
        step = self._watch.check()
        if step is not None:
            self._record([(name, [step]) for name in self._places], now_us)
        try:
            for place in self._places.values():
                place.events.tick(self._clock.wall_us(), now_us)
        except EventLogFullError as error:
            self._stop_writing(error, now_us)

    def _record(self, owned: Sequence[Owned], now_us: int) -> bool:
        """Append the events in *owned* to the event logs. False: their disk is full, and *owned* is void."""
        wall_us = self._clock.wall_us()
        appended = False
        try:
            for name, effects in owned:
                events, lines = self._places[name].events, self._lines[name]
                for effect in effects:
                    if isinstance(effect, Send):
                        continue
                    events.append(effect, wall_us, now_us)
                    lines(effect, now_us)
                    appended = appended or isinstance(effect, EntryAppended | ChunkAppended)
            if owned:
                for place in self._places.values():
                    place.events.flush()
        except EventLogFullError as error:
            # Its records wait in memory. While nothing is appended to the store, a node may go on without them.
            if self.read_only is None:
                self._stop_writing(error, now_us)
                return False
        if appended:
            event, self._appended = self._appended, asyncio.Event()
            event.set()
        return True

    def _left(self, port: FaceSender, generation: int, count: int, kept: int) -> None:
        """Packets have left, or were kept for somebody else's being on the air. Those of a node or a face that is no
        more are not counted against its successor."""

        def report(networks: Networks, now_us: int) -> list[Owned]:
            name = port.face.name
            current = self._ports.get(name) is port and port.generation == generation
            if not current:
                return []
            owned = networks.sent(name, count, now_us) if count else []
            for _ in range(kept):
                owned += networks.busy(name, now_us)
            return owned

        self._report(report)

    # --- a full disk

    def _stop_writing(self, error: LocalError, now_us: int) -> None:
        """Go on reading and serving only, with what the store holds."""
        self._retry_us = now_us + limits.RETRY_US
        if self.read_only is not None:
            return
        self._logger.error("the disk is full: reading and serving only until there is room", error=str(error))
        self.read_only = str(error) or "the disk is full"
        self._load_networks(now_us)

    def _start_writing(self, now_us: int) -> None:
        """See whether there is room again."""
        self._retry_us = now_us + limits.RETRY_US
        if not self._has_room():
            return
        self.read_only = None
        self._load_networks(now_us)
        # Ahead of what comes in, since an event log may have to keep its boot's number first.
        self._tick_us = now_us
        self._logger.info("there is room on the disk again: writing")

    def _load_networks(self, now_us: int) -> None:
        """Load the nodes anew from their stores, with the faces that are up. That they are was recorded before."""
        self.networks = self._make_networks(self.read_only is not None)
        for port in self._ports.values():
            port.forget()
            self.networks.face_up(port.face.name, port.face.profile, port.spec, now_us)
