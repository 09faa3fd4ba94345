"""What the ways to Bluetooth have in common: links, those that offer them, and those that look for them."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from firmware_bridge.ble import limits
from firmware_bridge.ble.errors import LinkClosedError


class Link(Protocol):
    """A connection that takes values and gives values."""

    @property
    def address(self) -> str:
        """The other end's address: ``AA:BB:CC:DD:EE:FF``. Phones change theirs every quarter of an hour."""
        ...

    async def send(self, value: bytes) -> None:
        """Send *value* (1 to 120 bytes); return when it was handed over, or taken where the other end says so.

        Raises OSError when the link is gone.
        """
        ...

    async def receive(self) -> bytes:
        """The next value of any length that came in. Raises LinkClosedError when there will be none."""
        ...

    async def close(self) -> None:
        """End the link, and let go of what it used; to be called however it ended."""
        ...


class Peripheral(Protocol):
    """Advertises itself, and is found."""

    @property
    def remark(self) -> str | None:
        """Why the one that came last got no link, in plain words; None if it got one."""
        ...

    async def accept(self) -> Link:
        """The next link that somebody opened. Raises LinkClosedError when the adapter or its service went away."""
        ...


class Central(Protocol):
    """Finds others, and connects to them."""

    async def find(self, seconds: float) -> Sequence[str]:
        """Addresses of those with the service that were heard within so many seconds. Raises BluetoothError."""
        ...

    async def connect(self, address: str) -> Link | None:
        """A link to one that was found; None if it is a phone, which comes to us by itself.

        Raises LinkClosedError if it cannot be had now.
        """
        ...


class Radio(Protocol):
    """A way to Bluetooth: the system's service, or a dongle driven directly."""

    def peripheral(self, links: int) -> AbstractAsyncContextManager[Peripheral]:
        """Be found while the context lasts, and have at most *links* links at a time. Raises BluetoothError."""
        ...

    def central(self) -> AbstractAsyncContextManager[Central]:
        """Be able to find while the context lasts. Raises BluetoothError."""
        ...


class Inbox:
    """Values of one link that came in and were not yet taken: a few, then whoever writes waits."""

    def __init__(self) -> None:
        self._values: deque[bytes] = deque()
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._end: str | None = None
        self.dropped = 0
        """Values that found no room, or the link ended, and nobody who could wait."""

    def offer(self, value: bytes) -> None:
        """Let *value* be taken if there is room; else drop it, for whoever sends it cannot be made to wait."""
        if self._end is None and self._room.is_set():
            self._append(value)
        else:
            self.dropped += 1

    async def put(self, value: bytes) -> None:
        """Let *value* be taken, waiting for room first. Dropped if the link has ended."""
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
        """The next value. Raises LinkClosedError when all were taken and the link has ended."""
        while not self._values:
            if self._end is not None:
                raise LinkClosedError(self._end)
            self._filled.clear()
            await self._filled.wait()
        if self._end is None:
            self._room.set()
        return self._values.popleft()

    def end(self, reason: str) -> None:
        """The link has ended for *reason*; the first one counts. What came in before can still be taken."""
        if self._end is None:
            self._end = reason
        self._filled.set()
        self._room.set()

    @property
    def ended(self) -> bool:
        """Whether the link has ended."""
        return self._end is not None
