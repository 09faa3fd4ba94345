"""Answers for all pages: one thread reads, another writes, and what waits for them is bounded."""

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

from tinyssb_node.control.rows import ReceiptRow
from tinyssb_node.errors import LocalError
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import Dialect
from tinyssb_node.screens.estimate import estimate
from tinyssb_node.web import limits, views
from tinyssb_node.web.errors import CatchingUpError, ServerBusyError, TooManyListenersError
from tinyssb_node.web.ports import NodePort, NodePortOpener, OutgoingMessage
from tinyssb_node.web.shapes import Shape, cost_shape, node_shape

Found = TypeVar("Found")


class NodeWorker:
    """A thread with a voice of its own, opened when it is first needed, and anew after it failed."""

    def __init__(self, opener: NodePortOpener, name: str) -> None:
        self._opener = opener
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._waiting = 0
        self._held: AbstractContextManager[NodePort] | None = None
        self._voice: NodePort | None = None

    async def with_voice(self, work: Callable[[NodePort], Found]) -> Found:
        """Do *work* in the thread. Raises TooBusyError, LocalError."""
        return await self.do(lambda: self._with_voice(work))

    async def do(self, work: Callable[[], Found]) -> Found:
        """Do *work* in the thread. Raises TooBusyError, and what it raises."""
        if self._waiting >= limits.QUESTIONS_MAX:
            raise ServerBusyError
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    def _with_voice(self, work: Callable[[NodePort], Found]) -> Found:
        if self._voice is None:
            self._held = self._opener.voice()
            self._voice = self._held.__enter__()
        try:
            return work(self._voice)
        except LocalError:
            # The daemon may have been started anew, the store replaced: what is opened next is what is there then.
            self._let_go()
            raise

    def _let_go(self) -> None:
        held, self._held, self._voice = self._held, None, None
        if held is not None:
            held.__exit__(None, None, None)

    async def close(self) -> None:
        """Let go of everything."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._let_go)
        self._thread.shutdown()


class PageService:
    """Answers pages, and tells those that listen of each change."""

    def __init__(self, opener: NodePortOpener, *, tick_s: float, sign_s: float) -> None:
        """Look for news every *tick_s* seconds; give a sign of life after *sign_s* without any."""
        self._opener = opener
        self._reader = NodeWorker(opener, "reading")
        self._writer = NodeWorker(opener, "writing")
        self._tick_s = tick_s
        self._sign_s = sign_s
        self._sent: OrderedDict[OutgoingMessage, asyncio.Task[Shape]] = OrderedDict()
        self._listeners = 0
        self._number = 0
        self._problem: str | None = None
        self._looked_s = 0.0
        self._news = asyncio.Event()
        self._closed = asyncio.Event()
        self._ready = asyncio.Event()
        self._progress = 0, 0

    async def read(self, view: Callable[[NodePort], Shape]) -> Shape:
        """The answer of a view, of what is held now. Raises TooBusyError, CatchingUpError, LocalError."""

        await self._wait_until_ready()

        def look(voice: NodePort) -> Shape:
            voice.catch_up()
            return view(voice)

        return await self._reader.with_voice(look)

    async def _wait_until_ready(self) -> None:
        if not self._ready.is_set() and not await _wait(self._ready, limits.PATIENCE_S):
            raise CatchingUpError(*self._progress)

    async def change(self, deed: Callable[[NodePort], Shape]) -> Shape:
        """Do something in the node's name. Raises TooBusyError, LocalError."""
        return await self._writer.with_voice(deed)

    async def say(self, saying: OutgoingMessage) -> Shape:
        """Publish, once, however often it is asked for by the same page.

        Raises TooBusyError, CatchingUpError, LocalError.
        """
        await self._wait_until_ready()
        sending = self._sent.get(saying)
        if sending is None:
            sending = asyncio.create_task(self.change(lambda voice: views.say(voice, saying)))
            sending.add_done_callback(lambda task: self._was_said(saying, task))
            self._sent[saying] = sending
            if len(self._sent) > limits.SENT_MAX:
                self._sent.popitem(last=False)
        # A page that goes away does not take its message back.
        return await asyncio.shield(sending)

    def _was_said(self, saying: OutgoingMessage, sending: asyncio.Task[Shape]) -> None:
        if sending.cancelled() or sending.exception() is not None:
            self._sent.pop(saying, None)
        else:
            self._tell()

    async def node(self) -> Shape:
        """How the node is. Raises TooBusyError, DaemonUnreachableError."""
        return await self._writer.do(self._ask_node)

    def _ask_node(self) -> Shape:
        with self._opener.daemon() as daemon:
            return node_shape(daemon.status(), list(daemon.faces()), list(daemon.airtime()))

    async def cost(self, saying: OutgoingMessage) -> Shape:
        """What saying it would cost. Raises TooBusyError, DaemonUnreachableError, LocalError."""
        size = await self._reader.with_voice(lambda voice: views.draft_size(voice, saying))
        return await self._writer.do(lambda: self._ask_cost(size))

    def _ask_cost(self, size: int) -> Shape:
        with self._opener.daemon() as daemon:
            packets = packet_count(size, Dialect(daemon.status().dialect))
            return cost_shape(packets, estimate(packets, list(daemon.faces()), list(daemon.airtime())))

    async def receipts(self) -> Shape:
        """Who has the latest of our own messages. Raises TooBusyError, DaemonUnreachableError, LocalError."""
        rows = await self._writer.do(self._ask_receipts)
        return await self.read(lambda voice: views.receipts(voice, rows))

    def _ask_receipts(self) -> list[ReceiptRow]:
        with self._opener.daemon() as daemon:
            return list(daemon.receipts(last=limits.ROWS))

    def _progressed(self, done: int, total: int) -> None:
        self._progress = done, total

    async def run(self) -> None:
        """Go through what is held, then look for news once a tick while anybody listens, until closed."""
        try:
            await self._reader.with_voice(lambda voice: voice.catch_up(self._progressed))
        except LocalError as error:
            self._problem = error.message  # said again to whoever asks
        self._ready.set()
        while not self._closed.is_set():
            if self._listeners:
                await self._look()
            await _wait(self._closed, self._tick_s)

    async def _look(self) -> None:
        problem = None
        try:
            changed = await self._reader.with_voice(lambda voice: voice.changed())
            if time.monotonic() - self._looked_s >= self._sign_s:
                self._looked_s = time.monotonic()
                await self._writer.do(self._ask_life)
            else:
                problem = self._problem
        except LocalError as error:
            changed, problem = False, error.message
        if changed or problem != self._problem:
            self._problem = problem
            self._tell()

    def _ask_life(self) -> None:
        with self._opener.daemon() as daemon:
            daemon.status()

    def _tell(self) -> None:
        self._number += 1
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def listen(self) -> AsyncGenerator[bytes]:
        """Server-sent events: `change` at once and after each change, `sign` with this machine's time between them.

        A page that is slow skips what it had no time for, so nothing ever queues. Raises TooManyPagesError.
        """
        if self._listeners >= limits.LISTENERS_MAX:
            raise TooManyListenersError
        self._listeners += 1
        try:
            if self._ready.is_set():
                await self._look()
            yield b"retry: %d\n\n" % limits.RETRY_MS
            sent = None
            while not self._closed.is_set():
                news = self._news
                if sent != self._number:
                    sent = self._number
                    yield _event("change", {"number": sent, "problem": self._problem, "now_us": _now_us()})
                elif not await _wait(news, self._sign_s):
                    yield _event("sign", {"now_us": _now_us()})
        finally:
            self._listeners -= 1

    def stop(self) -> None:
        """End all listening."""
        self._closed.set()
        self._news.set()

    async def close(self) -> None:
        """End all listening, and let go of everything."""
        self.stop()
        await self._reader.close()
        await self._writer.close()


def _event(name: str, data: Shape) -> bytes:
    """One event of the stream (HTML Living Standard, 9.2); JSON has no line feeds inside."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), json.dumps(data).encode())


def _now_us() -> int:
    return time.time_ns() // 1_000


async def _wait(event: asyncio.Event, timeout_s: float) -> bool:
    """Whether the event was set within the time."""
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except TimeoutError:
        return False
    return True
