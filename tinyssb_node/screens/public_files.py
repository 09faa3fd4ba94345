"""Public files, for screens: what one costs, how it is published, and how it is read."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tinyssb_node.catalog.rows import PUBLIC, MessageKind
from tinyssb_node.content.files import File, parse_file, serialize_file
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.localfile import clean_name, file_title

if TYPE_CHECKING:
    from tinyssb_node.control.rows import PublishedRow
    from tinyssb_node.ids import MessageId
    from tinyssb_node.screens.session import NodeSession


@dataclass(frozen=True, slots=True)
class PublicFileDraft:
    """A file that is about to be published for everybody."""

    file: File
    """Its time is that of publishing, whatever it states."""

    def packets(self, node: NodeSession) -> int:
        """Return the packets that it would take. Raises FileNameError, FileTooLongError, and as the client does."""
        return node.packets_of(self._content())

    def question(self, node: NodeSession) -> list[str]:
        """Return its size and its cost in lines, if its author should agree to it first; else nothing. Raises as
        above."""
        cost = node.cost_question(self.packets(node))
        return [file_title(self.file), *cost] if cost else []

    def publish(self, node: NodeSession) -> PublishedRow:
        """Publish it. Raises as above."""
        return node.publish(self._content())

    def _content(self) -> bytes:
        return serialize_file(replace(self.file, said_s=int(time.time())))


def read_public_file(node: NodeSession, id_: MessageId) -> tuple[File, str]:
    """Return the file in a public message, and a safe name for it. Raises ProblemError."""
    row = node.catalog.message(id_)
    content = None
    if row is not None and row.kind is MessageKind.FILE and row.conversation == PUBLIC:
        content = node.catalog.content(id_)
    file = None if content is None else parse_file(content)
    if row is None or file is None:
        raise ProblemError(
            "There is no public file in this message, or not all of it is here.",
            "Wait until all its packets have arrived.",
            code="unknown_entry",
            exit_code=ExitCode.MISSING,
        )
    return file, clean_name(file.name, f"tinyssb-{row.feed.hex()[:12]}-{row.seq}")
