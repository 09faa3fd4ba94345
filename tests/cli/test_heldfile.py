"""How a file arrives, and by which name it may be written."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.cli.heldfile import (
    FetchProgress,
    HeldFile,
    inspect_file,
    wait_for,
)
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content.files import File, FileHead, serialize_file
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.feeds.layout import NO_CHUNK
from tinyssb_node.ids import Dialect, Origin
from tinyssb_node.screens import limits
from tinyssb_node.screens.localfile import clean_name
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import FeedRecord

FILE = File("crossing.webp", "image/webp", bytes(range(256)) * 4)


class Arriving:
    """A store into which a side chain comes packet by packet."""

    def __init__(self, content: bytes, dialect: Dialect = Dialect.SPEC) -> None:
        key = SigningKey(bytes(31) + b"\x07")
        composed = compose(Network(), key, Tip(key.feed_id, dialect, 0, None), content)
        self.store = MemoryStore()
        self.store.put_feed(
            FeedRecord(
                feed=key.feed_id, dialect=dialect, seq=0, tip=None, own=False, wanted=True, forked_at=None
            )
        )
        tip = composed.extended.tip
        assert tip.id is not None
        self.store.append_entry(key.feed_id, 1, composed.packet, tip.id, Origin.PEER, None)
        self._chunks: Iterator[tuple[int, bytes]] = enumerate(composed.chunks)
        self.count = len(composed.chunks)
        entry = self.store.entry(key.feed_id, 1)
        assert entry is not None
        self._entry, self._dialect = entry, dialect

    def file(self) -> HeldFile:
        """Return the file as far as it is here now."""
        return inspect_file(self.store, self._entry, self._dialect)

    def take(self, count: int) -> None:
        """The next *count* packets come."""
        for _ in range(count):
            found = next(self._chunks, None)
            if found is not None:
                self.store.append_chunk(self._entry.feed, 1, *found, Origin.PEER, None)


def waited(arriving: Arriving, each: int, patience_s: float | None) -> tuple[int, list[str]]:
    """Wait for it while *each* packets come between two looks; and what was shown."""
    shown: list[str] = []
    clock_s = [100.0]

    def sleep(seconds: float) -> None:
        clock_s[0] += seconds
        arriving.take(each)

    here = wait_for(
        arriving.count,
        lambda: arriving.file().held,
        show=shown.append,
        patience_s=patience_s,
        now=lambda: clock_s[0],
        sleep=sleep,
    )
    return here, shown


@pytest.mark.parametrize("dialect", Dialect)
def test_it_is_whole_when_all_packets_have_come(dialect: Dialect) -> None:
    arriving = Arriving(serialize_file(FILE), dialect)
    assert arriving.file().head == FileHead("crossing.webp", None, None)
    arriving.take(1)
    assert arriving.file().head == FileHead("crossing.webp", "image/webp", len(FILE.data))
    assert arriving.file().content is None
    here, shown = waited(arriving, 2, None)
    assert here == arriving.count == 11
    assert arriving.file().content == serialize_file(FILE)
    assert shown[0] == "[#...................] 1 of 11 packets, waiting for the first"
    assert shown[1] == "[#####...............] 3 of 11 packets, about 2.0 s left"
    assert shown[-1] == "[####################] 11 of 11 packets"


def test_a_file_in_its_entry_is_whole_at_once() -> None:
    arriving = Arriving(serialize_file(File("a", "", b"short")))
    assert (arriving.count, arriving.file().held) == (0, 0)
    assert arriving.file().content == serialize_file(File("a", "", b"short"))


def test_patience_ends_and_silence_is_told() -> None:
    here, shown = waited(Arriving(serialize_file(FILE)), 0, limits.FETCH_SILENT_S + 1)
    assert here == 0
    assert shown[0].endswith("0 of 11 packets, waiting for the first")
    assert shown[-1].endswith("0 of 11 packets, none for 31.0 s")
    assert waited(Arriving(serialize_file(FILE)), 0, 0) == (0, shown[:1])


@pytest.mark.parametrize("content", [b"", b"x" * 500, b"x" * 48])
def test_what_begins_like_no_file_is_not_waited_for(content: bytes) -> None:
    arriving = Arriving(content)
    with pytest.raises(ProblemError, match="carries no file") as caught:
        arriving.file()
    assert caught.value.exit_code is ExitCode.DATA


def test_a_side_chain_that_ends_too_early_is_not_waited_for() -> None:
    arriving = Arriving(serialize_file(FILE))
    arriving.take(1)
    entry = arriving.file().entry
    arriving.store.append_chunk(entry.feed, 1, 1, bytes(100) + NO_CHUNK, Origin.PEER, None)
    with pytest.raises(ProblemError, match="ends too early") as caught:
        arriving.file()
    assert caught.value.exit_code is ExitCode.DATA


@given(st.integers(1, 700), st.lists(st.integers(0, 50), max_size=20))
def test_progress_never_goes_back_and_always_has_a_line(chunks: int, steps: list[int]) -> None:
    progress = FetchProgress(chunks, 0, 0.0, 0, 0.0)
    now_s = 0.0
    for step in steps:
        now_s += 0.5
        before = progress.held
        progress.see(min(chunks, progress.held + step), now_s)
        assert progress.held >= before
        assert len(progress.line(now_s)) < 79
        assert progress.line(now_s).count("#") <= limits.FETCH_BAR_CELLS


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("map.webp", "map.webp"),
        ("Größe (2).csv", "Größe (2).csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Windows\\evil.exe", "evil.exe"),
        ("/", "otherwise"),
        ("", "otherwise"),
        ("...", "otherwise"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("~", "otherwise"),
        ("a\0b\nc\x1b[2J", "a_b_c__2J"),
        ("gpj.\u202eexe", "gpj._exe"),
        ("x.", "x"),
    ],
)
def test_a_strangers_name_is_made_harmless(name: str, clean: str) -> None:
    assert clean_name(name, "otherwise") == clean


@given(st.text(max_size=80) | st.text("./\\~- \0é", max_size=20))
def test_any_name_stays_in_its_folder(name: str) -> None:
    clean = clean_name(name, "otherwise")
    assert clean
    assert (Path("folder") / clean).parent == Path("folder")
    assert clean[0] not in ".- "
    assert clean not in {".", ".."}
    assert len(clean.encode()) <= 64
    assert all(char.isprintable() for char in clean)
