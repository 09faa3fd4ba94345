"""The mark: its bytes, and what is seen by it."""

import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nodes import Bench, key_of
from tinyssb_node.daemon.tip_mark import (
    MarkedTip,
    TipMark,
    judge_tip,
    read_mark,
    this_machine,
    write_mark,
)
from tinyssb_node.gossip.certainty import TipUncertainty
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId, MessageId, NetworkName
from tinyssb_node.store.port import Store

ANA = key_of("ana")
MACHINE = "00" * 16
OTHER = NetworkName("other")


def now_us() -> int:
    import time

    return time.time_ns() // 1_000


def written(entries: int, name: str = "ana") -> Store:
    bench = Bench(key=key_of(name))
    for number in range(entries):
        bench.publish(b"%d" % number)
    return bench.store


STORE = written(3)


def tip(seq: int, store: Store = STORE) -> MarkedTip:
    entry = store.entry(ANA.feed_id, seq)
    assert entry is not None
    return MarkedTip(seq, entry.id)


MARK = TipMark(feed=ANA.feed_id, machine=MACHINE, tips={DEFAULT_NETWORK: tip(3)})

tips = st.builds(
    MarkedTip,
    st.integers(0, 2**32 - 1),
    st.binary(min_size=20, max_size=20).map(MessageId),
    st.none() | st.sampled_from(TipUncertainty),
    st.none() | st.integers(0, 2**62),
)
marks = st.builds(
    TipMark,
    feed=st.binary(min_size=32, max_size=32).map(FeedId),
    machine=st.text("0123456789abcdef", min_size=32, max_size=32),
    tips=st.dictionaries(st.sampled_from([DEFAULT_NETWORK, OTHER]), tips),
    doubt=st.none() | st.sampled_from(TipUncertainty),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "tip.json"


@given(marks)
def test_what_is_written_is_read_back(path: Path, mark: TipMark) -> None:
    write_mark(path, mark, now_us())
    assert read_mark(path) == mark


def test_the_bytes_are_the_documented_ones(path: Path) -> None:
    mark = TipMark(
        feed=FeedId(bytes(32)),
        machine=MACHINE,
        tips={DEFAULT_NETWORK: MarkedTip(17, MessageId(b"\x01" * 20), TipUncertainty.RESTORED)},
    )
    write_mark(path, mark, 12)
    assert path.read_text() == (
        '{"v":1,"feed":"' + "00" * 32 + '","machine":"' + MACHINE + f'","inode":{path.stat().st_ino},'
        '"written_us":12,"doubt":null,"tips":{"default":{"seq":17,"id":"'
        + "01" * 20
        + '","doubt":"restored"}}}\n'
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["tip.json"]


def test_words_of_later_versions_are_doubts(path: Path) -> None:
    write_mark(path, MARK, now_us())
    path.write_text(path.read_text().replace('"doubt":null', '"doubt":"haunted"'))
    mark = read_mark(path)
    assert mark is not None
    assert (mark.doubt, mark.tip_in(DEFAULT_NETWORK).doubt) == (
        TipUncertainty.UNMARKED,
        TipUncertainty.UNMARKED,
    )


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff", b'{"v":2}', b'{"v":1}'])
def test_what_cannot_be_read_is_no_mark(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    assert read_mark(path) is None


@pytest.mark.parametrize("field", ["feed", "id"])
def test_nor_is_what_names_nothing(path: Path, field: str) -> None:
    write_mark(path, MARK, now_us())
    path.write_text(path.read_text().replace(f'"{field}":"', f'"{field}":"00'))
    assert read_mark(path) is None


def test_a_missing_one_is_none(tmp_path: Path) -> None:
    assert read_mark(tmp_path / "tip.json") is None


def copied(path: Path, other: Path) -> Path:
    shutil.copy2(path, other)
    return other


def put_back_in_place(path: Path, other: Path) -> Path:
    """As `cp -a backup/. home` does: the file stays the same, its content is old."""
    raw = path.read_bytes()
    write_mark(path, replace(MARK, tips={}), now_us())
    with path.open("r+b") as file:
        file.write(raw.replace(b'"inode":', b'"inode":%d,"x":' % path.stat().st_ino))
    return path


@pytest.mark.parametrize(("how", "hours"), [(copied, 0), (copied, 1), (put_back_in_place, 1)])
def test_a_copy_is_seen(tmp_path: Path, how: Callable[[Path, Path], Path], hours: int) -> None:
    path = tmp_path / "tip.json"
    write_mark(path, MARK, now_us() - hours * 3_600_000_000)
    mark = read_mark(how(path, tmp_path / "copy.json"))
    assert mark is not None
    assert not mark.in_place
    assert judge_tip(mark, ANA.feed_id, MACHINE, DEFAULT_NETWORK, STORE) is TipUncertainty.COPIED


def test_a_folder_that_is_renamed_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_mark(tmp_path / "a" / "tip.json", MARK, now_us())
    (tmp_path / "a").rename(tmp_path / "b")
    mark = read_mark(tmp_path / "b" / "tip.json")
    assert mark is not None
    assert mark.in_place


@pytest.mark.parametrize(
    ("mark", "doubt"),
    [
        (MARK, None),
        (replace(MARK, tips={DEFAULT_NETWORK: tip(2)}), None),
        (replace(MARK, tips={}), None),
        (replace(MARK, tips={OTHER: MarkedTip(9, doubt=TipUncertainty.TWIN)}), None),
        (None, TipUncertainty.UNMARKED),
        (replace(MARK, feed=key_of("ben").feed_id), TipUncertainty.UNMARKED),
        (replace(MARK, tips={}, doubt=TipUncertainty.RESTORED), TipUncertainty.RESTORED),
        (
            replace(MARK, tips={DEFAULT_NETWORK: replace(tip(3), doubt=TipUncertainty.TWIN)}),
            TipUncertainty.TWIN,
        ),
        (replace(MARK, machine="01" * 16), TipUncertainty.MOVED),
        (replace(MARK, tips={DEFAULT_NETWORK: MarkedTip(4, MessageId(bytes(20)))}), TipUncertainty.BEHIND),
        (replace(MARK, tips={DEFAULT_NETWORK: MarkedTip(3, MessageId(bytes(20)))}), TipUncertainty.DIFFERENT),
    ],
)
def test_what_follows_from_it(mark: TipMark | None, doubt: TipUncertainty | None) -> None:
    assert judge_tip(mark, ANA.feed_id, MACHINE, DEFAULT_NETWORK, STORE) is doubt


def test_machines_are_told_apart_and_not_named(tmp_path: Path) -> None:
    machine, board = tmp_path / "machine-id", tmp_path / "serial"
    machine.write_text("1f0d\n")
    here = this_machine((machine, board))
    assert here == this_machine((machine, board))
    assert "1f0d" not in here
    board.write_bytes(b"10000000abcd\0")
    there = this_machine((machine, board))
    machine.write_text("1f0e\n")
    assert len({here, there, this_machine((machine, board))}) == 3
    assert len(this_machine()) == 32
