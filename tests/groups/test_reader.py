"""The state of a reader, in any order of entries."""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.groups.mischief import MISCHIEF, announce_anothers_feed
from tests.groups.shelf import Scribe, Shelf, begin, keys_of, meet, state, texts
from tinyssb_node.groups import feeds
from tinyssb_node.groups.entry_source import SealedEntry
from tinyssb_node.groups.keys import GroupKeys
from tinyssb_node.groups.messages import FeedRole, GroupContent, rename, text_of
from tinyssb_node.groups.plan import GroupRefusalError, Step, add, exclude
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.reader_events import FeedClaimed, GroupJoined, GroupMessageRead
from tinyssb_node.groups.writer import draft_content

NAMES = "abcd"


def read(keys: GroupKeys, entries: Sequence[SealedEntry]) -> object:
    """Return the state of the reader after these entries in this order, all of which are in the store before."""
    shelf = Shelf(entries)
    book = GroupReader(keys, shelf)
    shelf.read(book)
    return state(book, sorted(shelf.feeds))


def read_one_by_one(keys: GroupKeys, entries: Sequence[SealedEntry]) -> object:
    """The same, if each comes into the store when it is taken, or again."""
    shelf = Shelf()
    book = GroupReader(keys, shelf)
    for entry in entries:
        shelf.put([entry])
        shelf.ahead.append(entry)
        shelf.read(book)
    return state(book, sorted(shelf.feeds))


def test_members_read_what_members_write() -> None:
    a, b, c, d = scribes = begin(*NAMES)
    b.say("hello")
    meet(*scribes)
    a.do(exclude(a.group, a.me, [d.me]))
    meet(*scribes)
    c.say("without d")
    meet(*scribes)
    for scribe in (a, b, c):
        assert texts(scribe.reader, a.root) == ["hello", "without d"]
        assert scribe.prefers == a.prefers
        assert not scribe.reader.counts
    assert texts(d.reader, a.root) == ["hello"]
    assert len(d.group.view.epochs) == 1
    place = b.reader.role_of(c.keys.epoch(a.group.view[c.prefers].key).feed_id)
    assert place is not None
    assert (place.member, place.role) == (c.me, FeedRole.EPOCH)
    assert b.reader.feed_of(a.me, None) == a.keys.additions().feed_id


def test_news_say_what_to_fetch_and_what_was_said() -> None:
    a, b = Scribe("a"), Scribe("b")
    root = a.create()
    a.do([*add(a.group, a.me, [b.me])])
    news = b.receive(a.shelf.entries)
    known = {(one.assignment.role, one.feed) for one in news if isinstance(one, FeedClaimed)}
    first = a.group.view[root].key
    additions = a.keys.additions().feed_id
    assert known == {(FeedRole.ADDITIONS, additions), (FeedRole.EPOCH, a.keys.epoch(first).feed_id)}
    assert [one.root for one in news if isinstance(one, GroupJoined)] == [root]
    assert sorted(one.said.seq for one in news if isinstance(one, GroupMessageRead)) == [1, 2, 3]
    assert all(one.changes for one in news)
    (spoke,) = [one for one in b.receive([a.say("hi")]) if isinstance(one, GroupMessageRead)]
    assert not spoke.changes
    assert isinstance(spoke.said.message, GroupContent)
    assert text_of(spoke.said.message) == "hi"


def test_a_feed_is_worth_fetching_before_anything_of_it_is_here() -> None:
    a, b = begin("a", "b")
    entry = b.say("first")
    news = a.receive(one for one in b.shelf.entries if one.feed != entry.feed)
    (known,) = [one for one in news if isinstance(one, FeedClaimed)]
    assert (known.feed, known.root) == (entry.feed, a.root)
    key = a.group.view[a.root].key
    assert a.reader.feed_of(b.me, key) == entry.feed
    assert a.reader.role_of(entry.feed) is None
    a.receive([entry])
    assert a.reader.role_of(entry.feed) == known.assignment


def test_who_lost_all_but_his_seed_finds_the_groups_that_he_made() -> None:
    a = Scribe("a")
    root = a.create()
    a.say("alone")
    lost = [entry for entry in a.shelf.entries if entry.feed != a.keys.additions().feed_id]
    shelf = Shelf(lost)
    book = GroupReader(keys_of("a"), shelf)
    shelf.read(book)
    assert texts(book, root) == ["alone"]


