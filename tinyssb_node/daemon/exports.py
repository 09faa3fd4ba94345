"""Export files: feeds as one file (docs/formats/export.md), and what such files already contain."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO, Final

from tinyssb_node import limits
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.ids import Dialect, FeedId, Seq
from tinyssb_node.store.port import FeedRecord, Store

_MAGIC = b"tinySSB export\n"
_DIGEST_SIZE = 32
_DIALECTS = {b"s": Dialect.SPEC, b"d": Dialect.DEPLOYED}
_LETTERS = {dialect: letter for letter, dialect in _DIALECTS.items()}


class ExportFileError(ProblemError):
    """The file is not an export file, was damaged, or was written by a later version of this program."""

    exit_code = ExitCode.DATA

    def __init__(self, problem: str, message: str, hint: str) -> None:
        super().__init__(f"{message} Nothing was imported.", hint)
        self.problem = problem
        """The problem, without its consequence."""


def _damaged(offset: int, reason: str) -> ExportFileError:
    return ExportFileError(
        f"it is not a complete export file: {reason} at byte {offset}",
        f"This is not a complete export file: {reason} at byte {offset}.",
        "Copy it again from where it was made.",
    )


def _too_new(version: int) -> ExportFileError:
    return ExportFileError(
        f"it has format {version}, this program knows {limits.EXPORT_VERSION}",
        f"This export file has format {version}, this program knows {limits.EXPORT_VERSION}.",
        "Install the newer version of the program that wrote it.",
    )


@dataclass(frozen=True, slots=True)
class FeedHeader:
    """The start of a feed."""

    feed: FeedId
    dialect: Dialect
    first: Seq
    """Sequence number of the first entry that follows."""


@dataclass(frozen=True, slots=True)
class ExportedEntry:
    """An entry of the feed of the header before it."""

    packet: bytes
    """120 bytes."""


@dataclass(frozen=True, slots=True)
class ExportedChunk:
    """The next chunk of the entry before it."""

    packet: bytes
    """120 bytes."""


Piece = FeedHeader | ExportedEntry | ExportedChunk
"""A part of an export file."""


# --- writing


def export_pieces(
    store: Store, records: Iterable[FeedRecord], first: Callable[[FeedRecord], int] = lambda _record: 1
) -> Iterator[Piece]:
    """Yield everything that *store* has of the feeds in *records*, each from the entry number that *first* returns.
    Feeds without such entries are left out."""
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
    for first in range(0, _chunk_count(packet, dialect), limits.CONTROL_PAGE):
        for chunk in store.chunks(feed, seq, first, limits.CONTROL_PAGE):
            yield ExportedChunk(chunk)


def _chunk_count(packet: bytes, dialect: Dialect) -> int:
    entry = parse_entry(packet)
    return layout_of(entry.type, entry.content, dialect).chunks


def firsts_since(store: Store, since_us: int) -> dict[FeedId, int]:
    """Return, for each feed, the first entry that came to *store* at *since_us* or later, or of whose side chain
    something did. *since_us* is wall clock, microseconds since 1970. Every arrival is checked, because a clock that is
    set may jump in both directions."""
    firsts: dict[FeedId, int] = {}
    arrival = 0
    while page := store.after(arrival, limits.CONTROL_PAGE):
        for item in page:
            if item.committed_us >= since_us:
                firsts[item.feed] = min(item.seq, firsts.get(item.feed, item.seq))
        arrival = page[-1].arrival
    return firsts


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


def _serialize_piece(piece: Piece) -> bytes:
    if isinstance(piece, FeedHeader):
        return b"F" + piece.feed + _LETTERS[piece.dialect] + piece.first.to_bytes(limits.SEQ_SIZE, "big")
    return (b"E" if isinstance(piece, ExportedEntry) else b"C") + piece.packet


# --- reading


def read_export(file: BinaryIO) -> Iterator[Piece]:
    """Yield the pieces of an export file. Only its end shows that it is complete: read all of it before using any.

    Raises ExportFileError.
    """
    reader = _Reader(file)
    if reader.read(len(_MAGIC)) != _MAGIC:
        raise _damaged(0, "it does not begin like one")
    version = reader.read(1)[0]
    if version != limits.EXPORT_VERSION:
        raise _too_new(version)
    inside = ""
    while True:
        offset, digest = reader.offset, reader.digest()
        letter = reader.read(1)
        if letter == b"Z":
            if reader.read(_DIGEST_SIZE) != digest:
                raise _damaged(offset, "its digest does not match its bytes")
            if file.read(1):
                raise _damaged(reader.offset, "more bytes follow its end")
            return
        piece = _read_piece(reader, letter, offset, inside)
        inside = "entry" if isinstance(piece, ExportedEntry | ExportedChunk) else "feed"
        yield piece


class _Reader:
    """A reader of exact numbers of bytes that computes their digest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = sha256()
        self.offset = 0

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) != size:
            raise _damaged(self.offset + len(data), "it ends early")
        self._digest.update(data)
        self.offset += size
        return data

    def digest(self) -> bytes:
        return self._digest.digest()


