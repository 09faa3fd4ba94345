"""Sets under a salt."""

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nodes import feed_of
from tests.replication.test_goset import feed_ids
from tinyssb_node import limits
from tinyssb_node.ids import FeedId
from tinyssb_node.replication import salted
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.salted import SaltedSet, SaltedSets, checksum_of, short_id
from tinyssb_node.replication.sketch import decode, sketch_of

SALT, OTHER = b"salt", b"\x00\x00\x00\x01"
FEEDS = [feed_of(number) for number in range(40)]


def alike(salt: bytes, feed: FeedId) -> int:
    """Short ids that are the same for all feeds under one salt."""
    return 7 if salt == b"\xff\xff\xff\xff" else short_id(salt, feed)


def test_a_short_id_is_the_beginning_of_a_hash() -> None:
    digest = sha256(SALT + FEEDS[0]).digest()
    assert short_id(SALT, FEEDS[0]) == int.from_bytes(digest[:4], "big")
    assert short_id(OTHER, FEEDS[0]) != short_id(SALT, FEEDS[0])


def test_no_short_id_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    class Zeros:
        def digest(self) -> bytes:
            return bytes(32)

    monkeypatch.setattr(salted, "sha256", lambda _data: Zeros())
    assert short_id(SALT, FEEDS[0]) == 1


def test_the_checksum_is_over_the_salt_and_the_short_ids_in_order() -> None:
    assert checksum_of(SALT, [258, 1]) == sha256(SALT + b"\0\0\0\x01\0\0\x01\x02").digest()[:3]


@settings(deadline=None)
@given(st.sets(feed_ids, max_size=12), st.sets(feed_ids, max_size=4))
def test_a_set_that_grows_is_the_set_it_grew_to(first: set[FeedId], more: set[FeedId]) -> None:
    grown = SaltedSet(SALT, first)
    before = grown.sketch(limits.SKETCH_CAPACITY)
    assert before.sums == sketch_of((short_id(SALT, feed) for feed in first), len(first))
    for feed in more - first:
        grown.add(feed)
    assert grown.sketch(26) == SaltedSet(SALT, first | more).sketch(26)
    assert grown.sketch(26).count == len(first | more)


def test_a_sketch_has_the_capacity_it_should() -> None:
    ours = SaltedSet(SALT, FEEDS)
    assert [len(ours.sketch(capacity).sums) for capacity in (0, 1, 26)] == [0, 4, 104]
    assert ours.sketch(3).sums == ours.sums[:12]


def test_a_sketch_of_few_ids_shows_all_of_them_and_is_no_larger() -> None:
    ours = SaltedSet(SALT, FEEDS[:2])
    assert decode(ours.sketch(26).sums) == ours.feeds.keys()
    assert len(ours.sketch(26).sums) == 8


def test_two_ids_that_look_alike_are_noticed_and_another_salt_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(salted, "short_id", alike)
    sets = SaltedSets(Goset(FEEDS[:2]))
    assert sets.under(b"\xff\xff\xff\xff").ambiguous
    assert sets.under_fresh(b"\xff\xff\xff\xff").salt == bytes(4)
    assert sets.under_fresh(SALT).salt == SALT


def test_the_search_for_a_salt_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(salted, "short_id", lambda _salt, _feed: 7)
    assert SaltedSets(Goset(FEEDS[:2])).under_fresh(SALT).ambiguous


def test_sets_are_kept_for_the_salts_in_use_and_grow() -> None:
    goset = Goset(FEEDS[:10])
    sets = SaltedSets(goset)
    kept = sets.under(SALT)
    for number in range(limits.SALTS_MAX - 1):
        sets.under(bytes((number,)) * 4)
    assert sets.under(SALT) is kept
    goset.add(FEEDS[10])
    sets.grew(FEEDS[10])
    assert sets.under(SALT).sketch(26) == SaltedSet(SALT, FEEDS[:11]).sketch(26)
    for number in range(limits.SALTS_MAX):
        sets.under(bytes((100 + number,)) * 4)
    assert sets.under(SALT) is not kept
