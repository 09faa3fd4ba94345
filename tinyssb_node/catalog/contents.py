"""The whole content of one message, from the store; loaded by the few who ask for it."""

from collections.abc import Callable
from pathlib import Path

from tinyssb_node.catalog.rows import MessageRow
from tinyssb_node.content import chat
from tinyssb_node.content.private import SealKey, unseal
from tinyssb_node.store.entries import entry_layout, read_whole_content
from tinyssb_node.store.sqlite import SqliteStore


def content_of(path: Path, row: MessageRow, key: Callable[[], SealKey | None]) -> bytes | None:
    """The content of *row* from the store at *path*, opened by *key* if it was sealed; None if not all is here.

    Raises StoreDamagedError, StoreFailedError, StoreTooNewError.
    """
    store = SqliteStore.open_readonly(path)
    try:
        entry = store.entry(row.feed, row.seq)
        if entry is None or entry.id != row.id:
            return None
        dialect = next(record.dialect for record in store.feeds() if record.feed == row.feed)
        content = read_whole_content(store, entry, entry_layout(entry, dialect))
    finally:
        store.close()
    if content is None or not row.private:
        return content
    sealed, opener = chat.parse(content), key()
    return unseal(sealed, opener) if isinstance(sealed, chat.SealedMessage) and opener is not None else None
