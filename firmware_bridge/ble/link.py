"""Code common to both Bluetooth stacks: links, peripherals that accept them, and centrals that open them."""

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, Protocol, TypeVar

from firmware_bridge.ble import limits
from firmware_bridge.ble.errors import LinkClosedError

CLOSED_HERE = "this node closed it"
"""Why a link ended that we ended."""
PHONE_GONE = "the phone went away"
"""Why a phone's link ended."""
BOARD_GONE = "the board went away"
"""Why a board's link ended."""


class Link(Protocol):
    """A connection that carries values both ways."""

    async def send(self, value: bytes) -> None:
        """Send *value* (1 to 120 bytes); return when it was handed over, or acknowledged if the other end does that.

        Raises OSError when the link is gone.
        """
        ...

    async def receive(self) -> bytes:
        """Return the next value received, of any length. Raises LinkClosedError when there will be none."""
        ...

    async def close(self) -> None:
        """End the link and free what it used. Call this however the link ended."""
        ...


class Peripheral(Protocol):
    """A peripheral: advertises itself, and accepts connections."""

    @property
    def remark(self) -> str | None:
        """Why the last connection got no link, in plain words; None if it got one."""
        ...

    async def accept(self) -> Link:
        """Return the next link. Raises LinkClosedError when the adapter or its service went away."""
        ...


class Central(Protocol):
    """A central: scans for peripherals, and connects to them."""

    async def find(self, seconds: float) -> Sequence[str]:
        """Scan that long, and return the addresses that offer the service. Raises BluetoothError."""
        ...

    async def connect(self, address: str) -> Link | None:
        """Connect to an address that was found. None for a phone, which connects to us by itself.

        Raises LinkClosedError if no connection is possible now.
        """
        ...


class BluetoothStack(Protocol):
    """A Bluetooth stack: the system's service, or a dongle driven directly."""

    def peripheral(self, links: int) -> AbstractAsyncContextManager[Peripheral]:
        """Advertise while the context lasts, with at most *links* links at a time. Raises BluetoothError."""
        ...

    def central(self) -> AbstractAsyncContextManager[Central]:
        """Allow scanning while the context lasts. Raises BluetoothError."""
        ...


LinkT = TypeVar("LinkT")


class LinkQueue(Generic[LinkT]):
    """The new links of a peripheral, and the tasks that run for them: the base of both peripherals."""

    def __init__(self) -> None:
        self.remark: str | None = None
        """See Peripheral."""
        self._arrived: asyncio.Queue[LinkT | None] = asyncio.Queue()
        self._lost: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def accept(self) -> LinkT:
        """See Peripheral."""
        link = await self._arrived.get()
        if link is None:
            self._arrived.put_nowait(None)
            raise LinkClosedError(self._lost or "")
        return link

    def _lose(self, reason: str) -> None:
        """End ``accept`` for *reason*; the first reason counts."""
        if self._lost is None:
            self._lost = reason
            self._arrived.put_nowait(None)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Inbox:
    """The receive queue of one link: a few values, then the writer waits (backpressure)."""

    def __init__(self) -> None:
        self._values: deque[bytes] = deque()
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._end: str | None = None
        self.dropped = 0
        """Values dropped: the queue was full or the link had ended, and the sender could not wait."""

    def offer(self, value: bytes) -> None:
        """Queue *value* if there is room; drop it otherwise, for senders that cannot be made to wait."""
        if self._end is None and self._room.is_set():
            self._append(value)
        else:
            self.dropped += 1

    async def put(self, value: bytes) -> None:
        """Wait for room, then queue *value*. It is dropped if the link has ended."""
        while self._end is None:
            if self._room.is_set():
                self._append(value)
                return
            await self._room.wait()

    def _append(self, value: bytes) -> None:
        self._values.append(value)
        self._filled.set()
        if len(self._values) >= limits.VALUES_WAITING:
            self._room.clear()

    async def take(self) -> bytes:
        """Return the next value. Raises LinkClosedError when the queue is empty and the link has ended."""
        while not self._values:
            if self._end is not None:
                raise LinkClosedError(self._end)
            self._filled.clear()
            await self._filled.wait()
        if self._end is None:
            self._room.set()
        return self._values.popleft()

    def end(self, reason: str) -> None:
        """Mark the link as ended; the first *reason* counts. Values received before can still be taken."""
        if self._end is None:
            self._end = reason
        self._filled.set()
        self._room.set()

    @property
    def ended(self) -> bool:
        """True if the link has ended."""
        return self._end is not None
