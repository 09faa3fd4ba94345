"""Invalid or too many entries in a reader: they change nobody's membership, and are counted."""

from dataclasses import replace
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.groups.mischief import (
    MISCHIEF,
    Mischief,
    change_what_is_sealed,
    say_the_key_is_of_another_group,
    seal_what_says_nothing,
    write_noise,
)
from tests.groups.shelf import Scribe, Shelf, begin, keys_of, meet, state, texts
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups import reader
from tinyssb_node.groups.bfe import EnvelopeContext
from tinyssb_node.groups.envelope import SlotKey, opens_first
from tinyssb_node.groups.keys import epoch_slot
from tinyssb_node.groups.plan import AddStep, add
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.reader_events import GroupEntryFault
from tinyssb_node.groups.short_form import encode
from tinyssb_node.groups.writer import draft_add


@pytest.mark.parametrize("wrong", MISCHIEF, ids=lambda wrong: wrong.__name__)
def test_what_is_wrong_changes_nobodys_membership(wrong: Mischief) -> None:
    a, b, c = scribes = begin("a", "b", "c")
    for scribe in scribes:
        scribe.say("before")
        scribe.open_additions()
    meet(*scribes)
    key = a.group.view[a.prefers].key
    expected = {init: epoch.members for init, epoch in a.group.view.epochs.items()}
    for seed in range(3):
        wrong(Random(seed), b, c, key)
    b.say("after")
    meet(*scribes)
    for scribe in scribes:
        view = scribe.group.view
        assert {init: epoch.members for init, epoch in view.epochs.items() if init in expected} == expected
        assert scribe.prefers == a.root
        assert not view.exclusions
        assert sorted(map(str, texts(scribe.reader, a.root))) == ["after", "before", "before", "before"]
        assert scribe.reader.feed_of(c.me, key) == c.keys.epoch(key).feed_id
        assert scribe.reader.feed_of(b.me, key) == b.keys.epoch(key).feed_id
        assert scribe.reader.feed_of(b.me, None) == b.keys.additions().feed_id
    seen = sum(a.reader.counts.values()) + sum(line.flaw is not None for line in a.group.audit())
    assert seen > 0 or wrong in {write_noise, say_the_key_is_of_another_group}


def test_the_audit_has_what_opened_and_says_nothing() -> None:
    a, b = begin("a", "b")
    key = a.group.view[a.root].key
    b.say("first")
    for seed in range(8):
        change_what_is_sealed(Random(seed), b, a, key)
        seal_what_says_nothing(Random(seed), b, a, key)
    meet(a, b)
    assert a.reader.groups[a.root].broken == b.reader.groups[a.root].broken
    broken = list(a.reader.groups[a.root].broken.values())
    feeds = (b.keys.epoch(key).feed_id, b.keys.additions().feed_id)
    assert {(one.feed, one.fault) for one in broken} == set(
        product(feeds, (GroupEntryFault.BODY, GroupEntryFault.FORM))
    )
    assert {one.author for one in broken} == {b.me}


def test_an_envelope_for_somebody_else_is_put_by_and_no_fault() -> None:
    a, b, d = Scribe("a"), Scribe("b"), Scribe("d")
    root = a.create()
    a.do(add(a.group, a.me, [b.me]))
    d.receive(a.shelf.entries)
    assert not d.reader.groups
    assert not d.reader.counts
    a.do(add(a.group, a.me, [d.me]))
    d.receive(a.shelf.entries)
    assert d.group.view[root].members == {a.me, b.me, d.me}


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0, 1, 2, 3, 4, 5, 255]), st.binary(max_size=200)),
        max_size=6,
    ),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_no_bytes_make_a_book_raise(written: list[tuple[int, int, bytes]], sealed: bool) -> None:
    a, b = begin("a", "b")
    key = a.group.view[a.root].key
    members = a.group.view[a.root].members
    feeds = (b.me, b.open_additions(), b.open_epoch(key))
    for at, type_, content in written:
        if sealed and content:
            content = b.seal(feeds[at], content, [epoch_slot(key)])  # noqa: PLW2901 - the same, in an envelope
        b.append(feeds[at], type_, content)
    meet(a, b)
    assert a.group.view[a.root].members == members


# --- bounds


def test_one_person_brings_so_many_keys_of_epochs_that_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_limits, "KEYS_BY_ONE_MAX", 3)
    monkeypatch.setattr(group_limits, "KEYS_PUT_OFF_MAX", 3)
    a, b = Scribe("a"), Scribe("b")
    roots = []
    for _ in range(8):
        roots.append(a.create())
        a.do([AddStep(roots[-1], (b.me,))], roots[-1])
    epochs = {a.keys.epoch(a.reader.keys_of(root)[0]).feed_id for root in roots}
    b.receive([entry for entry in a.shelf.entries if entry.feed not in epochs])
    assert [len(b.reader.keys_of(root)) for root in roots] == [1, 1, 1, 0, 0, 0, 0, 0]
    assert b.reader.counts[GroupEntryFault.FULL] > 0
    # With its first message each epoch makes room for a key: nobody comes to the bound by living.
    b.receive(a.shelf.entries)
    assert set(b.reader.groups) == set(roots[:6])


def test_a_key_is_tried_for_so_many_groups() -> None:
    a, b = begin("a", "b")
    key = a.group.view[a.root].key
    for _ in range(6):
        say_the_key_is_of_another_group(Random(1), b, a, key)
    meet(a, b)
    assert a.reader.counts[GroupEntryFault.FULL] > 0
    assert a.group.view[a.root].members == {a.me, b.me}