def _read_piece(reader: _Reader, letter: bytes, offset: int, inside: str) -> Piece:
    if letter == b"F":
        feed, dialect = FeedId(reader.read(limits.FEED_ID_SIZE)), reader.read(1)
        first = int.from_bytes(reader.read(limits.SEQ_SIZE), "big")
        if dialect not in _DIALECTS or first == 0:
            raise _damaged(offset, "there is an impossible feed")
        return FeedHeader(feed, _DIALECTS[dialect], Seq(first))
    if letter == b"E" and inside:
        return ExportedEntry(reader.read(limits.PACKET_SIZE))
    if letter == b"C" and inside == "entry":
        return ExportedChunk(reader.read(limits.PACKET_SIZE))
    raise _damaged(offset, "there is something that does not belong there")


# --- what files already contain


class _StoreComparison:
    """Packets of a store at the positions of packets in a file; read in pages, since files are in order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.dialects: Final = {record.feed: record.dialect for record in store.feeds()}
        self._page: dict[tuple[FeedId, int], bytes] = {}
        self._chunks: tuple[FeedId, int, Sequence[bytes]] | None = None

    def differs_in_entry(self, feed: FeedId, seq: int, packet: bytes) -> bool:
        """Return True if the store has another entry there."""
        if feed not in self.dialects:
            return False
        if (feed, seq) not in self._page:
            page = self._store.entries(feed, seq, limits.CONTROL_PAGE)
            self._page = {(feed, entry.seq): entry.packet for entry in page}
        return self._page.get((feed, seq), packet) != packet

    def differs_in_chunk(self, feed: FeedId, seq: int, chunk: int, packet: bytes) -> bool:
        """Return True if the store has another packet there."""
        if self._chunks is None or self._chunks[:2] != (feed, seq):
            self._chunks = feed, seq, self._store.chunks(feed, seq, 0, limits.CONTENT_FETCH_MAX)
        stored = self._chunks[2]
        return chunk < len(stored) and stored[chunk] != packet


class ExportCoverage:
    """The entries of each feed that some export files contain, and how much of their side chains.

    Packets that differ from those of the store do not count: a file may be made up, or have the other branch of a fork.
    """

    def __init__(self, store: Store) -> None:
        """Compare files with *store*, which must not change until the last file is added."""
        self._store = store
        self._ours: Final = _StoreComparison(store)
        self._whole: Final[dict[FeedId, list[tuple[int, int]]]] = {}
        """By feed: the ranges of entries with complete side chains, first and last, sorted and not adjacent."""
        self._parts: Final[dict[FeedId, dict[int, int]]] = {}
        """By feed and sequence number: how many chunks there are of a side chain that is not complete."""

    def add(self, pieces: Iterable[Piece]) -> None:
        """Add a file, read to its end."""
        header: FeedHeader | None = None
        seq = chunks = present = 0
        counts = False
        for piece in pieces:
            if isinstance(piece, ExportedChunk):
                assert header is not None, "a reader refuses what would be otherwise"
                # Behind a chunk that differs, the rest of the side chain is unknown.
                if counts and not self._ours.differs_in_chunk(header.feed, seq, present, piece.packet):
                    present += 1
                elif counts:
                    self._add_entry(header.feed, seq, chunks, present)
                    counts = False
                continue
            if header is not None and counts:
                self._add_entry(header.feed, seq, chunks, present)
            if isinstance(piece, FeedHeader):
                header, seq, counts = piece, piece.first - 1, False
                continue
            assert header is not None
            assert isinstance(piece, ExportedEntry)
            seq, present = seq + 1, 0
            counts = not self._ours.differs_in_entry(header.feed, seq, piece.packet)
            chunks = _chunk_count(piece.packet, self._ours.dialects.get(header.feed) or header.dialect)
        if header is not None and counts:
            self._add_entry(header.feed, seq, chunks, present)

    def _add_entry(self, feed: FeedId, seq: int, chunks: int, present: int) -> None:
        parts = self._parts.setdefault(feed, {})
        if present < chunks:
            if not self._is_whole(feed, seq):
                parts[seq] = max(present, parts.get(seq, 0))
            return
        parts.pop(seq, None)
        runs = self._whole.setdefault(feed, [])
        if runs and runs[-1][1] + 1 == seq:  # the usual case while a file is read
            runs[-1] = (runs[-1][0], seq)
        elif not self._is_whole(feed, seq):
            runs.append((seq, seq))
        else:
            return
        self._whole[feed] = _joined(runs) if len(runs) > 1 else runs

    def _is_whole(self, feed: FeedId, seq: int) -> bool:
        runs = self._whole.get(feed, [])
        at = bisect_right(runs, (seq, limits.SEQ_MAX)) - 1
        return at >= 0 and runs[at][1] >= seq

    def first_lacked(self, record: FeedRecord) -> int:
        """Return the first entry of which the store has more than the files: ``record.seq + 1`` if there is none."""
        parts = self._parts.get(record.feed, {})
        longer = (
            seq
            for seq, present in sorted(parts.items())
            if self._store.chunk(record.feed, seq, present) is not None
        )
        return min(next(longer, record.seq + 1), self._first_absent(record.feed, parts), record.seq + 1)

    def _first_absent(self, feed: FeedId, parts: Mapping[int, int]) -> int:
        """Return the first entry of which the files have nothing."""
        seq = 1
        for first, last in self._whole.get(feed, []):
            while seq < first and seq in parts:
                seq += 1
            if seq < first:
                return seq
            seq = max(seq, last + 1)
        while seq in parts:
            seq += 1
        return seq


def _joined(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return *runs* sorted, with those that touch or overlap joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(runs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined
