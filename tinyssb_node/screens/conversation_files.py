"""Files for everybody or for some people, for screens: what one costs, how it is published, and how it is read."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tinyssb_node.catalog.rows import PUBLIC, MessageKind
from tinyssb_node.content.files import File, parse_file, serialize_file
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.languages import t
from tinyssb_node.screens.localfile import clean_name, file_title, save_file

_VOICE_TYPE = "audio/x-codec2"
"""Type of a file with recorded voice."""

if TYPE_CHECKING:
    from tinyssb_node.control.rows import PublishedRow
    from tinyssb_node.ids import FeedId, MessageId
    from tinyssb_node.screens.session import NodeSession


@dataclass(frozen=True, slots=True)
class ConversationFileDraft:
    """A file that is about to be published, for everybody or in a private conversation."""

    file: File
    """Its time is that of publishing, whatever it states."""
    conversation: str = PUBLIC
    """The name of the conversation; meaningless beside *people*."""
    people: tuple[FeedId, ...] = ()
    """The other people who shall be able to read it; none: those of the conversation."""

    def packets(self, node: NodeSession) -> int:
        """Return the packets that it would take. Raises FileNameError, FileTooLongError, ReaderKeyError,
        RecipientCountError, ProblemError, and as the client does."""
        return node.packets_of(self.content(node))

    def cost_lines(self, node: NodeSession) -> list[str]:
        """Return its size, its readers and its cost in lines. Raises as above."""
        readers = self._readers(node)
        people = ", ".join(map(node.names().shown, readers[:-1]))
        words = t("only {people} can read it", people=people) if readers else t("everybody can read it")
        return [file_title(self.file), f"  {words}", f"  {node.cost_words(self.packets(node))}"]

    def question(self, node: NodeSession) -> list[str]:
        """Return its size and its cost in lines, if its author should agree to it first; else nothing. Raises as
        above."""
        cost = node.cost_question(self.packets(node))
        return [file_title(self.file), *cost] if cost else []

    def publish(self, node: NodeSession) -> PublishedRow:
        """Publish it. Raises as above."""
        return node.publish(self.content(node))

    def content(self, node: NodeSession) -> bytes:
        """Return the content of its entry. Raises as above."""
        file, readers = replace(self.file, said_s=int(time.time())), self._readers(node)
        if not readers:
            return serialize_file(file)
        from tinyssb_node.screens.drafts import private_file_draft

        return private_file_draft(file, readers)

    def _readers(self, node: NodeSession) -> tuple[FeedId, ...]:
        """Return its readers, ourselves last; none: everybody."""
        others = self.people or node.members(self.conversation)
        if not others:
            return ()
        from tinyssb_node.content.private import circle

        return circle(node.own, others)


def read_file_of(node: NodeSession, id_: MessageId) -> tuple[File, str]:
    """Return the file in a message of a conversation, or its recorded voice, and a safe name for it. Raises
    ProblemError."""
    row = node.catalog.message(id_)
    content, file = None, None
    if row is not None and (row.kind is MessageKind.FILE or row.voice_size):
        content = node.catalog.content(id_)
    if row is not None and content is not None:
        file = _file_in(content, row.feed, row.seq)
    if row is None or file is None:
        raise ProblemError(
            "There is no file in this message, or not all of it is here.",
            "Wait until all its packets have arrived.",
            code="unknown_entry",
            exit_code=ExitCode.MISSING,
        )
    return file, clean_name(file.name, f"tinyssb-{row.feed.hex()[:12]}-{row.seq}")


def _file_in(content: bytes, feed: FeedId, seq: int) -> File | None:
    """Return the file in the content of entry *seq* of *feed*, or recorded voice as a file that the programs of Codec 2
    read; None: there is neither."""
    from tinyssb_node.content import chat

    file = parse_file(content)
    if file is not None:
        return file
    post = chat.parse(content)
    if not isinstance(post, chat.ChatPost) or not post.voice:
        return None
    return File(f"voice-{feed.hex()[:12]}-{seq}.c2", _VOICE_TYPE, post.voice, post.said_s)


def save_file_of(node: NodeSession, id_: MessageId, output: str | None) -> tuple[File, Path]:
    """Save the file in a message of a conversation, and return it with its path: *output*, or a safe name in that
    folder or the current one. Never overwrites. Raises ProblemError."""
    file, name = read_file_of(node, id_)
    return file, save_file(file, name, output)