def test_the_last_name_by_a_member_holds() -> None:
    a, b = begin("a", "b")
    assert a.reader.groups[a.root].name is None
    key = a.group.view[a.root].key
    b.write(draft_content(b.group, *rename("walks")), key)
    meet(a, b)
    assert a.reader.groups[a.root].name == "walks"
    a.write(draft_content(a.group, *rename("long walks")), key)
    meet(a, b)
    assert b.reader.groups[a.root].name == "long walks"


# --- in any order


def attempt(chance: Random, scribe: Scribe, steps: Callable[[], tuple[Step, ...]]) -> None:
    """Write what is asked for, or stop in the middle of it; or nothing, if it is against the rules."""
    try:
        wanted = steps()
    except GroupRefusalError:
        return
    scribe.do(wanted[: chance.randint(1, len(wanted))] if chance.random() < 0.2 else wanted)


def happen(chance: Random, scribe: Scribe, scribes: list[Scribe], bad: float) -> None:
    """Let an event happen to a person."""
    if not scribe.reader.groups or scribe.group.view.preference(scribe.me).epoch is None:
        return
    group, me = scribe.group, scribe.me
    inside = sorted(group.view[scribe.prefers].members - {me})
    outside = sorted(other.me for other in scribes if other.me not in inside and other is not scribe)
    if chance.random() < bad:
        key = group.view[scribe.prefers].key
        chance.choice(MISCHIEF)(chance, scribe, chance.choice(scribes), key)
        return
    match chance.choice(["add", "exclude", "say", "say", "name", "act"]):
        case "add" if outside:
            attempt(chance, scribe, lambda: add(group, me, chance.sample(outside, 1)))
        case "exclude" if inside:
            attempt(chance, scribe, lambda: exclude(group, me, chance.sample(inside, 1)))
        case "say":
            scribe.say(f"{len(scribe.shelf.entries)}")
        case "name":
            key = group.view[scribe.prefers].key
            scribe.write(draft_content(group, *rename(f"name {len(scribe.shelf.entries)}")), key)
        case _:
            scribe.act(10**12)


def history(seed: int, *, bad: float, length: int = 12) -> list[Scribe]:
    """A group over which chance reigned, in pieces."""
    chance = Random(seed)
    founders = chance.randint(2, 4)
    scribes = begin(*NAMES[:founders])
    scribes += [Scribe(each) for each in NAMES[founders:]]
    for _ in range(length):
        happen(chance, chance.choice(scribes), scribes, bad)
        if chance.random() < 0.4:
            meet(*chance.sample(scribes, 2))
    return scribes


@pytest.mark.parametrize("bad", [0.0, 0.5])
@given(seed=st.integers(0, 10_000), chance=st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_book_depends_on_the_entries_only(bad: float, seed: int, chance: Random) -> None:
    scribes = history(seed, bad=bad)
    entries = list({one.id: one for scribe in scribes for one in scribe.shelf.entries}.values())
    some = entries if chance.random() < 0.7 else chance.sample(entries, len(entries) // 2)
    keys = chance.choice(scribes).keys
    expected = read(keys, some)
    shuffled = [*some, *chance.sample(some, len(some) // 3)]
    chance.shuffle(shuffled)
    assert read(keys, shuffled) == expected
    assert read_one_by_one(keys, shuffled) == expected


def test_of_two_claims_that_hold_the_first_announced_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that hold take broken ciphers, which are acted here: any owner will do."""
    monkeypatch.setattr(feeds, "split_owner", lambda plain: (b"", plain[8:]))
    a, b, c = begin("a", "b", "c")
    key = a.group.view[a.root].key
    b.say("mine")
    c.append(c.me, 0, bytes(48))
    announce_anothers_feed(Random(1), c, b, key)
    entries = list({one.id: one for scribe in (a, b, c) for one in scribe.shelf.entries}.values())
    expected = read(a.keys, entries)
    feed = b.keys.epoch(key).feed_id
    for seed in range(10):
        Random(seed).shuffle(entries)
        assert read(a.keys, entries) == expected
        assert read_one_by_one(a.keys, entries) == expected
        shelf = Shelf(entries)
        book = GroupReader(a.keys, shelf)
        shelf.read(book)
        place = book.role_of(feed)
        assert place is not None
        assert place.member == b.me
