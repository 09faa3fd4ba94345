import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.errors import HomeInaccessibleError
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.shipping import limits
from tinyssb_node.shipping.files import (
    LogFolder,
    ShipperStatus,
    ShippingBusyError,
    claim_shipping,
    read_saved,
    serialize_saved,
    state_path,
    write_saved,
)
from tinyssb_node.shipping.shipment import LogPosition, ShippingState
from tinyssb_node.shipping.wire import SegmentId, SegmentSlice, fingerprint
from tinyssb_node.store.home import Home


def segment(folder: Path, boot: int, first: int, content: bytes) -> Path:
    path = folder / f"{boot:08d}-{first:012d}.jsonl"
    path.write_bytes(content)
    return path


def test_segments_are_listed_in_order_with_their_sizes(tmp_path: Path) -> None:
    log = LogFolder(tmp_path)
    segment(tmp_path, 2, 0, b"three")
    segment(tmp_path, 1, 7, b"to")
    segment(tmp_path, 1, 0, b"one")
    (tmp_path / "notes.jsonl").write_text("of no matter")
    assert list(log.sizes(0).items()) == [(SegmentId(1, 0), 3), (SegmentId(1, 7), 2), (SegmentId(2, 0), 5)]


def test_the_newest_is_seen_to_grow_and_others_within_a_minute(tmp_path: Path) -> None:
    log = LogFolder(tmp_path)
    old, new = segment(tmp_path, 1, 0, b"one"), segment(tmp_path, 2, 0, b"two")
    log.sizes(0)
    for path in (old, new):
        with path.open("ab") as file:
            file.write(b"more")
    assert list(log.sizes(1).values()) == [3, 7]
    assert list(log.sizes(limits.LOOK_AGAIN_US).values()) == [7, 7]


def test_a_segment_that_was_deleted_is_no_more(tmp_path: Path) -> None:
    log = LogFolder(tmp_path)
    segment(tmp_path, 1, 0, b"one")
    gone = segment(tmp_path, 2, 0, b"two")
    assert len(log.sizes(0)) == 2
    gone.unlink()
    assert list(log.sizes(1)) == [SegmentId(1, 0)]
    assert log.read(SegmentSlice(SegmentId(2, 0), 0, 3)) is None


def test_a_log_that_the_daemon_has_not_begun_is_empty(tmp_path: Path) -> None:
    assert LogFolder(tmp_path / "later").sizes(0) == {}


@given(st.binary(min_size=1, max_size=600), st.data())
def test_a_piece_is_read_with_the_print_of_what_is_before(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("log")
    segment(folder, 1, 0, content)
    at = data.draw(st.integers(0, len(content) - 1))
    size = data.draw(st.integers(1, len(content) - at))
    near = min(at, 128)
    found = LogFolder(folder).read(SegmentSlice(SegmentId(1, 0), at, size))
    assert found == (content[at : at + size], fingerprint(content[:near], content[at - near : at]))
    assert LogFolder(folder).read(SegmentSlice(SegmentId(1, 0), at, len(content) - at + 1)) is None


NODE = "3f0a1b2c4d5e6f70"
SAVED = ShippingState(
    LogPosition(SegmentId(7, 120), 99),
    (SegmentSlice(SegmentId(7, 120), 99, 5), SegmentSlice(SegmentId(8, 0), 0, 1)),
    77,
)


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    told = ShipperStatus(connected=True, problem="none", acked_us=5, refused=((1, 0),))
    write_saved(path, serialize_saved(NODE, SAVED, told))
    assert read_saved(path, NODE) == (SAVED, told)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"v":2}', b"\xff", b'{"v":1,"acked":[1,2]}'])
def test_what_cannot_be_read_is_nothing(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(raw)
    assert read_saved(path, NODE) == (ShippingState(), ShipperStatus())


def test_that_of_another_node_is_nothing(tmp_path: Path) -> None:
    """Its boots have the same numbers."""
    path = tmp_path / "state.json"
    write_saved(path, serialize_saved(NODE, SAVED, ShipperStatus()))
    assert read_saved(path, "0123456789abcdef") == (ShippingState(), ShipperStatus())


def test_a_newer_state_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_saved(path, serialize_saved(NODE, SAVED, ShipperStatus()))
    path.write_bytes(path.read_bytes().replace(b'"v":1', b'"v":2'))
    assert read_saved(path, NODE) == (ShippingState(), ShipperStatus())


def test_one_shipper_at_a_time(tmp_path: Path) -> None:
    home = Home(tmp_path)
    lock = claim_shipping(home)
    with pytest.raises(ShippingBusyError, match=f"process {os.getpid()}"):
        claim_shipping(home)
    lock.release()
    claim_shipping(home).release()
    assert state_path(home, DEFAULT_NETWORK) == tmp_path / "ship" / "default.json"


def test_a_home_that_is_no_folder_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeInaccessibleError):
        claim_shipping(Home(tmp_path / "file"))
