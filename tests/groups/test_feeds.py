"""Announcements that only members find, and the feeds that they announce."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.groups.vectors import FOLDER
from tinyssb_node.content.private import SealKey
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.feeds import open_announcement, seal_announcement
from tinyssb_node.groups.keys import GroupKeys
from tinyssb_node.ids import EpochKey, FeedId, MessageId

VECTORS: dict[str, list[dict[str, str]]] = json.loads((FOLDER / "tinyssb_announce.json").read_text("utf-8"))
ANNOUNCEMENTS = pytest.mark.parametrize("case", VECTORS["announcements"], ids=lambda case: case["id"])


def drawn(size: int) -> bytes:
    """Random bytes that are always the same."""
    return bytes(size)


@ANNOUNCEMENTS
def test_an_announcement_is_the_vectors(case: dict[str, str]) -> None:
    feed, main = FeedId.from_hex(case["feed"]), FeedId.from_hex(case["main_feed"])
    key, previous = EpochKey.from_hex(case["epoch_key"]), MessageId.from_hex(case["previous"])
    content = seal_announcement(feed, key, main, previous)
    assert content.hex() == case["content"]
    assert open_announcement(content, key, context_of(main, previous)) == feed


@ANNOUNCEMENTS
def test_feeds_of_epochs_grow_from_the_seed(case: dict[str, str]) -> None:
    keys = GroupKeys(bytes.fromhex(case["seed"]), drawn)
    assert keys.main.hex() == case["main_feed"]
    signer = keys.epoch(EpochKey.from_hex(case["epoch_key"]), int(case["generation"]))
    assert signer.feed_id.hex() == case["feed"]


@pytest.mark.parametrize("case", VECTORS["feeds"], ids=lambda case: case["id"])
def test_the_feed_of_additions_grows_from_the_seed(case: dict[str, str]) -> None:
    keys = GroupKeys(bytes.fromhex(case["seed"]), drawn)
    assert keys.additions().feed_id.hex() == case["additions_feed"]
    assert keys.additions() is keys.additions()
    assert keys.main.hex() == case["main_feed"]


@given(st.binary(max_size=100), st.integers(0, 2))
def test_whatever_is_no_announcement_announces_nothing(content: bytes, changed: int) -> None:
    case = VECTORS["announcements"][0]
    key, main = EpochKey.from_hex(case["epoch_key"]), FeedId.from_hex(case["main_feed"])
    place = context_of(main, MessageId.from_hex(case["previous"]))
    sealed = bytes.fromhex(case["content"])
    assert open_announcement(content, key, place) is None
    others = [(EpochKey(bytes(32)), place), (key, context_of(main, MessageId(bytes(20)))), (key, place)]
    if changed == 2:
        sealed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    assert open_announcement(sealed, *others[changed]) is None


def test_two_members_have_one_slot_between_them() -> None:
    one, other = GroupKeys(b"\x01" * 32, drawn), GroupKeys(b"\x02" * 32, drawn)
    slot = one.member(other.main)
    assert slot is not None
    assert slot == other.member(one.main)
    assert slot is one.member(other.main)
    assert one.member(FeedId(bytes(32))) is None
    assert slot.key not in {one.own.key, one.waits_seed}
    assert one.seal.feed_id == SealKey(b"\x01" * 32).feed_id == one.main
    assert "01" * 8 not in repr(one)
    with pytest.raises(ValueError, match="own_slot"):
        one.member(one.main)


def test_keys_of_many_people_are_not_all_kept() -> None:
    keys = GroupKeys(b"\x01" * 32, drawn)
    people = [SealKey(number.to_bytes(32, "big")).feed_id for number in range(1, 20)]
    slots = [keys.member(person) for person in people]
    for number in range(300):
        keys.member(FeedId(number.to_bytes(32, "big")))
    assert [keys.member(person) for person in people] == slots
