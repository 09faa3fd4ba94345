"""Export files: feeds as one file (docs/formats/export.md)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO

from tinyssb_node import limits
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.errors import ExitCode
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.ids import Dialect, FeedId, Seq
from tinyssb_node.problems import ProblemError
from tinyssb_node.store.port import FeedRecord, Store

_MAGIC = b"tinySSB export\n"
_DIGEST_SIZE = 32
_DIALECTS = {b"s": Dialect.SPEC, b"d": Dialect.DEPLOYED}
_LETTERS = {dialect: letter for letter, dialect in _DIALECTS.items()}


class ExportDamagedError(ProblemError):
    """The file is no export file, or was damaged on its way."""

    exit_code = ExitCode.DATA

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(
            f"This is no whole export file: {reason} at byte {offset}. Nothing was imported.",
            "Copy it again from where it was made.",
        )
        self.offset = offset
        self.reason = reason
        self.problem = f"it is no whole export file: {reason} at byte {offset}"
        """What is wrong, whatever came of it."""


class ExportTooNewError(ProblemError):
    """The file was written by a later version of this program."""

    exit_code = ExitCode.DATA

    def __init__(self, version: int) -> None:
        super().__init__(
            f"This export file has format {version}, this program knows {limits.EXPORT_VERSION}. Nothing was imported.",
            "Install the newer version of the program that wrote it.",
        )
        self.version = version
        self.problem = f"it has format {version}, this program knows {limits.EXPORT_VERSION}"
        """What is wrong, whatever came of it."""


@dataclass(frozen=True, slots=True)
class FeedHeader:
    """A feed begins."""

    feed: FeedId
    dialect: Dialect
    first: Seq
    """Sequence number of the first entry that follows."""


@dataclass(frozen=True, slots=True)
class ExportedEntry:
    """An entry of the feed whose header came last."""

    packet: bytes
    """120 bytes."""


@dataclass(frozen=True, slots=True)
class ExportedChunk:
    """The next chunk of the entry that came last."""

    packet: bytes
    """120 bytes."""


Piece = FeedHeader | ExportedEntry | ExportedChunk
"""What an export file is made of."""


def _from_the_first(_record: FeedRecord) -> int:
    return 1


def export_pieces(
    store: Store, records: Iterable[FeedRecord], first: Callable[[FeedRecord], int] = _from_the_first
) -> Iterator[Piece]:
    """Everything *store* holds of the feeds in *records* from the entry on that *first* tells; feeds of which it holds
    nothing there are left out."""
    for record in records:
        seq = first(record)
        if record.dialect is None or record.seq < seq:
            continue
        yield FeedHeader(record.feed, record.dialect, Seq(seq))
        while page := store.entries(record.feed, seq, limits.CONTROL_PAGE):
            for entry in page:
                yield ExportedEntry(entry.packet)
                yield from _chunks(store, record.feed, entry.seq, entry.packet, record.dialect)
            seq = page[-1].seq + 1


def _chunks(store: Store, feed: FeedId, seq: int, packet: bytes, dialect: Dialect) -> Iterator[Piece]:
    entry = parse_entry(packet)
    chunks = layout_of(entry.type, entry.content, dialect).chunks
    for first in range(0, chunks, limits.CONTROL_PAGE):
        for chunk in store.chunks(feed, seq, first, limits.CONTROL_PAGE):
            yield ExportedChunk(chunk)


def write_export(pieces: Iterator[Piece], file: BinaryIO) -> None:
    """Write *pieces* as an export file."""
    digest = sha256()

    def write(data: bytes) -> None:
        digest.update(data)
        file.write(data)

    write(_MAGIC + bytes((limits.EXPORT_VERSION,)))
    for piece in pieces:
        write(_serialize_piece(piece))
    file.write(b"Z" + digest.digest())


def read_export(file: BinaryIO) -> Iterator[Piece]:
    """The pieces of an export file. Whether it is whole is known at its end: read all of it before using any.

    Raises ExportDamagedError, ExportTooNewError.
    """
    reader = _Reader(file)
    if reader.read(len(_MAGIC)) != _MAGIC:
        raise ExportDamagedError(0, "it does not begin like one")
    version = reader.read(1)[0]
    if version != limits.EXPORT_VERSION:
        raise ExportTooNewError(version)
    inside = ""
    while True:
        offset, digest = reader.offset, reader.digest()
        letter = reader.read(1)
        if letter == b"Z":
            if reader.read(_DIGEST_SIZE) != digest:
                raise ExportDamagedError(offset, "its bytes do not have its digest")
            if file.read(1):
                raise ExportDamagedError(reader.offset, "more bytes follow its end")
            return
        piece = _read_piece(reader, letter, offset, inside)
        inside = "entry" if isinstance(piece, ExportedEntry | ExportedChunk) else "feed"
        yield piece


class _Reader:
    """Reads exactly what is asked for, and keeps the digest of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = sha256()
        self.offset = 0

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) != size:
            raise ExportDamagedError(self.offset + len(data), "it ends early")
        self._digest.update(data)
        self.offset += size
        return data

    def digest(self) -> bytes:
        return self._digest.digest()


def _serialize_piece(piece: Piece) -> bytes:
    if isinstance(piece, FeedHeader):
        return b"F" + piece.feed + _LETTERS[piece.dialect] + piece.first.to_bytes(limits.SEQ_SIZE, "big")
    return (b"E" if isinstance(piece, ExportedEntry) else b"C") + piece.packet


def _read_piece(reader: _Reader, letter: bytes, offset: int, inside: str) -> Piece:
    if letter == b"F":
        feed, dialect = FeedId(reader.read(limits.FEED_ID_SIZE)), reader.read(1)
        first = int.from_bytes(reader.read(limits.SEQ_SIZE), "big")
        if dialect not in _DIALECTS or first == 0:
            raise ExportDamagedError(offset, "there is a feed that cannot be")
        return FeedHeader(feed, _DIALECTS[dialect], Seq(first))
    if letter == b"E" and inside:
        return ExportedEntry(reader.read(limits.PACKET_SIZE))
    if letter == b"C" and inside == "entry":
        return ExportedChunk(reader.read(limits.PACKET_SIZE))
    raise ExportDamagedError(offset, "there is something that does not belong there")
