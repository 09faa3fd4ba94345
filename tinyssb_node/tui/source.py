"""The screen's source: a real node. The catalog is read without the daemon, everything else is requested from it."""

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from tinyssb_node.catalog.rows import PUBLIC, MessageRow, is_group
from tinyssb_node.content.files import File
from tinyssb_node.control.client import DaemonClient, DaemonError, DaemonUnreachableError
from tinyssb_node.daemon.config import read_config
from tinyssb_node.errors import LocalError
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens import group_files
from tinyssb_node.screens.conversation_files import ConversationFileDraft, save_file_of
from tinyssb_node.screens.conversation_threads import find_thread
from tinyssb_node.screens.error_texts import translated
from tinyssb_node.screens.group_changes import GroupChange, decisions, done_in_words, perform, preview
from tinyssb_node.screens.group_conversations import GroupMessageQueries, held_in_words, rooms
from tinyssb_node.screens.group_details import details
from tinyssb_node.screens.group_files import GroupFileDraft
from tinyssb_node.screens.holders_text import holders_texts
from tinyssb_node.screens.languages import t, tn
from tinyssb_node.screens.limits import WAITING_MAX
from tinyssb_node.screens.localfile import file_title, read_local_file
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.tail import event_folder
from tinyssb_node.screens.threads import thread_lines, thread_notes
from tinyssb_node.store.home import Home
from tinyssb_node.tui import limits
from tinyssb_node.tui.lines import name_of
from tinyssb_node.tui.logtail import LogTail
from tinyssb_node.tui.screen_state import ScreenRequest, ScreenState

_ROWS_MAX: Final = 500  # nobody scrolls further, and a set has 255 feeds in most meshes
Given = TypeVar("Given")


def _now_us() -> int:
    return time.time_ns() // 1_000


def _kept(talk: NodeSession, sight: ScreenState) -> ScreenState:
    """Return *sight* with the current state of the catalog."""
    asked, catalog = sight.asked, talk.catalog
    messages, waiting, older = sight.messages, sight.waiting, sight.older
    marks = talk.read_marks()
    if not is_group(asked.conversation):
        messages = catalog.messages(
            asked.conversation, before=asked.before, after=asked.after, limit=limits.MESSAGES_MAX
        )
        waiting = catalog.waiting(asked.conversation, WAITING_MAX)
        mark = marks.get(asked.conversation)
        older = 0 if mark is None else catalog.unread(asked.conversation, mark, limits.MESSAGES_MAX).older
    here = {row.id for row in messages}
    referred = {
        id_: found
        for row in messages
        for id_ in row.previous[:1]
        if id_ not in here and (found := catalog.message(id_)) is not None
    }
    people = catalog.people()
    return dataclasses.replace(
        sight,
        fault=None,
        read=marks,
        older=older,
        conversations=catalog.conversations()[:_ROWS_MAX],
        messages=messages,
        referred=referred,
        waiting=waiting,
        arriving=catalog.arriving(),
        people=people[:_ROWS_MAX],
        hidden_people=max(len(people) - _ROWS_MAX, 0),
        names=talk.names(),
    )


