"""A few dozen cases of each sort, and that the harness finds what is broken."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.nodes import key_of
from tests.torture.checks import BrokenError, Log, check_log, check_store, read_log
from tests.torture.flood import unshared
from tests.torture.images import SECTOR, Disk
from tests.torture.shim import Did
from tests.torture.victim import Claim
from tinyssb_node.codec.dmx import Network
from tinyssb_node.ids import Dialect, MessageId
from tinyssb_node.node.node import Node
from tinyssb_node.store.memory import MemoryStore


def torture(*arguments: str) -> tuple[int, str]:
    """Run the command of `make torture`."""
    command = [sys.executable, "-m", "tests.torture", *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    return run.returncode, run.stdout


@pytest.mark.slow
@pytest.mark.gcc
@pytest.mark.parametrize(
    ("sort", "count", "seed"),
    # Of the cuts, the second seed has a sync that fails; in the others nothing is put right after that, where the sync
    # is one of the store in the fourth and one of the event log in the fortieth.
    [("faults", 48, 1), ("cuts", 64, 1), ("cuts", 48, 2), ("cuts", 64, 4), ("cuts", 48, 40), ("kills", 5, 1)],
)
def test_nothing_that_somebody_was_told_of_is_lost(sort: str, count: int, seed: int) -> None:
    code, said = torture(sort, "--count", str(count), "--seed", str(seed))
    assert code == 0, said
    assert f"{sort}: {count} of {count}" in said


@pytest.mark.slow
@pytest.mark.gcc
def test_a_store_that_does_not_sync_is_found_out_again_and_again() -> None:
    code, said = torture("cuts", "--count", "40", "--careless")
    assert code == 1
    lines = [line for line in said.splitlines() if line.startswith("broken: ")]
    _, again = torture(*lines[0].split("tests.torture ")[1].split())
    assert "BROKEN: BrokenError" in again or "BROKEN: StoreDamagedError" in again
    assert lines[0] in again


# The checks


KEY = key_of("victim")


@pytest.fixture
def store() -> MemoryStore:
    """Two entries, the second with side chain."""
    store = MemoryStore()
    node = Node(store=store, network=Network(), entropy=random.Random(1), key=KEY, dialect=Dialect.SPEC)
    node.publish(b"x", 0)
    node.publish(b"y" * 150, 0)
    store.commit(1)
    return store


def claim(store: MemoryStore, seq: int, chunks: int = 0) -> Claim:
    entry = store.entry(KEY.feed_id, seq)
    assert entry is not None
    return Claim(KEY.feed_id, seq, entry.id, chunks)


def test_what_was_claimed_has_to_be_there(store: MemoryStore) -> None:
    check_store(store, [claim(store, 1), claim(store, 2, 2)], Network())
    gone = Claim(KEY.feed_id, 3, MessageId(bytes(20)), 0)
    other = Claim(KEY.feed_id, 1, MessageId(bytes(20)), 0)
    for false, words in ((gone, "is gone"), (other, "another one"), (claim(store, 2, 9), "chunks")):
        with pytest.raises(BrokenError, match=words):
            check_store(store, [false], Network())


def records(store: MemoryStore) -> Iterator[dict[str, object]]:
    for offset, append in enumerate(store.after(0, 99)):
        place = {"boot": 1, "offset": offset, "arrival": append.arrival}
        what = {"feed": append.feed.hex(), "seq": append.seq}
        if hasattr(append, "chunk"):
            yield {**place, **what, "kind": "chunk", "chunk": append.chunk}
        else:
            yield {**place, **what, "kind": "entry", "id": append.id.hex()}


def test_each_append_has_one_record_that_tells_the_truth(store: MemoryStore) -> None:
    good = list(records(store))
    check_log(Log(good, holes=False), store)
    again = {**good[0], "offset": 99}
    lied = {**good[0], "id": "00" * 20}
    for broken, words in (
        (good[1:], "has no record"),
        ([*good, good[-1]], "have the place"),
        ([*good, again], "has 2 records"),
        ([*good, {**again, "arrival": 99}], "the store ends at"),
        (good[::-1], "not in order"),
        ([lied, *good[1:]], "something else"),
    ):
        with pytest.raises(BrokenError, match=words):
            check_log(Log(broken, holes=False), store)
    check_log(Log([*good, again], holes=True), store)


def test_a_torn_end_is_no_hole_and_a_torn_middle_is(tmp_path: Path) -> None:
    path = tmp_path / "00000001-000000000000.jsonl"
    lines = [json.dumps({"offset": number}).encode() + b"\n" for number in range(3)]
    path.write_bytes(b"".join(lines)[:-3])
    assert read_log(tmp_path) == Log([{"offset": 0}, {"offset": 1}], holes=False)
    path.write_bytes(lines[0] + bytes(9) + b"\n" + lines[2])
    assert read_log(tmp_path) == Log([{"offset": 0}, {"offset": 2}], holes=True)


# The images


ROOT_FOLDER = Path("/disk")
FILE = ROOT_FOLDER / "file"


def images(tmp_path: Path, *done: tuple[str, Path, int, bytes]) -> set[bytes | None]:
    """Return the states of the file that are possible after a power cut: None where there is none."""
    found: set[bytes | None] = set()
    disk = Disk(tmp_path)
    disk.root = ROOT_FOLDER
    for kind, path, number, data in done:
        disk.do(Did(kind.lower().upper(), kind.islower(), path, number, data))
    for number in range(300):
        found.add(disk.cut(random.Random(number)).get(Path("file")))
    return found


NEW = ("C", FILE, 0, b"")
NAMED = ("S", ROOT_FOLDER, 0, b"")
SYNC = ("S", FILE, 0, b"")


def test_a_name_is_lost_until_its_folder_is_synced_and_bytes_until_their_file_is(tmp_path: Path) -> None:
    write = ("W", FILE, 0, b"ab")
    assert images(tmp_path, NEW, write) == {None, b"", b"ab"}
    assert images(tmp_path, NEW, NAMED, write) == {b"", b"ab"}
    assert images(tmp_path, NEW, NAMED, write, SYNC) == {b"ab"}
    assert images(tmp_path, NEW, write, SYNC) == {None, b"ab"}


def test_sectors_are_lost_one_by_one_and_leave_zeros(tmp_path: Path) -> None:
    one, two = b"1" * SECTOR, b"2" * SECTOR
    found = images(tmp_path, NEW, NAMED, ("W", FILE, 0, one + two))
    assert found == {b"", one, bytes(SECTOR) + two, one + two}


def test_later_writes_may_be_there_and_earlier_ones_not(tmp_path: Path) -> None:
    writes = (("W", FILE, 0, b"aaa"), SYNC, ("W", FILE, 0, b"b"), ("W", FILE, 1, b"c"))
    assert images(tmp_path, NEW, NAMED, *writes) == {b"aaa", b"baa", b"aca", b"bca"}


def test_what_a_failed_sync_had_to_keep_is_never_written(tmp_path: Path) -> None:
    writes = (
        ("W", FILE, 0, b"ab"),
        SYNC,
        ("W", FILE, 0, b"x"),
        ("s", FILE, 0, b""),
        ("W", FILE, 1, b"y"),
        SYNC,
    )
    assert images(tmp_path, NEW, NAMED, *writes) == {b"ay"}


def test_a_removed_name_may_come_back_and_a_truncation_may_not_have_been(tmp_path: Path) -> None:
    there = (NEW, NAMED, ("W", FILE, 0, b"ab"), SYNC)
    assert images(tmp_path, *there, ("U", FILE, 0, b"")) == {None, b"ab"}
    assert images(tmp_path, *there, ("U", FILE, 0, b""), NAMED) == {None}
    assert images(tmp_path, *there, ("T", FILE, 1, b"")) == {b"a", b"ab"}


# A flood


@pytest.mark.slow
def test_strangers_do_not_fill_the_disk() -> None:
    try:
        subprocess.run(unshared(["true"]), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"nothing can be mounted here: {error}")
    command = [sys.executable, "-m", "tests.torture.flood", "--seconds", "8"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
