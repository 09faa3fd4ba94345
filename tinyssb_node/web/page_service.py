"""Service of all open pages: one thread reads, another writes, and both have bounded queues."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from tinyssb_node.content.files import File
from tinyssb_node.control.client import DaemonError, DaemonUnreachableError
from tinyssb_node.control.rows import ImportedRow, ReceiptRow
from tinyssb_node.errors import BusyError, LocalError
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens import group_files
from tinyssb_node.screens.conversation_files import ConversationFileDraft, read_file_of
from tinyssb_node.screens.error_texts import translated
from tinyssb_node.screens.estimate import estimate
from tinyssb_node.screens.group_changes import GroupChange
from tinyssb_node.screens.group_files import GroupFileDraft
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.web import limits, views
from tinyssb_node.web.answers import PublishedAnswers
from tinyssb_node.web.errors import EventLogUnreadableError
from tinyssb_node.web.history import EventHistory, until
from tinyssb_node.web.opener import NodeOpener
from tinyssb_node.web.page_server.event_streams import EventStreams, make_event, wait_for
from tinyssb_node.web.shapes import NodeFigures, Shape, alert_shape, cost_shape, node_shape
from tinyssb_node.web.views import OutgoingMessage

Found = TypeVar("Found")


class NodeWorker:
    """A thread with its own node session, opened when first needed, and again after a failure."""

    def __init__(self, opener: NodeOpener, name: str) -> None:
        self._opener = opener
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._waiting = 0
        self._held: NodeSession | None = None
        self._node: NodeSession | None = None

    async def with_node(self, work: Callable[[NodeSession], Found]) -> Found:
        """Do *work* in the thread. Raises LocalError."""
        return await self.do(lambda: self._with_node(work))

    async def do(self, work: Callable[[], Found]) -> Found:
        """Do *work* in the thread. Raises BusyError, and what it raises."""
        if self._waiting >= 64:  # each takes some milliseconds
            raise BusyError("The node is busy with other requests.", "Try again in a moment.")
        self._waiting += 1
        try:
            # The language of the request is in its context.
            return await asyncio.get_running_loop().run_in_executor(self._thread, copy_context().run, work)
        finally:
            self._waiting -= 1

    def _with_node(self, work: Callable[[NodeSession], Found]) -> Found:
        if self._node is None:
            self._held = self._opener.node()
            self._node = self._held.__enter__()
        try:
            return work(self._node)
        except LocalError:
            # The daemon may have been restarted, or the store replaced: the next request opens them again.
            self._let_go()
            raise

    def _let_go(self) -> None:
        held, self._held, self._node = self._held, None, None
        if held is not None:
            held.__exit__(None, None, None)

    async def close(self) -> None:
        """Close the session, and end the thread."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._let_go)
        self._thread.shutdown()


class PageService:
    """Reader and writer for pages, and notifier of pages that listen."""

    def __init__(
        self, opener: NodeOpener, answered: PublishedAnswers, *, tick_s: float, sign_s: float
    ) -> None:
        """Create a service that polls every *tick_s* seconds, and sends a keepalive after *sign_s* without changes.

        What *answered* knows is not published again.
        """
        self._opener = opener
        self._reader = NodeWorker(opener, "reading")
        self._writer = NodeWorker(opener, "writing")
        self._observer = NodeWorker(opener, "observing")
        self._history: EventHistory | None = None
        self._alerts: Shape = {}
        self._checked_s = -limits.CHECK_S
        self._streams = EventStreams(poll=self._poll, events=self._events, tick_s=tick_s, heartbeat_s=sign_s)
        self._sign_s = sign_s
        self._answered = answered
        self._publishing: dict[str, asyncio.Task[Shape]] = {}
        self._problem: str | None = None
        self._pinged_s = 0.0
        self._ready = asyncio.Event()
        self._progress = 0, 0

    async def read(self, view: Callable[[NodeSession], Shape]) -> Shape:
        """Return the result of a view of the current data. Raises LocalError."""
        await self._wait_until_ready()

        def look(node: NodeSession) -> Shape:
            node.catch_up()
            return view(node)

        return await self._reader.with_node(look)

    async def _wait_until_ready(self) -> None:
        if not self._ready.is_set() and not await wait_for(self._ready, limits.PATIENCE_S):
            done, total = self._progress
            share = f"{100 * done // total} %" if total else "a part"
            raise BusyError(
                f"The node indexes its messages for the first time: {share} is done.", "Wait a little."
            )

    async def change(self, action: Callable[[NodeSession], Shape]) -> Shape:
        """Do something as the node. Raises LocalError."""
        return await self._writer.with_node(action)

    async def set(self, action: Callable[[NodeSession], Shape]) -> Shape:
        """Change a setting that all pages show. Raises LocalError."""
        found = await self.change(action)
        self._streams.notify()
        return found

    async def say(self, message: OutgoingMessage) -> Shape:
        """Publish a message, once, however often the same page requests it. Raises LocalError."""
        return await self.once(message.once, lambda node: views.say(node, message))

    async def change_group(self, change: GroupChange, once: str) -> Shape:
        """Make a change of a group, once in the same way. Raises LocalError."""
        return await self.once(once, lambda node: views.change_group(node, change))

    async def preview_group(self, change: GroupChange) -> Shape:
        """Return the cost and the limits of a change of a group. Raises LocalError."""
        return await self.change(lambda node: views.preview_group(node, change))

    async def attach_cost(self, draft: GroupFileDraft) -> Shape:
        """Return what a file in a group would cost. Raises LocalError."""
        return await self.change(lambda node: views.attach_cost(node, draft))

    async def attach(self, draft: GroupFileDraft, once: str, *, agreed: bool) -> Shape:
        """Publish a file in a group, once in the same way. Raises LocalError."""
        return await self.once(once, lambda node: views.attach(node, draft, agreed=agreed))

    async def file_cost(self, draft: ConversationFileDraft) -> Shape:
        """Return what a file in a conversation would cost. Raises LocalError."""
        return await self.change(lambda node: views.file_cost(node, draft))

    async def publish_file(self, draft: ConversationFileDraft, once: str, *, agreed: bool) -> Shape:
        """Publish a file in a conversation, once in the same way. Raises LocalError."""
        return await self.once(once, lambda node: views.publish_file(node, draft, agreed=agreed))

    async def conversation_file(self, message: MessageId) -> tuple[File, str]:
        """Return the file in a message of a conversation, and a safe name for it. Raises LocalError."""
        return await self.with_reader(lambda node: read_file_of(node, message))

    async def with_reader(self, work: Callable[[NodeSession], Found]) -> Found:
        """Return what *work* finds in the current data. Raises LocalError."""
        await self._wait_until_ready()
        return await self._reader.with_node(work)

    async def carry(self, feed: FeedId, packets: Sequence[bytes]) -> ImportedRow:
        """Hand over an entry of a guest's *feed* with its side chain. Raises LocalError."""
        row = await self._writer.with_node(lambda node: node.client.import_packets(feed.hex(), packets))
        if row.entries or row.chunks:
            self._streams.notify()
        return row

    def network_prefix(self) -> bytes:
        """Return the first bytes of all that is signed in the node's network."""
        return self._opener.network_prefix()

    async def group_file(self, group: str, message: str) -> tuple[File, str]:
        """Return the file in a message of a group, and a safe name for it. Raises LocalError."""
        return await self._writer.with_node(lambda node: group_files.fetch(node.client, group, message))

    async def once(self, once: str, action: Callable[[NodeSession], Shape]) -> Shape:
        """Do *action*, which publishes something, once for all requests with the same id. Raises LocalError."""
        await self._wait_until_ready()
        if (answer := self._answered.find(once)) is not None:
            return answer
        publishing = self._publishing.get(once)
        if publishing is None:
            publishing = asyncio.create_task(self.change(lambda node: self._publish(node, once, action)))
            publishing.add_done_callback(lambda task: self._was_published(once, task))
            self._publishing[once] = publishing
        # A page that is closed does not cancel its request.
        return await asyncio.shield(publishing)

    def _publish(self, node: NodeSession, once: str, action: Callable[[NodeSession], Shape]) -> Shape:
        answer = action(node)
        self._answered.note(once, answer)
        return answer

    def _was_published(self, once: str, publishing: asyncio.Task[Shape]) -> None:
        del self._publishing[once]
        if not publishing.cancelled() and publishing.exception() is None:
            self._streams.notify()

    async def node(self) -> Shape:
        """Return the node's status. Raises BusyError, DaemonUnreachableError."""
        return await self._writer.do(self._ask_node)

    def _ask_node(self) -> Shape:
        return node_shape(self._ask_figures())

    async def history(self) -> Shape:
        """Return the last week by the hour, as far as the event log has been read. Raises BusyError,
        EventLogUnreadableError, and as the opener does."""
        return await self._observer.do(self._read_history)

    def _read_history(self) -> Shape:
        if self._history is None:
            self._history = EventHistory(self._opener.event_log())
        try:
            share = self._history.read(time.time_ns() // 1_000, until(limits.HISTORY_SLICE_S))
        except OSError as error:
            raise EventLogUnreadableError(self._opener.event_log(), error) from error
        return {"read": share, "first_us": self._history.first_us, **self._history.columns()}

    async def alerts(self) -> Shape:
        """Return what is wrong with the node, found within the last seconds. Raises BusyError."""
        return await self._observer.do(self._check)

    def _check(self) -> Shape:
        if time.monotonic() - self._checked_s >= limits.CHECK_S:
            self._alerts = {"alerts": [alert_shape(one) for one in self._opener.problems()]}
            self._checked_s = time.monotonic()
        return self._alerts

    async def figures(self) -> NodeFigures | None:
        """Return the node's figures for Prometheus; None if the daemon does not answer. Raises BusyError."""
        try:
            return await self._writer.do(self._ask_figures)
        except DaemonUnreachableError:
            return None

    def _ask_figures(self) -> NodeFigures:
        with self._opener.daemon() as daemon:
            status, faces, airtime = daemon.status(), list(daemon.faces()), list(daemon.airtime())
            try:
                neighbours = list(daemon.neighbours())
            except DaemonError:  # it is older than this page
                neighbours = []
            return NodeFigures(status, faces, airtime, neighbours)

    async def cost(self, message: OutgoingMessage) -> Shape:
        """Return what publishing would cost. Raises LocalError."""
        packets = await self._reader.with_node(lambda node: views.draft_packets(node, message))
        return await self._writer.do(lambda: self._ask_cost(packets))

    def _ask_cost(self, packets: int) -> Shape:
        with self._opener.daemon() as daemon:
            return cost_shape(packets, estimate(packets, list(daemon.faces()), list(daemon.airtime())))

    async def receipts(self) -> Shape:
        """Return the receipts of our latest messages. Raises LocalError."""
        rows = await self._writer.do(self._ask_receipts)
        return await self.read(lambda node: views.receipts(node, rows))

    async def receipt(self, message: str) -> Shape:
        """Return which people and nodes have a message of ours. Raises LocalError."""
        rows = await self._writer.do(self._ask_receipts)
        return await self.read(lambda node: views.receipt(node, rows, message))

    def _ask_receipts(self) -> list[ReceiptRow]:
        with self._opener.daemon() as daemon:
            return list(daemon.receipts(last=limits.ROWS))

    def _progressed(self, done: int, total: int) -> None:
        self._progress = done, total

    async def run(self) -> None:
        """Index the store, then poll once a tick while any page listens, until closed."""
        try:
            await self._reader.with_node(lambda node: node.catch_up(self._progressed))
        except LocalError as error:
            self._problem = error.message  # repeated to each page that asks
        self._ready.set()
        await self._streams.run()

    async def _poll(self) -> None:
        if not self._ready.is_set():
            return
        problem = None
        try:
            changed = await self._reader.with_node(lambda node: node.changed())
            if time.monotonic() - self._pinged_s >= self._sign_s:
                self._pinged_s = time.monotonic()
                await self._writer.do(self._ping_daemon)
            else:
                problem = self._problem
        except LocalError as error:
            changed, problem = False, error.message
        if changed or problem != self._problem:
            self._problem = problem
            self._streams.notify()

    def _ping_daemon(self) -> None:
        with self._opener.daemon() as daemon:
            daemon.status()

    def listen(self) -> AsyncGenerator[bytes]:
        """Return server-sent events: `change` at once and after each change, `sign` (a keepalive with this machine's
        time) in between. Raises BusyError."""
        if self._streams.listeners >= limits.LISTENERS_MAX:
            raise BusyError(
                f"{limits.LISTENERS_MAX} pages are open, the most that this node serves.",
                "Close one of them; this one retries automatically.",
            )
        return self._streams.listen()

    def _events(self, changed: bool) -> bytes:
        content: Shape = {"now_us": time.time_ns() // 1_000}
        if changed:
            problem = None if self._problem is None else translated(self._problem)
            content = {"number": self._streams.number, "problem": problem, **content}
        return make_event("change" if changed else "sign", json.dumps(content).encode())

    def stop(self) -> None:
        """End all event streams."""
        self._streams.stop()

    async def close(self) -> None:
        """End all event streams, and close both sessions."""
        self.stop()
        await self._reader.close()
        await self._writer.close()
        await self._observer.close()
