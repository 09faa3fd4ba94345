"""The shell around the nodes: frames of faces in, effects out, everything durable before it is visible.

One *turn* hands everything that came in since the last one to the nodes, commits each store once, writes the event
logs, and only then hands packets to the faces. A turn never waits, so no other task sees half of one.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.events import ChunkAppended, DaemonStarted, Effect, EntryAppended, Event, Send
from tinyssb_node.daemon.clock import Clock, ClockWatch
from tinyssb_node.daemon.face_sender import FaceSender
from tinyssb_node.daemon.face_store_reader import FaceStoreReader
from tinyssb_node.daemon.fork_handler import date_forks
from tinyssb_node.daemon.inbox import Inbox
from tinyssb_node.daemon.logs import EventLogger, Logger
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.errors import (
    EventLogFullError,
    LocalError,
    NodeReadOnlyError,
    StoreDamagedError,
    StoreFailedError,
    StoreFullError,
)
from tinyssb_node.faces.face import Face
from tinyssb_node.ids import DEFAULT_NETWORK, FaceName, NetworkName
from tinyssb_node.node.networks import Networks, Owned
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import Reception
from tinyssb_node.store.port import Store

Result = TypeVar("Result")

_Report = Callable[[Networks, int], list[Owned]]
"""An input other than a frame, handed to the nodes in their turn."""

_PAUSE_AT = limits.INBOX_MAX // 2
"""Number of waiting items of a face at which it is asked to pause."""
_RESUME_AT = limits.INBOX_MAX // 4
"""Number of waiting items at which it may continue."""
_YIELDS = 10
"""Passes of the event loop between two turns while frames wait: a client that connects and publishes takes seven. With
one pass, each of these steps would wait for a whole turn under a flood."""


class Runtime:
    """Driver of the nodes of all networks. To endpoints it is the FaceSink."""

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
        """Load the nodes. *make_networks* makes them from their *places* (its argument: read-only), of which the first
        keeps the airtime budget; *has_room* checks the disk; *show_life* is called with the time of each tick."""
        self._make_networks = make_networks
        self._places = {place.name: place for place in places}
        self._clock = clock
        self._logger = logger
        self._loggers = {place.name: EventLogger(logger, place.name) for place in places}
        self._has_room = has_room
        self._show_life = show_life
        self._watch = ClockWatch(clock)
        self._inbox: Inbox[tuple[bytes, FaceName, Reception] | _Report] = Inbox()
        self._senders: dict[FaceName, FaceSender] = {}
        self._awake = asyncio.Event()
        self._paused: dict[FaceName, asyncio.Event] = {}
        """Set once a face that was asked to pause may continue."""
        self._appended = asyncio.Event()
        self._stopping = False
        self._retry_us = 0
        self._tick_us = 0
        self.read_only: str | None = None
        """Why nothing is signed and stored at the moment; None: it is."""
        with contextlib.suppress(StoreFullError), self._roll_back_if_full(clock.now_us()):
            self.networks = make_networks(False)
            for place in places:
                place.store.commit(clock.wall_us())

    # --- calls of endpoints (FaceSink)

    def up(self, face: Face, spec: str) -> None:
        """See FaceSink."""

        def report(networks: Networks, now_us: int) -> list[Owned]:
            self._senders[face.name] = FaceSender(face, spec, self._left, self._logger)
            return networks.face_up(face.name, face.profile, spec, now_us)

        self._report(face.name, report)

    def down(self, face: FaceName, reason: str) -> None:
        """See FaceSink."""

        def report(networks: Networks, now_us: int) -> list[Owned]:
            self._senders.pop(face).close()
            return networks.face_down(face, reason, now_us)

        self._report(face, report)

    def frame(self, face: FaceName, packet: bytes, reception: Reception) -> bool:
        """See FaceSink. A frame is accepted even if the answer is "wait", unless the face's queue is full."""
        waiting = self._inbox.count(face)
        if waiting < limits.INBOX_MAX:
            self._inbox.put(face, (packet, face, reception))
            self._awake.set()
        if waiting + 1 < _PAUSE_AT:
            return True
        self._paused.setdefault(face, asyncio.Event())
        return False

    def junk(self, face: FaceName, reason: str, length: int) -> None:
        """See FaceSink."""
        if self._inbox.count(face) < limits.INBOX_MAX:
            # Plain text: faces name their reasons by an enumeration, and a log would show its type.
            self._report(face, lambda networks, now_us: networks.junk(face, str(reason), length, now_us))

    async def room(self, face: FaceName) -> None:
        """See FaceSink."""
        if (room := self._paused.get(face)) is not None:
            await room.wait()

    def libraries(self) -> Sequence[FaceStoreReader]:
        """See FaceSink."""
        return [
            FaceStoreReader(place.network, place.store, partial(self._knows, name), partial(self._keep, name))
            for name, place in self._places.items()
        ]

    def _knows(self, network: NetworkName, packet: bytes) -> bool:
        return self.networks.node(network).knows(packet)

    def _keep(self, network: NetworkName, key: str, value: str) -> None:
        """Store a value by name for *network*. On a full disk it is lost, and its user has to do without it; the disk
        is retried automatically."""
        if self.read_only is None:
            put = self._places[network].store.put_meta
            with contextlib.suppress(StoreFullError):
                self.do(lambda _node, _now_us: (put(key, value), []), network)

    def _report(self, face: FaceName, report: _Report) -> None:
        """Queue *report* of *face* for the nodes' turn, behind the frames that came before."""
        self._inbox.put(face, report)
        self._awake.set()

    # --- calls of the daemon

    async def run(self) -> None:
        """Run turns until ``stop``; then handle what came in. Raises StoreFailedError and other LocalErrors."""
        while not self._stopping:
            await self._rest()
            self.turn()
        while self._inbox:
            self.turn()

    def stop(self) -> None:
        """Make ``run`` return soon."""
        self._stopping = True
        self._awake.set()

    def do(
        self,
        action: Callable[[Node, int], tuple[Result, Sequence[Effect]]],
        network: NetworkName = DEFAULT_NETWORK,
    ) -> Result:
        """Run *action* on the node of *network*, at a time in microseconds; return its result when everything is
        durable.

        Raises what *action* raises; StoreFullError, and then nothing was kept.
        """
        now_us = self._clock.now_us()
        with self._roll_back_if_full(now_us):
            result, effects = action(self.networks.node(network), now_us)
        self._settle([self.networks.own(network, effects)], now_us)
        return result

    def _settle(self, owned: Sequence[Owned], now_us: int) -> None:
        """Commit the stores, write the event logs, and then hand packets to the faces. Raises StoreFullError."""
        committed: set[NetworkName] = set()
        try:
            with self._roll_back_if_full(now_us):
                for name, effects in owned:
                    date_forks(self._places[name].store, effects, self._clock.wall_us())
                # First the store with the airtime budget of all networks: a needless charge is safe, a packet without
                # one is not.
                for name, place in self._places.items():
                    place.store.commit(self._clock.wall_us())
                    committed.add(name)
        except StoreFullError:
            self._record([each for each in owned if each[0] in committed], now_us)
            raise
        if not self._record(owned, now_us):
            return
        for _, effects in owned:
            for effect in effects:
                if isinstance(effect, Send) and (sender := self._senders.get(effect.face)) is not None:
                    sender.give(effect.packet)

    @contextlib.contextmanager
    def _roll_back_if_full(self, now_us: int) -> Iterator[None]:
        """Keep nothing of what the stores were given, and stop writing, if a disk turns out to be full."""
        try:
            yield
        except StoreFullError as error:
            for place in self._places.values():
                place.store.rollback()
            self._stop_writing(error, now_us)
            raise

    def reload(self, network: NetworkName, change: Callable[[Store], Sequence[Event]]) -> None:
        """Run *change*, which a node cannot make, on the store of *network*, and load the nodes again. Returns when
        everything is durable. Raises NodeReadOnlyError; StoreFullError, and then nothing was kept; StoreFailedError."""
        if self.read_only is not None:
            raise NodeReadOnlyError
        now_us, store = self._clock.now_us(), self._places[network].store
        with self._roll_back_if_full(now_us):
            events = change(store)
            store.commit(self._clock.wall_us())
        self._record([(network, events)], now_us)
        self._load_networks(now_us)
        self._awake.set()

    def begin(self, network: NetworkName, event: DaemonStarted) -> None:
        """Begin the event log of *network*. On a full disk its records wait in memory, and the node starts read-only.

        Raises LocalError, StoreFailedError.
        """
        now_us = self._clock.now_us()
        try:
            self._places[network].events.begin(event, self._clock.wall_us(), now_us)
        except EventLogFullError as error:
            self._stop_writing(error, now_us)

    def note(self, event: Event) -> None:
        """Record *event* in every event log: an event of the daemon that no node knows of."""
        self._record([(name, [event]) for name in self._places], self._clock.now_us())

    def appended(self) -> asyncio.Event:
        """Return an event that is set when the next entry or chunk is appended. Get it before reading the store."""
        return self._appended

    # --- turns

    async def _rest(self) -> None:
        """Sleep until there is input or something is due."""
        for _ in range(_YIELDS if self._inbox else 1):
            await asyncio.sleep(0)
        due_us = self._tick_us if self.read_only is None else min(self._tick_us, self._retry_us)
        wake_us = self.networks.next_wake_us()
        delay_us = min(due_us, due_us if wake_us is None else wake_us) - self._clock.now_us()
        timer = asyncio.get_running_loop().call_later(max(0, delay_us) / 1e6, self._awake.set)
        await self._awake.wait()
        timer.cancel()
        self._awake.clear()

    def turn(self) -> None:
        """Do what is due, and handle the input; ``run`` calls it. Raises LocalErrors, but not StoreFullError."""
        now_us = self._clock.now_us()
        if self.read_only is not None and now_us >= self._retry_us:
            self._start_writing(now_us)
        if now_us >= self._tick_us:
            self._tick(now_us)
        # A full disk was logged when it was found, and is retried.
        with contextlib.suppress(StoreFullError):
            with self._roll_back_if_full(now_us):
                owned = self._take_input(now_us)
            self._settle(owned, now_us)
        for face in [face for face in self._paused if self._inbox.count(face) <= _RESUME_AT]:
            self._paused.pop(face).set()
        if self._inbox:
            self._awake.set()

    def _take_input(self, now_us: int) -> list[Owned]:
        """Hand the nodes what came in and what is due."""
        networks = self.networks
        owned: list[Owned] = []
        for _ in range(len(self._inbox)):
            # Looked at for each frame: a SKETCH or DIFF of a liar takes up to 20 ms on a PC.
            if self._clock.now_us() - now_us > limits.TURN_US:
                break
            item = self._inbox.take()
            try:
                owned += (
                    networks.receive(*item, now_us) if isinstance(item, tuple) else item(networks, now_us)
                )
            except (StoreFullError, StoreFailedError, StoreDamagedError):
                raise
            except Exception:
                packet, face = (item[0].hex(), item[1]) if isinstance(item, tuple) else (None, None)
                self._logger.critical(
                    "a packet or report raised an error in the node, which is a bug", packet=packet, face=face
                )
                raise
        wake_us = networks.next_wake_us()
        if wake_us is not None and wake_us <= now_us:
            owned += networks.wake(now_us)
        return owned

    def _tick(self, now_us: int) -> None:
        """Do once a second what depends on time and not on input."""
        self._tick_us = now_us + 1_000_000  # the clock and the age of files: as finely as CLOCK_STEP_US needs
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
        """Append the events in *owned* to the event logs. Returns False if their disk is full; *owned* is then void."""
        wall_us = self._clock.wall_us()
        appended = False
        try:
            for name, effects in owned:
                events, logger = self._places[name].events, self._loggers[name]
                for effect in effects:
                    if isinstance(effect, Send):
                        continue
                    events.append(effect, wall_us, now_us)
                    logger(effect, now_us)
                    appended = appended or isinstance(effect, EntryAppended | ChunkAppended)
            if owned:
                for place in self._places.values():
                    place.events.flush()
        except EventLogFullError as error:
            # The records wait in memory. While nothing is appended to the store, a node may continue without them.
            if self.read_only is None:
                self._stop_writing(error, now_us)
                return False
        if appended:
            event, self._appended = self._appended, asyncio.Event()
            event.set()
        return True

    def _left(self, sender: FaceSender, generation: int, count: int, kept: int) -> None:
        """Report that *count* packets have left and *kept* were not sent, because another node is on the air. Packets
        of an earlier node or face are not counted against its successor."""

        def report(networks: Networks, now_us: int) -> list[Owned]:
            name = sender.face.name
            current = self._senders.get(name) is sender and sender.generation == generation
            if not current:
                return []
            owned = networks.sent(name, count, now_us) if count else []
            for _ in range(kept):
                owned += networks.busy(name, now_us)
            return owned

        self._report(sender.face.name, report)

    # --- a full disk

    def _stop_writing(self, error: LocalError, now_us: int) -> None:
        """Continue with reading and serving only."""
        self._retry_us = now_us + limits.RETRY_US
        if self.read_only is not None:
            return
        self._logger.error("the disk is full: reading and serving only until there is room", error=str(error))
        self.read_only = str(error) or "the disk is full"
        self._load_networks(now_us)

    def _start_writing(self, now_us: int) -> None:
        """Write again if there is room on the disk."""
        self._retry_us = now_us + limits.RETRY_US
        if not self._has_room():
            return
        self.read_only = None
        self._load_networks(now_us)
        # Before any input, because an event log may have to store its boot's number first.
        self._tick_us = now_us
        self._logger.info("there is room on the disk again: writing")

    def _load_networks(self, now_us: int) -> None:
        """Load the nodes again from their stores, with the faces that are up. Those were recorded before."""
        self.networks = self._make_networks(self.read_only is not None)
        for sender in self._senders.values():
            sender.discard()
            self.networks.face_up(sender.face.name, sender.face.profile, sender.spec, now_us)