class NodeScreenSource:
    """A node by its home. After a failure the last known data stay shown, and each look retries."""

    def __init__(self, home: str | None, network: str | None, *, now_us: Callable[[], int] = _now_us) -> None:
        """Open the node in *home*. Raises ProblemError, ConfigError."""
        self._given, self._network = home, network
        found = Home.find(home, os.environ)
        found.require()
        config = read_config(found)
        if network is not None:
            config.find_network(network)
        self._socket = config.control.socket
        self._now_us = now_us
        self._sight = ScreenState(now_us=now_us())
        self._client: DaemonClient | None = None
        self._reader: NodeSession | None = None
        self._writer: NodeSession | None = None
        self._looks = 0
        self._stale = threading.Event()
        self._stale.set()
        self._log = LogTail(lambda: event_folder(home, network))
        self._log.start()

    # --- The thread that looks ---------------------------------------------------------------------------------------

    def look(self, asked: ScreenRequest) -> ScreenState:
        """Return the current state."""
        stale = self._stale.is_set()
        self._stale.clear()
        sight = dataclasses.replace(
            self._sight, now_us=self._now_us(), events=self._log.lines(), log_fault=self._log.fault
        )
        if asked.conversation != sight.asked.conversation:
            sight = dataclasses.replace(sight, messages=(), waiting=())
        stale = stale or asked != sight.asked
        sight = self._read(dataclasses.replace(sight, asked=asked), stale=stale)
        self._sight = self._ask(sight, stale=stale)
        self._looks += 1
        return self._sight

    def mark_read(self, seen: Mapping[str, int]) -> None:
        """Advance the marks of conversations, for all screens."""
        if self._reader is not None:
            self._reader.mark_read(seen)

    def _read(self, sight: ScreenState, *, stale: bool) -> ScreenState:
        """Read the catalog, if it may have changed."""
        try:
            if self._reader is None:
                self._reader = NodeSession.at_home(self._given, self._network)
                stale = True
            talk = self._reader
            changed = talk.changed() or stale or sight.fault is not None
            return _kept(talk, sight) if changed else sight
        except LocalError as error:
            self._close_reader()
            return dataclasses.replace(sight, fault=translated(error.message))

    def _ask(self, sight: ScreenState, *, stale: bool) -> ScreenState:
        """Request the daemon's state."""
        try:
            return self._asked(sight, stale=stale)
        except LocalError as error:
            self._hang_up()
            broken = isinstance(error, DaemonUnreachableError) and not isinstance(
                error.__cause__, TimeoutError
            )
            if not broken:
                return dataclasses.replace(sight, away=translated(error.message))
        # The daemon may have been restarted since: a new connection finds it, or shows the problem.
        try:
            return self._asked(sight, stale=True)
        except LocalError as error:
            self._hang_up()
            return dataclasses.replace(sight, away=translated(error.message))

    def _asked(self, sight: ScreenState, *, stale: bool) -> ScreenState:
        """Request the same once; feeds only if their number or frontier has changed. Raises LocalError."""
        if self._client is None:
            self._client = DaemonClient(self._socket, network=self._network, timeout_s=5.0)
            stale = True
        before, status = sight.status, self._client.status()
        changed = stale or before is None or before.networks != status.networks
        holders = sight.holders
        if changed or self._looks % 5 == 0:  # receipts change with what is heard, in minutes
            holders = self._holders(self._client, sight)
            sight = self._grouped(self._client, sight)
        return dataclasses.replace(
            sight,
            away=None,
            away_us=sight.now_us,
            status=status,
            faces=tuple(self._client.faces()),
            airtime=tuple(self._client.airtime()),
            holders=holders,
            feeds=tuple(self._client.feeds())[:_ROWS_MAX] if changed else sight.feeds,
        )

    def _holders(self, client: DaemonClient, sight: ScreenState) -> dict[MessageId, str]:
        """Return the receipts of our messages, in words."""
        own = {row.id.hex(): row.id for row in sight.messages if row.own}
        if not own:
            return {}

        def name(feed: str) -> str:
            return name_of(FeedId.from_hex(feed), sight.names)

        try:
            rows = list(client.receipts(last=limits.MESSAGES_MAX))
        except DaemonError:
            # An older daemon lacks this request; its other answers are still shown.
            return {}
        texts = holders_texts((row for row in rows if row.id in own), name, sight.now_us)
        return {own[id_]: text for id_, text in texts.items()}

    def _grouped(self, client: DaemonClient, sight: ScreenState) -> ScreenState:
        """Return *sight* with the groups, and the messages of an open one."""
        asked = sight.asked
        try:
            groups = rooms(client, sight.names)[:_ROWS_MAX]
            if is_group(asked.conversation):
                sight = self._open_group(client, sight)
        except DaemonError:
            # An older daemon lacks this request; its other answers are still shown.
            return sight
        words = {row.id: held_in_words(row, sight.names) for row in sight.messages}
        held = {id_: text for id_, text in words.items() if text is not None}
        return dataclasses.replace(sight, groups=groups, holders={**sight.holders, **held})

    def _open_group(self, client: DaemonClient, sight: ScreenState) -> ScreenState:
        """Return *sight* with the messages of the open group. Raises as the client does."""
        asked, queries = sight.asked, GroupMessageQueries(client, sight.names)
        mark = (sight.read or {}).get(asked.conversation)
        unread = None if mark is None else queries.unread(asked.conversation, mark, limits.MESSAGES_MAX)
        return dataclasses.replace(
            sight,
            messages=queries.messages(
                asked.conversation, before=asked.before, after=asked.after, limit=limits.MESSAGES_MAX
            ),
            waiting=queries.waiting(asked.conversation, WAITING_MAX),
            older=0 if unread is None else unread.older,
        )

    def _hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def end_looking(self) -> None:
        """Close the connection and the catalog."""
        self._log.close()
        self._hang_up()
        self._close_reader()

    # --- The thread that writes --------------------------------------------------------------------------------------

    def say(self, conversation: str, text: str, reply_to: MessageId | None = None) -> None:
        """Publish a message in a conversation. Raises LocalError."""
        self._do(lambda talk: talk.say(text, conversation, reply_to))

    def cost_question(
        self,
        text: str,
        conversation: str | None,
        people: Sequence[FeedId] = (),
        reply_to: MessageId | None = None,
    ) -> list[str]:
        """Return the cost of a message, if its author should agree to it first. Raises LocalError."""
        recipients = people if conversation is None else None
        where = conversation or PUBLIC
        return self._do(lambda talk: talk.cost_question(talk.post_packets(text, where, recipients, reply_to)))

    def cost_words(
        self,
        text: str,
        conversation: str | None,
        people: Sequence[FeedId] = (),
        reply_to: MessageId | None = None,
    ) -> str:
        """Return the cost of a message in one line; empty if it is not known now."""
        recipients = people if conversation is None else None
        where = conversation or PUBLIC
        try:
            return self._do(
                lambda talk: talk.cost_words(talk.post_packets(text, where, recipients, reply_to))
            )
        except LocalError:
            return ""  # sending will show what is wrong

    def tell(self, people: Sequence[FeedId], text: str) -> str:
        """Publish a private message; return its conversation. Raises LocalError."""

        def publish(talk: NodeSession) -> str:
            talk.say_private(text, people)
            talk.catch_up()
            return talk.conversation_with(people) or PUBLIC

        return self._do(publish)

    def follow(self, feed: FeedId, *, wanted: bool) -> None:
        """Request a feed from peers, or stop requesting it. Raises LocalError."""
        self._do(lambda talk: talk.follow(feed) if wanted else talk.unfollow(feed))

    def block(self, feed: FeedId, *, blocked: bool) -> None:
        """Hide a person, or show them again. Raises LocalError."""
        self._do(lambda talk: talk.block(feed) if blocked else talk.unblock(feed))

    def group_page(self, group: str) -> str:
        """Return everything about a group in words. Raises LocalError."""

        def read(talk: NodeSession) -> str:
            listing = talk.client.group_show(group)
            epochs = list(listing)
            return "\n".join(details(listing.result, epochs, talk.names()))

        return self._do(read)

    def group_decisions(self, group: str) -> list[tuple[GroupChange, str]]:
        """Return the decisions that wait for the user in a group. Raises LocalError."""
        return self._do(lambda talk: decisions(group, list(talk.client.group_review(group)), talk.names()))

    def group_preview(self, change: GroupChange) -> list[str]:
        """Return the cost and the limits of a change of a group. Raises LocalError."""
        return self._do(lambda talk: preview(talk.client, change, talk.names()))

    def subject_text(self) -> str:
        """Return the data of optional subjects in words. Raises LocalError."""
        pages = self._do(lambda talk: talk.subject_pages())
        texts = ["\n".join([f"{page.title}\n", *page.lines]) for page in pages]
        return "\n\n".join(texts) or t("No PZP messages are stored here: see `tinyssb pzp`.")

    def search(self, words: str) -> tuple[list[MessageRow], bool]:
        """Return messages with all these words, and whether private groups were searched. Raises LocalError."""
        return self._do(lambda talk: talk.search(words, limits.MESSAGES_MAX))

    def thread(self, conversation: str, message: MessageId) -> str:
        """Return the thread of a message of a conversation or a group in lines of text. Raises LocalError."""

        def read(talk: NodeSession) -> str:
            found, names = find_thread(talk, conversation, message), talk.names()
            return "\n".join([*thread_lines(found.messages, names), *thread_notes(found, names)])

        return self._do(read)

    def file_to_send(
        self, conversation: str, path: str
    ) -> tuple[GroupFileDraft | ConversationFileDraft, list[str]]:
        """Read a file of this machine for a conversation or a group; return it with its size and cost. Raises
        LocalError."""
        file = read_local_file(Path(path).expanduser())
        if is_group(conversation):
            of_group = GroupFileDraft(conversation, file)
            return of_group, self._do(
                lambda talk: group_files.preview(talk.client, of_group, of_group.cost(talk.client))
            )
        draft = ConversationFileDraft(file, conversation)
        return draft, self._do(draft.cost_lines)

    def send_file(self, draft: GroupFileDraft | ConversationFileDraft) -> str:
        """Publish a file; return what was done. Raises LocalError."""

        def publish(talk: NodeSession) -> int:
            if isinstance(draft, GroupFileDraft):
                return draft.publish(talk.client).packets
            return 1 + draft.publish(talk).chunks

        packets = self._do(publish)
        file = file_title(draft.file)
        return tn(packets, "Sent {file} in {n} packet.", "Sent {file} in {n} packets.", file=file)

    def save_file(self, conversation: str, message: MessageId) -> str:
        """Save the file in a message of a conversation or a group in the current folder. Raises LocalError."""

        def save(talk: NodeSession) -> tuple[File, Path]:
            if is_group(conversation):
                return group_files.save(talk.client, conversation, message.hex(), None)
            talk.catch_up()
            return save_file_of(talk, message, None)

        file, path = self._do(save)
        return tn(len(file.data), "Saved {path}, {n} byte.", "Saved {path}, {n} bytes.", path=path.absolute())

    def change_group(self, change: GroupChange) -> str:
        """Make a change of a group; return what was done. Raises LocalError."""
        return self._do(lambda talk: done_in_words(change, perform(talk.client, change), talk.names()))

    def _do(self, work: Callable[[NodeSession], Given]) -> Given:
        if self._writer is None:
            self._writer = NodeSession.at_home(self._given, self._network)
        # An old connection may be to a daemon that has ended.
        self._writer.hang_up()
        # A new message follows all earlier ones.
        self._writer.catch_up()
        given = work(self._writer)
        self._stale.set()
        return given

    def end_writing(self) -> None:
        """Close the connection and the catalog."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
