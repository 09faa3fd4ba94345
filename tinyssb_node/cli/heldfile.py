"""An attached file: how much of it is here, and how long the rest takes."""

from collections.abc import Callable
from dataclasses import dataclass

from tinyssb_node import limits as node_limits
from tinyssb_node.content.files import FileHead, parse_head
from tinyssb_node.content.private import may_be_sealed
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.feeds.layout import NO_CHUNK, LayoutKind
from tinyssb_node.feeds.sidechain import reassemble
from tinyssb_node.ids import Dialect
from tinyssb_node.screens import limits
from tinyssb_node.screens.languages import number, t, tn
from tinyssb_node.screens.render import duration
from tinyssb_node.store.entries import count_chunks, entry_layout
from tinyssb_node.store.port import Store, StoredEntry


@dataclass(frozen=True, slots=True)
class HeldFile:
    """The stored part of a file that an entry carries."""

    entry: StoredEntry
    head: FileHead
    """The description at its beginning."""
    size: int
    """Bytes of content, as declared."""
    chunks: int
    """Packets of its side chain."""
    held: int
    """How many of these are stored: all up to some number."""
    content: bytes | None
    """The whole content; None while some is missing."""
    sealed: bool
    """It is encrypted, as files in private conversations are: its description is not known."""


def inspect_file(store: Store, entry: StoredEntry, dialect: Dialect) -> HeldFile:
    """Return what *store* has of the file in *entry*.

    Raises ProblemError as soon as it is certain that there is no file, or never will be.
    """
    layout = entry_layout(entry, dialect)
    first = store.chunks(entry.feed, entry.seq, 0, 1)
    beginning = layout.head + b"".join(chunk[: node_limits.CHUNK_CONTENT_SIZE] for chunk in first)
    head = None if layout.form is LayoutKind.OPAQUE else parse_head(beginning[: layout.size])
    sealed = head is None and layout.form is not LayoutKind.OPAQUE and may_be_sealed(beginning)
    if sealed:
        head = FileHead(None, None, None)
    if head is None:
        raise ProblemError(
            f"Entry {entry.seq} of {entry.feed.hex()} carries no file.",
            f"Look at the entry: tinyssb show {entry.feed.hex()[:12]} {entry.seq}",
            exit_code=ExitCode.DATA,
        )
    held = count_chunks(store, entry, layout)
    last = store.chunk(entry.feed, entry.seq, held - 1) if 0 < held < layout.chunks else None
    if last is not None and last[node_limits.CHUNK_CONTENT_SIZE :] == NO_CHUNK:
        raise ProblemError(
            f"The side chain of entry {entry.seq} of {entry.feed.hex()} ends too early: the file can never be "
            "complete.",
            "Ask its author to attach it again.",
            exit_code=ExitCode.DATA,
        )
    content = None
    if held == layout.chunks:
        content = reassemble(layout, store.chunks(entry.feed, entry.seq, 0, layout.chunks))
    return HeldFile(entry, head, layout.size, layout.chunks, held, content, sealed)


@dataclass(slots=True)
class FetchProgress:
    """The growth of a side chain."""

    chunks: int
    """Packets of the side chain."""
    begun_held: int
    """Packets stored at the first look."""
    begun_s: float
    """Time of the first look."""
    held: int
    """Packets stored."""
    news_s: float
    """Time when the last of them was seen to arrive."""

    def see(self, held: int, now_s: float) -> None:
        """Record that *held* packets are stored."""
        if held > self.held:
            self.held, self.news_s = held, now_s

    def left_s(self, now_s: float) -> float | None:
        """Estimate the seconds until the rest is here, at the rate so far; None: nothing has arrived yet."""
        came = self.held - self.begun_held
        return (now_s - self.begun_s) * (self.chunks - self.held) / came if came else None

    def line(self, now_s: float) -> str:
        """Format a bar, packets, and an estimate of the time left."""
        full = limits.FETCH_BAR_CELLS * self.held // max(1, self.chunks)
        bar = "#" * full + "." * (limits.FETCH_BAR_CELLS - full)
        held = number(self.held)
        packets = tn(self.chunks, "{held} of {n} packet", "{held} of {n} packets", held=held)
        return f"[{bar}] {packets}{self._outlook(now_s)}"

    def _outlook(self, now_s: float) -> str:
        if self.held == self.chunks:
            return ""
        left_s, silent_s = self.left_s(now_s), now_s - self.news_s
        if silent_s >= limits.FETCH_SILENT_S:
            return f", {t('none for {time}', time=duration(int(silent_s * 1e6)))}"
        if left_s is None:
            return f", {t('waiting for the first')}"
        return f", {t('about {time} left', time=duration(int(left_s * 1e6)))}"


def wait_for(
    chunks: int,
    look: Callable[[], int],
    *,
    show: Callable[[str], None],
    patience_s: float | None,
    now: Callable[[], float],
    sleep: Callable[[float], None],
) -> int:
    """Look until all *chunks* are here or *patience_s* is over, and *show* the progress. Return how many are here, as
    *look* counts them."""
    begun_s, held = now(), look()
    progress = FetchProgress(chunks, held, begun_s, held, begun_s)
    while True:
        show(progress.line(now()))
        if progress.held == chunks or (patience_s is not None and now() - begun_s >= patience_s):
            return progress.held
        sleep(limits.FETCH_LOOK_S)
        progress.see(look(), now())
