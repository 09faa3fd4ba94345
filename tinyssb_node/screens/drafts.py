"""The content of a new text: the form that takes fewer packets, where all its readers can read it.

Feeds of the `deployed` dialect may be written by the phone app, which reads its own forms only.
"""

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace

from tinyssb_node.catalog.catalog import Catalog
from tinyssb_node.content.chat import ChatPost, serialize
from tinyssb_node.content.files import File, serialize_file
from tinyssb_node.content.limits import PAIR_PADDING_SIZE, SEAL_ENTROPY_SIZE
from tinyssb_node.content.pair_box import seal_text
from tinyssb_node.content.private import seal, sealed_extra
from tinyssb_node.content.short_text import (
    PAIR_BOX_EXTRA,
    ShortText,
    fitting_ties,
    public_text,
    serialize_short_text,
)
from tinyssb_node.ids import Dialect, FeedId, MessageId


def public_draft(
    catalog: Catalog, author: FeedId | None, text: str, ties: Sequence[MessageId], voice: bytes | None = None
) -> bytes:
    """Return the content of a public text of *author*, if they are known, that follows *ties*; with recorded *voice*
    the text may be empty. Raises UnencodableMessageError."""
    if voice is None and author is not None and catalog.dialect(author) is Dialect.SPEC:
        reference_us = catalog.last_time_us(author)
        reference_s = None if reference_us is None else reference_us // 1_000_000
        short = serialize_short_text(public_text(text, ties, int(time.time()), reference_s))
        if short is not None:
            return short
    return serialize(ChatPost(tips=tuple(ties), text=text or None, voice=voice, said_s=int(time.time())))


def private_draft(
    catalog: Catalog,
    text: str,
    readers: Sequence[FeedId],
    ties: Sequence[MessageId],
    voice: bytes | None = None,
) -> bytes:
    """Return the content of a text for *readers*, its author last, that follows *ties*; with recorded *voice* the text
    may be empty.

    Raises ReaderKeyError, RecipientCountError, UnencodableMessageError.
    """
    short = None if voice is not None else _short_private(catalog, text, readers, ties)
    if short is not None:
        return short
    post = ChatPost(
        tips=tuple(ties),
        text=text or None,
        voice=voice,
        said_s=int(time.time()),
        recipients=tuple(readers),
    )
    return seal(serialize(post), readers, secrets.token_bytes(SEAL_ENTROPY_SIZE))


def private_file_draft(file: File, readers: Sequence[FeedId]) -> bytes:
    """Return the content of a *file* for *readers*, its author last.

    Raises ReaderKeyError, RecipientCountError, FileNameError, FileTooLongError.
    """
    clear = serialize_file(replace(file, readers=tuple(readers)), sealed_extra(len(readers)))
    return seal(clear, readers, secrets.token_bytes(SEAL_ENTROPY_SIZE))


def _short_private(
    catalog: Catalog, text: str, readers: Sequence[FeedId], ties: Sequence[MessageId]
) -> bytes | None:
    """Return the content in the form for one person. None if only the form of the app will do: for several people, for
    feeds that a phone may write, without the user's key, and for a text that only that form can state."""
    if len(readers) > 2 or any(catalog.dialect(feed) is not Dialect.SPEC for feed in readers):
        return None
    fitting = fitting_ties(text, ties, extra=PAIR_BOX_EXTRA)
    clear = serialize_short_text(ShortText(text=text, ties=fitting, said_s=int(time.time())))
    key = None if clear is None else catalog.seal_key()
    if clear is None or key is None:
        return None
    return seal_text(clear, key, readers[0], secrets.token_bytes(PAIR_PADDING_SIZE))
