"""The shell around the node: faces' frames in, effects out, everything durable before it is visible.

One *turn* takes what came in since the last one, lets the node think, commits once, writes the event log, and only then
hands packets to the faces. A turn never waits, so nobody sees half of one.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from tinyssb_node import limits
from tinyssb_node.daemon.clock import Clock, ClockWatch
from tinyssb_node.daemon.eventlog import EventLog
from tinyssb_node.daemon.logs import EventLines, Logger
from tinyssb_node.daemon.ports import Port
from tinyssb_node.effects import Effect, Send
from tinyssb_node.errors import (
    EventLogFullError,
    LocalError,
    StoreDamagedError,
    StoreFailedError,
    StoreFullError,
)
from tinyssb_node.events import ChunkAppended, EntryAppended, Event
from tinyssb_node.faces.face import Face
from tinyssb_node.ids import FaceName
from tinyssb_node.node import Node
from tinyssb_node.scheduling.link import Reception
from tinyssb_node.store.port import Store

Result = TypeVar("Result")
Action = Callable[[Node, int], tuple[Result, list[Effect]]]
"""What the node should do, at a time in microseconds."""

_Report = Callable[[Node, int], list[Effect]]
"""Something besides a frame that the node hears of in its turn."""

_PAUSE_AT = limits.INBOX_MAX // 2
"""Waiting frames at which streams are asked to pause."""
_RESUME_AT = limits.INBOX_MAX // 4
"""Waiting frames at which they may go on."""


class Runtime:
    """Drives one node. To endpoints it is the FaceSink."""

    def __init__(
        self,
        *,
        make_node: Callable[[bool], Node],
        store: Store,
        events: EventLog,
        clock: Clock,
        logger: Logger,
        has_room: Callable[[], bool],
    ) -> None:
        """*make_node* loads the node from the store (its argument: read-only); *has_room* looks at the disk."""
        self._make_node = make_node
        self._store = store
        self._events = events
        self._clock = clock
        self._logger = logger
        self._lines = EventLines(logger)
        self._has_room = has_room
        self._watch = ClockWatch(clock)
        self._inbox: deque[tuple[bytes, FaceName, Reception] | _Report] = deque()
        self._ports: dict[FaceName, Port] = {}
        self._awake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._appended = asyncio.Event()
        self._stopping = False
        self._retry_us = 0
        self._tick_us = 0
        self.read_only: str | None = None
        """Why nothing is signed and stored at the moment; None: all is well."""
        self.node = make_node(False)
        self._store.commit(clock.wall_us())

    # --- what endpoints tell (FaceSink)

    def up(self, face: Face, spec: str) -> None:
        """See FaceSink."""

        def report(node: Node, now_us: int) -> list[Effect]:
            self._ports[face.name] = Port(face, spec, self._left, self._logger)
            return node.face_up(face.name, face.profile, spec, now_us)

        self._report(report)

    def down(self, face: FaceName, reason: str) -> None:
        """See FaceSink."""

        def report(node: Node, now_us: int) -> list[Effect]:
            self._ports.pop(face).close()
            return node.face_down(face, reason, now_us)

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
            self._report(lambda node, now_us: node.junk(face, str(reason), length, now_us))

    async def room(self) -> None:
        """See FaceSink."""
        await self._room.wait()

    def _report(self, report: _Report) -> None:
        """Let the node hear of something in its turn, behind the frames that came before."""
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

    def do(self, action: Action[Result]) -> Result:
        """Let the node do *action*; return its result when all of it is durable.

        Raises what *action* raises, and StoreFullError, of which nothing was kept.
        """
        now_us = self._clock.now_us()
        try:
            result, effects = action(self.node, now_us)
            self._store.commit(self._clock.wall_us())
        except StoreFullError as error:
            self._store.rollback()
            self._stop_writing(error, now_us)
            raise
        if not self._record(effects, now_us):
            return result
        for effect in effects:
            if isinstance(effect, Send) and (port := self._ports.get(effect.face)) is not None:
                port.give(effect.packet)
        return result

    def note(self, event: Event) -> None:
        """Put *event* into the event log: something of the daemon that no node knows of."""
        self._record([event], self._clock.now_us())

    def appended(self) -> asyncio.Event:
        """Set when the next entry or chunk was appended. Take it before looking at the store."""
        return self._appended

    # --- turns

    async def _rest(self) -> None:
        """Sleep until something came in or is due."""
        await asyncio.sleep(0)
        due_us = self._tick_us if self.read_only is None else min(self._tick_us, self._retry_us)
        wake_us = self.node.next_wake_us()
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
            self.do(self._take_input)
        if len(self._inbox) <= _RESUME_AT:
            self._room.set()
        if self._inbox:
            self._awake.set()

    def _take_input(self, node: Node, now_us: int) -> tuple[None, list[Effect]]:
        effects: list[Effect] = []
        for taken in range(len(self._inbox)):
            if taken % limits.TURN_CHECK_FRAMES == 0 and self._clock.now_us() - now_us > limits.TURN_US:
                break
            item = self._inbox.popleft()
            try:
                effects += node.receive(*item, now_us) if isinstance(item, tuple) else item(node, now_us)
            except (StoreFullError, StoreFailedError, StoreDamagedError):
                raise
            except Exception:
                packet, face = (item[0].hex(), item[1]) if isinstance(item, tuple) else (None, None)
                self._logger.critical(
                    "what came in broke the node, which is a bug of it", packet=packet, face=face
                )
                raise
        wake_us = node.next_wake_us()
        if wake_us is not None and wake_us <= now_us:
            effects += node.wake(now_us)
        return None, effects

    def _tick(self, now_us: int) -> None:
        """Once a second: what depends on time but on nothing that came in."""
        self._tick_us = now_us + limits.TICK_US
        step = self._watch.check()
        self._record([] if step is None else [step], now_us)
        try:
            self._events.tick(self._clock.wall_us(), now_us)
        except EventLogFullError as error:
            self._stop_writing(error, now_us)

    def _record(self, effects: list[Effect], now_us: int) -> bool:
        """Append the events among *effects* to the event log. False: its disk is full, and *effects* are void."""
        wall_us = self._clock.wall_us()
        appended = False
        try:
            for effect in effects:
                if isinstance(effect, Send):
                    continue
                self._events.append(effect, wall_us, now_us)
                self._lines(effect, now_us)
                appended = appended or isinstance(effect, EntryAppended | ChunkAppended)
            if effects:
                self._events.flush()
        except EventLogFullError as error:
            # Its records wait in memory. While nothing is appended to the store, a node may go on without them.
            if self.read_only is None:
                self._stop_writing(error, now_us)
                return False
        if appended:
            event, self._appended = self._appended, asyncio.Event()
            event.set()
        return True

    def _left(self, port: Port, generation: int, count: int, kept: int) -> None:
        """Packets have left, or were kept for somebody else's being on the air. Those of a node or a face that is no
        more are not counted against its successor."""

        def report(node: Node, now_us: int) -> list[Effect]:
            name = port.face.name
            current = self._ports.get(name) is port and port.generation == generation
            if not current:
                return []
            effects = node.sent(name, count, now_us) if count else []
            for _ in range(kept):
                effects += node.busy(name, now_us)
            return effects

        self._report(report)

    # --- a full disk

    def _stop_writing(self, error: LocalError, now_us: int) -> None:
        """Go on reading and serving only, with what the store holds."""
        self._retry_us = now_us + limits.RETRY_US
        if self.read_only is not None:
            return
        self._logger.error("the disk is full: reading and serving only until there is room", error=str(error))
        self.read_only = str(error) or "the disk is full"
        self._change_node(now_us)

    def _start_writing(self, now_us: int) -> None:
        """See whether there is room again."""
        self._retry_us = now_us + limits.RETRY_US
        if not self._has_room():
            return
        self.read_only = None
        self._change_node(now_us)
        self._logger.info("there is room on the disk again: writing")

    def _change_node(self, now_us: int) -> None:
        """Load the node anew from the store, with the faces that are up. That they are was recorded before."""
        self.node = self._make_node(self.read_only is not None)
        for port in self._ports.values():
            port.forget()
            self.node.face_up(port.face.name, port.face.profile, port.spec, now_us)
