"""Server-sent events (HTML Living Standard, 9.2) to all pages that listen for changes."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from starlette.responses import StreamingResponse


def make_event(name: str, data: bytes) -> bytes:
    """Format one event; *data* is JSON without line feeds."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


async def stream_response(events: AsyncGenerator[bytes]) -> StreamingResponse:
    """Return a response of events. Raises the exceptions of their first step, for which there is a status yet."""
    first = await anext(events)

    async def body() -> AsyncIterator[bytes]:
        async with contextlib.aclosing(events):
            yield first
            async for event in events:
                yield event

    return StreamingResponse(body(), media_type="text/event-stream")


async def wait_for(event: asyncio.Event, timeout_s: float) -> bool:
    """Return whether the event was set within the time."""
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except TimeoutError:
        return False
    return True


class EventStreams:
    """The streams of all listening pages. A slow page skips changes it had no time for, so nothing ever queues."""

    def __init__(
        self,
        *,
        poll: Callable[[], Awaitable[None]],
        events: Callable[[bool], bytes],
        tick_s: float,
        heartbeat_s: float,
    ) -> None:
        """Create them: *poll* calls ``notify`` if something changed, *events* returns the bytes for a change (True), or
        for a heartbeat (False).

        They poll every *tick_s* seconds; a heartbeat follows *heartbeat_s* without changes.
        """
        self._poll = poll
        self._events = events
        self._tick_s = tick_s
        self._heartbeat_s = heartbeat_s
        self._changed = asyncio.Event()
        self._closed = asyncio.Event()
        self.listeners = 0
        self.number = 0
        """Number of the latest change."""

    async def run(self) -> None:
        """Poll while any page listens, until stopped."""
        while not self._closed.is_set():
            if self.listeners:
                await self._poll()
            await wait_for(self._closed, self._tick_s)

    def notify(self) -> None:
        """Send a change to all pages."""
        self.number += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def listen(self) -> AsyncGenerator[bytes]:
        """Yield the events of one page: a change at once and after each change, heartbeats in between."""
        self.listeners += 1
        try:
            await self._poll()
            # A page whose connection is lost connects again after two seconds.
            yield b"retry: 2000\n\n"
            sent = None
            while not self._closed.is_set():
                changed = self._changed
                if sent != self.number:
                    sent = self.number
                    yield self._events(True)
                elif not await wait_for(changed, self._heartbeat_s):
                    yield self._events(False)
        finally:
            self.listeners -= 1

    def stop(self) -> None:
        """End all streams."""
        self._closed.set()
        self._changed.set()