def test_a_member_has_so_many_feeds_in_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_limits, "FEEDS_OF_ONE_MAX", 3)
    a, b = begin("a", "b")
    key = a.group.view[a.root].key
    for number in range(5):
        b.open_epoch(key, b.keys.epoch(key, number).feed_id)
    meet(a, b)
    assert a.reader.counts[GroupEntryFault.FULL] >= 2
    assert a.reader.feed_of(b.me, key) == b.keys.epoch(key, 2).feed_id


@pytest.mark.parametrize("bound", ["HIDDEN_MAX", "UNREAD_MAX", "WAITING_MAX"])
def test_what_nobody_can_read_yet_is_bounded(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_limits, bound, 2)
    a, b, c = scribes = begin("a", "b", "c")
    other = c.create()
    for number in range(5):
        b.append(b.me, 0, bytes([number]) * 48)
        c.do([AddStep(other, (keys_of(f"stranger {number}").main,))], other)
        a.do([AddStep(a.root, (keys_of(f"newcomer {number}").main,))])
    meet(*scribes)
    d = Scribe("d")
    a.do([AddStep(a.root, (d.me,))])
    rest = [one for one in a.shelf.entries if one.id != a.root]
    assert d.receive(rest) is not None
    assert d.reader.counts[GroupEntryFault.FULL] + b.reader.counts[GroupEntryFault.FULL] > 0
    d.receive(a.shelf.entries)
    assert a.root in d.reader.groups


def test_one_who_writes_much_that_is_not_for_us_pushes_out_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_limits, "UNREAD_MAX", 10)
    a, b, c = scribes = begin("a", "b", "c")
    a.do([AddStep(a.root, (keys_of("newcomer").main,))])
    other = c.create()
    for number in range(30):
        c.do([AddStep(other, (keys_of(f"stranger {number}").main,))], other)
    meet(*scribes)
    newcomer, key = keys_of("newcomer").main, a.group.view[a.root].key
    book = GroupReader(keys_of("d"), shelf := Shelf(a.shelf.entries))
    shelf.read(book)
    assert book.counts[GroupEntryFault.FULL] > 0
    book.learn(key, a.root)
    shelf.read(book)
    assert newcomer in book.groups[a.root].group.view[a.root].members
    assert b.me in book.groups[a.root].group.view[a.root].members


def test_many_keys_at_once_are_tried_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    a, _, c = scribes = begin("a", "b", "c")
    other = c.create()
    for number in range(20):
        c.do([AddStep(other, (keys_of(f"stranger {number}").main,))], other)
    old_keys = tuple(a.draw_key() for _ in range(20))
    d = keys_of("d")
    message = replace(draft_add(a.group, a.root, [d.main]), old_secrets=old_keys)
    slot = a.keys.member(d.main)
    assert slot is not None
    a.write_plain(a.open_additions(), encode(message), [epoch_slot(message.secret), slot])
    meet(*scribes)
    monkeypatch.setattr(group_limits, "TRIES_AT_ONCE", 64)
    tried: list[int] = []

    def counted(head: bytes, context: EnvelopeContext, key: SlotKey) -> bool:
        tried.append(1)
        return opens_first(head, context, key)

    monkeypatch.setattr(reader, "opens_first", counted)
    theirs = {c.me, c.keys.additions().feed_id}
    book = GroupReader(d, shelf := Shelf(sorted(a.shelf.entries, key=lambda entry: entry.feed not in theirs)))
    most = steps = 0
    while shelf.ahead or book.unfinished:
        before = len(tried)
        if book.unfinished:
            book.go_on()
            steps += 1
        else:
            book.take(shelf.ahead.popleft())
        most = max(most, len(tried) - before)
    assert most <= group_limits.TRIES_OF_ENTRY
    assert len(tried) > 2 * most
    assert steps > 1
    assert d.main in book.groups[a.root].group.view[a.root].members


def test_a_group_shows_so_many_broken_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_limits, "BROKEN_MAX", 2)
    a, b = begin("a", "b")
    b.say("first")
    for seed in range(4):
        seal_what_says_nothing(Random(seed), b, a, a.group.view[a.root].key)
    meet(a, b)
    assert len(a.reader.groups[a.root].broken) == 2
    assert a.reader.counts[GroupEntryFault.FULL] >= 2


def test_a_book_begins_anew_after_a_rollback() -> None:
    a, _ = begin("a", "b")
    before = state(a.reader, sorted(a.shelf.feeds))
    written = a.say("taken back")
    a.shelf.entries.remove(written)
    del a.shelf.feeds[written.feed][written.seq]
    a.reader.restart()
    a.shelf.read(a.reader)
    assert state(a.reader, sorted(a.shelf.feeds)) == before


def test_who_made_a_group_finds_it_though_another_said_first_that_its_key_is_of_his() -> None:
    a, c = begin("a", "c")
    say_the_key_is_of_another_group(Random(1), c, a, a.group.view[a.root].key)
    theirs = [one for one in c.shelf.entries if one.feed in {c.me, c.keys.additions().feed_id}]
    mine = [one for one in a.shelf.entries if one.feed == a.me]
    root = [one for one in a.shelf.entries if one.id == a.root]
    for entries in ([*root, *mine, *theirs], [*theirs, *mine, *root]):
        shelf = Shelf()
        book = GroupReader(keys_of("a"), shelf)
        for entry in entries:
            shelf.put([entry])
            shelf.read(book)
        assert list(book.groups) == [a.root]
