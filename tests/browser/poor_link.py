"""A poor link between a browser and a server: a TCP proxy with a round-trip time and lost packets.

Chromium's own emulation delays requests and loses nothing. TCP hides lost packets from programs: what they see is
waiting. So this proxy delivers every byte, as late as TCP would: a lost segment comes after a timeout that doubles
(RFC 6298), what was sent behind it waits for it, and a loss halves the window (RFC 5681).
"""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final
from urllib.parse import urlsplit

SEGMENT: Final = 1_400
"""Bytes of a segment."""
WINDOW: Final = 10
"""Segments that may be under way at first (RFC 6928)."""
TIMEOUT_MAX_S: Final = 16.0
"""A retransmission timeout doubles up to here."""


@dataclass(slots=True, kw_only=True)
class PoorLink:
    """Properties of the link, and what happened on it."""

    round_trip_s: float
    loss: float
    """Share of segments that are lost, handshakes and acknowledgements included."""
    seed: int = 1
    down: bool = False
    """Connections are cut, and new ones are refused."""
    sent: int = 0
    """Bytes from the server to the browser."""
    connections: int = 0

    def delay_s(self, random: Random) -> tuple[float, int]:
        """Return how long a segment takes to arrive, and how many times it was lost."""
        losses, timeout_s, total_s = 0, max(1.0, 1.5 * self.round_trip_s), self.round_trip_s / 2
        while random.random() < self.loss:
            losses += 1
            total_s += timeout_s
            timeout_s = min(2 * timeout_s, TIMEOUT_MAX_S)
        return total_s, losses


class _Direction:
    """One direction of a connection: segments arrive in order, each when its turn and its packet have come."""

    def __init__(self, link: PoorLink, random: Random, ready_s: float) -> None:
        self._link = link
        self._random = random
        self._window = WINDOW
        self._acknowledged_s: list[float] = []
        self._arrived_s = ready_s

    def arrival_s(self, now_s: float) -> float:
        """Return when the next segment arrives."""
        place = len(self._acknowledged_s) - self._window
        sent_s = max(now_s, self._acknowledged_s[place] if place >= 0 else 0.0)
        delay_s, losses = self._link.delay_s(self._random)
        self._window = max(1, self._window // 2**losses) if losses else self._window + 1
        self._arrived_s = max(self._arrived_s, sent_s + delay_s)
        self._acknowledged_s.append(self._arrived_s + self._link.round_trip_s / 2)
        return self._arrived_s


async def _pump(
    link: PoorLink, way: _Direction, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, count: bool
) -> None:
    loop = asyncio.get_running_loop()
    arrivals: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def deliver() -> None:
        while True:
            due_s, data = await arrivals.get()
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            if not data:
                sink.close()
                return
            link.sent += len(data) if count else 0
            sink.write(data)
            await sink.drain()

    delivering = asyncio.create_task(deliver())
    with contextlib.suppress(ConnectionError):
        while data := await source.read(SEGMENT):
            arrivals.put_nowait((way.arrival_s(loop.time()), data))
    arrivals.put_nowait((way.arrival_s(loop.time()), b""))
    with contextlib.suppress(ConnectionError):
        await delivering


async def _serve(
    link: PoorLink, port: int, ready: "threading.Event", ports: list[int], end: asyncio.Event
) -> None:
    random = Random(link.seed)
    loop = asyncio.get_running_loop()
    open_: set[asyncio.StreamWriter] = set()

    async def connect(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.CancelledError, ConnectionError), contextlib.ExitStack() as ending:
            ending.callback(sink.transport.abort)
            ending.callback(open_.discard, sink)
            if link.down:
                return
            link.connections += 1
            open_.add(sink)
            # The handshake needs a round trip, and may be lost on both ways.
            ready_s = loop.time() + link.delay_s(random)[0] + link.delay_s(random)[0]
            up, down = _Direction(link, random, ready_s), _Direction(link, random, ready_s)
            far_source, far_sink = await asyncio.open_connection("127.0.0.1", port)
            ending.callback(far_sink.transport.abort)
            await asyncio.gather(
                _pump(link, up, source, far_sink, count=False),
                _pump(link, down, far_source, sink, count=True),
            )

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    ports.append(server.sockets[0].getsockname()[1])
    ready.set()
    while not end.is_set():
        if link.down:
            for sink in open_:
                sink.transport.abort()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(end.wait(), 0.02)
    server.close()


@contextlib.contextmanager
def over(link: PoorLink, address: str) -> Iterator[str]:
    """Give the address at which the server at *address* is reached over *link*."""
    ready, ports = threading.Event(), list[int]()
    loop, end = asyncio.new_event_loop(), asyncio.Event()
    port = urlsplit(address).port or 0

    async def run() -> None:
        await _serve(link, port, ready, ports, end)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.sleep(0)  # aborted connections are closed in the next step

    thread = threading.Thread(target=lambda: (loop.run_until_complete(run()), loop.close()))
    thread.start()
    try:
        ready.wait()
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
