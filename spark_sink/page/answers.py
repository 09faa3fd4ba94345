"""Answers for everybody: one thread asks the database, and what it found is kept until the database changes."""

import asyncio
import gzip
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from spark_sink.errors import OverloadedError
from spark_sink.page import limits
from spark_sink.page.caption import Caption
from spark_sink.page.csv_export import sheet
from spark_sink.page.reader import DatabaseState, ReconnectingReader, serialize
from spark_sink.page.scope import Answer, Question, Scope
from tinyssb_node.web.page_server.event_streams import EventStreams, make_event

Found = TypeVar("Found")
_BUSY_RETRY_S: Final = 2
_FULL_RETRY_S: Final = 10


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """A request for a view, and the format of the answer."""

    view: str
    question: Question
    csv: bool = False
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Payload:
    """An answer ready to be sent."""

    body: bytes
    packed: bytes | None
    """The same, compressed by gzip if that pays."""
    etag: str
    csv: bool


def make_payload(body: bytes, *, csv: bool = False) -> Payload:
    """Return an answer with its tag, and compressed if it is large: what is smaller fits into one packet anyway.

    Level 4 saves four fifths of what level 9 saves, for a third of its time.
    """
    packed = gzip.compress(body, 4, mtime=0) if len(body) > 1_024 else None
    return Payload(body, packed, f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"', csv)


class AnswerService:
    """Answers requests about one database, and notifies listeners of each change."""

    def __init__(self, name: str, caption: Caption | None = None) -> None:
        self._source = ReconnectingReader(name)
        self._caption = caption or Caption(None)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="serving-database")
        self._streams = EventStreams(
            poll=self._look_for_news,
            events=self._events,
            tick_s=0.1,  # shorter delays feel immediate, and a check without a change costs 0.1 ms
            heartbeat_s=5.0,  # three missing ones mean a lost connection
        )
        self._waiting = 0
        self._moment: DatabaseState | None = None
        self._kept: OrderedDict[ViewRequest, Payload] = OrderedDict()
        self._kept_size = 0
        self._news_payload = b""
        self._caption_text = ""

    @property
    def listeners(self) -> int:
        """Number of pages that listen now."""
        return self._streams.listeners

    async def answer(self, request: ViewRequest) -> Payload:
        """Return the answer, from what is kept if nothing changed. Raises OverloadedError, BadQuestionError,
        NotKnownError."""
        return await self._in_thread(lambda: self._answer(request))

    async def look(self) -> DatabaseState:
        """Return the state of the database now. Raises OverloadedError."""
        return await self._in_thread(self._source.look)

    async def read(self, work: Callable[[Scope], Answer]) -> Answer | None:
        """Compute something else from one state of the database; None without data. Raises OverloadedError."""
        return await self._in_thread(lambda: self._source.read(work))

    async def _in_thread(self, work: Callable[[], Found]) -> Found:
        if self._waiting >= limits.WAITING_MAX:
            raise OverloadedError("The server is overloaded; the page tries again by itself.", _BUSY_RETRY_S)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    def _answer(self, request: ViewRequest) -> Payload:
        moment = self._source.look()
        if moment != self._moment:
            self._moment = moment
            self._kept.clear()
            self._kept_size = 0
        payload = self._kept.get(request)
        if payload is None:
            answer = self._source.ask(request.view, request.question)
            ready = answer["state"] == "ready"
            if request.csv and ready:
                payload = make_payload(sheet(request.view, answer, request.table), csv=True)
            else:
                payload = make_payload(serialize(answer))
            if ready:
                self._keep(request, payload)
        else:
            self._kept.move_to_end(request)
        return payload

    def _keep(self, request: ViewRequest, payload: Payload) -> None:
        self._kept[request] = payload
        self._kept_size += _size(payload)
        while self._kept_size > 32 * 2**20:
            _oldest, gone = self._kept.popitem(last=False)
            self._kept_size -= _size(gone)

    async def run(self) -> None:
        """Check for changes once a tick while a page listens, until closed.

        An answer to nobody comes first: it loads libraries, which takes half a second, before anybody waits for it.
        """
        await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, _NEWS)
        await self._streams.run()

    async def _look_for_news(self) -> None:
        payload = (await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, _NEWS)).body
        caption = self._caption.text()
        if (payload, caption) != (self._news_payload, self._caption_text):
            self._news_payload, self._caption_text = payload, caption
            self._streams.notify()

    def listen(self) -> AsyncGenerator[bytes]:
        """Return server-sent events: ``change`` with the newest summary, at once and each time it changes, ``caption``
        with the operator's text, ``clock`` with this machine's time before them and as a sign of life.

        Raises OverloadedError if there are ``limits.CLIENTS_MAX`` listeners.
        """
        if self._streams.listeners >= limits.CLIENTS_MAX:
            raise OverloadedError(
                f"{limits.CLIENTS_MAX} pages are open already, as many as this server takes. "
                "Close one of them, then reload this one.",
                _FULL_RETRY_S,
            )
        return self._streams.listen()

    def _events(self, changed: bool) -> bytes:
        clock = make_event("clock", b'{"now_us":%d}' % (time.time_ns() // 1_000))
        if not changed:
            return clock
        caption = json.dumps({"text": self._caption_text}).encode()
        return clock + make_event("caption", caption) + make_event("change", self._news_payload)

    def stop(self) -> None:
        """End all listening."""
        self._streams.stop()

    async def close(self) -> None:
        """End all listening and close the database."""
        self.stop()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._source.close)
        self._thread.shutdown()


_NEWS = ViewRequest("summary", Question())


def _size(payload: Payload) -> int:
    return len(payload.body) + len(payload.packed or b"")
