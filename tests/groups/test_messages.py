"""Messages of groups can only be built as they have to be: each field, and each element of each list."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.groups.world import GROUP, key_of, message_id, person
from tinyssb_node import limits
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.content.telemetry import PositionRecord, serialize_telemetry
from tinyssb_node.errors import PeerError
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludedMember,
    ExcludeMember,
    GroupContent,
    GroupInit,
    GroupMessageError,
    body_of,
    post,
    record_in,
    share,
)
from tinyssb_node.ids import EpochKey, FeedId, GroupId

ROOT = message_id("root")
BEHIND = TangleData(ROOT, (ROOT,))
NOWHERE = TangleData(None, (ROOT,))
MANY = TangleData(ROOT, tuple(message_id(number) for number in range(limits.TANGLE_PREVIOUS_MAX + 1)))
NOBODY = FeedId(bytes(32))
ZEROS = EpochKey(bytes(32))

FIRST_INIT = GroupInit(key_of(0), FIRST, FIRST, FIRST)
INIT = GroupInit(key_of(1), BEHIND, BEHIND, FIRST, GROUP, person("a"))
ADD = AddMember(key_of(1), GROUP, ROOT, person("a"), (person("b"),), BEHIND, BEHIND, "welcome", (key_of(0),))
EXCLUDE = ExcludeMember(GROUP, (ExcludedMember(person("b")),), BEHIND, BEHIND)
POST = GroupContent("post", b"hello", GROUP, BEHIND)

WRONG: dict[str, Callable[[], Any]] = {
    "first init with an author": lambda: replace(FIRST_INIT, author=person("a")),
    "first init that follows": lambda: replace(FIRST_INIT, group_tangle=BEHIND),
    "first init that follows an epoch": lambda: replace(FIRST_INIT, epoch_tangle=BEHIND),
    "init without a key": lambda: replace(INIT, secret=ZEROS),
    "init without an author": lambda: replace(INIT, author=None),
    "init by nobody": lambda: replace(INIT, author=NOBODY),
    "init that follows no message": lambda: replace(INIT, group_tangle=FIRST),
    "init that follows no epoch": lambda: replace(INIT, epoch_tangle=FIRST),
    "init that names no root": lambda: replace(INIT, epoch_tangle=NOWHERE),
    "init in another members tangle": lambda: replace(INIT, members_tangle=BEHIND),
    "init that follows too much": lambda: replace(INIT, group_tangle=MANY),
    "addition without a key": lambda: replace(ADD, secret=ZEROS),
    "addition by nobody's leave": lambda: replace(ADD, creator=NOBODY),
    "addition of nobody": lambda: replace(ADD, people=()),
    "addition of sixteen": lambda: replace(ADD, people=tuple(person(number) for number in range(16))),
    "addition of one twice": lambda: replace(ADD, people=(person("b"), person("c"), person("b"))),
    "addition of the zero feed": lambda: replace(ADD, people=(person("b"), NOBODY)),
    "addition with a long text": lambda: replace(ADD, text="ü" * limits.GROUP_TEXT_MAX),
    "addition with zeros for an old key": lambda: replace(ADD, old_secrets=(key_of(0), ZEROS)),
    "addition with an old key twice": lambda: replace(ADD, old_secrets=(key_of(0), key_of(0))),
    "addition with its key as an old one": lambda: replace(ADD, old_secrets=(key_of(1),)),
    "addition with too many keys": lambda: replace(
        ADD, old_secrets=tuple(key_of(f"k{n}") for n in range(256))
    ),
    "addition in no group": lambda: replace(ADD, group_tangle=FIRST),
    "addition to no epoch": lambda: replace(ADD, members_tangle=FIRST),
    "exclusion of nobody": lambda: replace(EXCLUDE, excludes=()),
    "exclusion of one twice": lambda: replace(
        EXCLUDE, excludes=(ExcludedMember(person("b")), ExcludedMember(person("b")))
    ),
    "exclusion in two forms": lambda: replace(
        EXCLUDE, excludes=(ExcludedMember(person("b")), ExcludedMember(person("c"), person("feed"), 1))
    ),
    "exclusion of too many": lambda: replace(
        EXCLUDE, excludes=tuple(ExcludedMember(person(n)) for n in range(256))
    ),
    "exclusion from nothing": lambda: replace(EXCLUDE, members_tangle=FIRST),
    "exclusion in no group": lambda: replace(EXCLUDE, group_tangle=FIRST),
    "excluded zero feed": lambda: ExcludedMember(NOBODY),
    "excluded with a feed only": lambda: ExcludedMember(person("b"), person("feed")),
    "excluded with a number only": lambda: ExcludedMember(person("b"), None, 3),
    "excluded below zero": lambda: ExcludedMember(person("b"), person("feed"), -1),
    "excluded beyond all numbers": lambda: ExcludedMember(person("b"), person("feed"), limits.SEQ_MAX + 1),
    "content without a type": lambda: replace(POST, kind=""),
    "content with a long type": lambda: replace(POST, kind="x" * 65),
    "content that poses as an addition": lambda: replace(POST, kind="group/add-member"),
    "content that follows nothing": lambda: replace(POST, group_tangle=FIRST),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_not_built(name: str) -> None:
    with pytest.raises(GroupMessageError) as caught:
        WRONG[name]()
    assert isinstance(caught.value, PeerError)
    assert caught.value.where in str(caught.value)


def test_both_forms_of_an_exclusion_are_known() -> None:
    assert [each.feed for each in EXCLUDE.excludes] == [None] * len(EXCLUDE.excludes)
    full = replace(
        EXCLUDE,
        excludes=(
            ExcludedMember(person("b"), person("feed"), 0),
            ExcludedMember(person("c"), person("f"), 9),
        ),
    )
    assert [each.seq for each in full.excludes] == [0, 9]
    assert full.people == {person("b"), person("c")}


def test_keys_are_not_shown() -> None:
    for message in (FIRST_INIT, INIT, ADD):
        assert key_of(1).hex() not in repr(message)
        assert "secret=" not in repr(message)
    assert repr(key_of(1)) == "EpochKey(secret)"


def test_a_position_for_a_group_is_the_content_of_a_public_one() -> None:
    record = serialize_telemetry(PositionRecord(latitude=1, longitude=2))
    assert record_in(GroupContent(*share(record), GROUP, TangleData(ROOT, (ROOT,)))) == record
    place = TangleData(ROOT, (ROOT,))
    for kind, body in (
        share(b"nothing"),
        post("hello"),
        ("telemetry", body_of({})),
        ("telemetry", b"broken"),
    ):
        assert record_in(GroupContent(kind, body, GROUP, place)) is None
    assert record_in(INIT) is None


def test_ids_have_their_sizes() -> None:
    for type_ in (GroupId, EpochKey):
        assert type_(bytes(32)) == bytes(32)
        with pytest.raises(ValueError, match="32 bytes"):
            type_(bytes(31))
