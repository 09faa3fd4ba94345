"""Names and blocks survive everything, and nobody loses another's change."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.fake import ANA, BOB, EVE
from tinyssb_node.content import limits
from tinyssb_node.content.contacts import (
    CONTACTS_FILE,
    NOBODY,
    Contact,
    ContactsError,
    follow_list,
    parse_contacts,
    read_contacts,
    serialize_contacts,
    set_blocked,
    set_petname,
)
from tinyssb_node.ids import FeedId

feeds = st.binary(min_size=32, max_size=32).map(FeedId)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
contacts = st.dictionaries(feeds, st.builds(Contact, st.none() | texts, st.booleans()))


def test_the_format_is_what_it_was():
    """A file of version 1, byte for byte."""
    raw = (
        b'{"v": 1, "people": [{"feed": "%s", "name": "Bob \\ud83c\\udf3f"}, {"feed": "%s", "blocked": true}]}\n'
        % (b"11" * 32, b"ee" * 32)
    )
    people = {FeedId(b"\x11" * 32): Contact("Bob \U0001f33f"), FeedId(b"\xee" * 32): Contact(None, True)}
    assert parse_contacts(raw, Path("c")) == people
    assert serialize_contacts(people) == raw


@given(contacts)
def test_what_is_written_is_read_again(people):
    raw = serialize_contacts(people)
    assert parse_contacts(raw, Path("c")) == {feed: one for feed, one in people.items() if one != NOBODY}


@given(
    st.binary()
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
def test_any_bytes_are_contacts_or_refused(raw):
    with suppress(ContactsError):
        assert isinstance(parse_contacts(raw, Path("c")), dict)


@pytest.mark.parametrize(
    "person",
    [
        {"feed": 1},
        {"feed": "00"},
        {},
        [],
        {"feed": "00" * 32, "name": 1},
        {"feed": "00" * 32, "blocked": "yes"},
        {"feed": "00" * 32, "list": 1},
    ],
)
def test_a_person_of_another_shape_is_refused(person):
    with pytest.raises(ContactsError, match="not a file of contacts"):
        parse_contacts(json.dumps({"v": 1, "people": [person]}).encode(), Path("c"))


def test_a_newer_format_is_refused_by_name_and_left(tmp_path):
    raw = b'{"v": 2, "else": 1}'
    (tmp_path / CONTACTS_FILE).write_bytes(raw)
    with pytest.raises(ContactsError, match="format 2, this program knows up to 1"):
        set_petname(tmp_path, BOB, "Bob")
    assert (tmp_path / CONTACTS_FILE).read_bytes() == raw


def test_names_and_blocks_are_kept_apart_and_taken_back(tmp_path):
    assert read_contacts(tmp_path) == {}
    set_petname(tmp_path, BOB, "  Bob \U0001f33f ")
    set_blocked(tmp_path, EVE, blocked=True)
    set_blocked(tmp_path, BOB, blocked=True)
    assert read_contacts(tmp_path) == {BOB: Contact("Bob \U0001f33f", True), EVE: Contact(None, True)}
    set_petname(tmp_path, BOB, None)
    set_blocked(tmp_path, EVE, blocked=False)
    assert read_contacts(tmp_path) == {BOB: Contact(None, True), EVE: Contact(None, False)}, (
        "decided otherwise"
    )
    assert stat.S_IMODE((tmp_path / CONTACTS_FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [CONTACTS_FILE]


def test_no_change_writes_nothing(tmp_path):
    follow_list(tmp_path, EVE, followed=False)
    assert list(tmp_path.iterdir()) == []


def test_so_many_lists_are_followed_and_no_more(tmp_path):
    feeds = [FeedId(bytes((number,)) * 32) for number in range(1, limits.BLOCKLISTS_MAX + 2)]
    for feed in feeds[:-1]:
        follow_list(tmp_path, feed, followed=True)
    with pytest.raises(ContactsError, match="16 blocklists"):
        follow_list(tmp_path, feeds[-1], followed=True)
    assert {feed for feed, contact in read_contacts(tmp_path).items() if contact.list_followed} == set(
        feeds[:-1]
    )
    follow_list(tmp_path, feeds[0], followed=False)
    follow_list(tmp_path, feeds[-1], followed=True)


@pytest.mark.parametrize("name", ["", "  ", "x" * 65])
def test_names_have_bounds(tmp_path, name):
    with pytest.raises(ContactsError, match="1 to 64 characters"):
        set_petname(tmp_path, BOB, name)


def test_half_a_surrogate_pair_is_no_way_to_break_the_file(tmp_path):
    set_petname(tmp_path, BOB, "B\ud800b")
    assert read_contacts(tmp_path) == {BOB: Contact("B?b")}


def test_so_many_contacts_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "CONTACTS_MAX", 2)
    set_petname(tmp_path, ANA, "a")
    set_petname(tmp_path, BOB, "b")
    with pytest.raises(ContactsError, match="the most there can be"):
        set_petname(tmp_path, EVE, "e")
    assert set(read_contacts(tmp_path)) == {ANA, BOB}


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "CONTACTS_FILE_MAX", 10)
    (tmp_path / CONTACTS_FILE).write_bytes(b" " * 11)
    with pytest.raises(ContactsError, match="more than 10 bytes"):
        read_contacts(tmp_path)


def test_a_file_that_cannot_be_read_or_written_is_said(tmp_path, monkeypatch):
    (tmp_path / CONTACTS_FILE).mkdir()
    with pytest.raises(ContactsError, match="cannot be read"):
        read_contacts(tmp_path)
    (tmp_path / CONTACTS_FILE).rmdir()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ContactsError, match="cannot be written: No space"):
        set_petname(tmp_path, BOB, "Bob")
    assert read_contacts(tmp_path) == {}


def test_many_at_once_lose_nothing(tmp_path):
    people = [FeedId(bytes([number]) * 32) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda feed: set_petname(tmp_path, feed, feed.hex()[:4]), people))
    assert read_contacts(tmp_path) == {feed: Contact(feed.hex()[:4]) for feed in people}
