"""Names of people, and the person whom a name means."""

import pytest

from tests.catalog.fake import ANA, BOB, CYD, EVE, HOSTILE_NAME, ZOE, make_person, small_mesh
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.screens import limits
from tinyssb_node.screens.people import DisplayNames, UnknownPersonError, alike
from tinyssb_node.screens.safetext import cells

MESH = DisplayNames(small_mesh().people(), {BOB})


def test_a_name_stands_beside_the_beginning_of_the_feed() -> None:
    assert MESH.of(BOB) == f"Bob from the hut {BOB.hex()[:8]}"
    assert MESH.of(CYD) == CYD.hex()[:8]
    assert MESH.of(ANA) == f"me {ANA.hex()[:8]}"
    assert HOSTILE_NAME in MESH.of(EVE)
    assert "\x1b" not in MESH.shown(EVE)
    assert cells(MESH.shown(EVE)) <= limits.NAME_CELLS + 1 + 8


def test_people_are_found_by_name_and_by_digits() -> None:
    assert MESH.find("bob from  the HUT").feed == BOB
    assert MESH.find("BOB").feed == BOB
    assert MESH.find(CYD.hex()).feed == CYD
    assert MESH.find(CYD.hex()[:10].upper()).feed == CYD
    assert MESH.find("me").feed == ANA
    for nobody in ("", "zoe", "ana", "\x1b[2J"):
        with pytest.raises(UnknownPersonError) as caught:
            MESH.find(nobody)
        assert "\x1b" not in caught.value.message


def test_digits_find_feeds_that_the_catalog_lacks() -> None:
    unseen = FeedId(b"\x99" * 32)
    with pytest.raises(UnknownPersonError):
        MESH.find(unseen.hex())
    names = MESH.with_feeds([unseen, BOB])
    assert names.find(unseen.hex()).feed == names.find(unseen.hex()[:10]).feed == unseen
    assert names.find("BOB").feed == BOB
    assert names.shown(unseen) == unseen.hex()[:8]


def test_a_name_of_several_people_means_nobody() -> None:
    names = DisplayNames(
        [make_person(BOB, "Bob"), make_person(EVE, "b\u0301o\u200bb"), make_person(CYD, "Cyd")]
    )
    assert (names.name(BOB), names.name(CYD)) == ("Bob?", "Cyd")
    with pytest.raises(ProblemError, match="2 people") as caught:
        names.find("bob")
    assert caught.value.exit_code is ExitCode.USAGE
    assert BOB.hex()[:8] in caught.value.message


@pytest.mark.parametrize(
    "unseen", ["\u2800", "\u3164", "\uffa0", "\u115f", "\u1160", "\U0001d159", "\ufe0f", "\u200d"]
)
def test_what_is_not_seen_makes_no_other_name(unseen: str) -> None:
    names = DisplayNames([make_person(BOB, "Bob"), make_person(EVE, f"B{unseen}ob{unseen}")], {BOB})
    assert (names.name(BOB), names.name(EVE)) == ("Bob", f"B{unseen}ob{unseen}?")
    assert DisplayNames([make_person(EVE, unseen)]).name(EVE) is None


def test_a_petname_goes_before_what_others_say_of_themselves() -> None:
    names = DisplayNames([make_person(BOB, "Bob"), make_person(EVE, "BOB")], {BOB})
    assert (names.name(BOB), names.name(EVE)) == ("Bob", "BOB?")
    assert names.find("bob").feed == BOB


def test_a_petname_leaves_what_somebody_calls_himself_to_him_alone() -> None:
    bobby = make_person(BOB, "Bobby", said="Bob")
    assert DisplayNames([bobby, make_person(EVE, "Eve")], {BOB}).find("bob").feed == BOB
    both = DisplayNames([bobby, make_person(EVE, "Bob")], {BOB})
    assert (both.name(BOB), both.name(EVE)) == ("Bobby", "Bob?")
    with pytest.raises(ProblemError, match="2 people") as caught:
        both.find("bob")
    assert caught.value.exit_code is ExitCode.USAGE
    given = DisplayNames([bobby, make_person(EVE, "Bob", said="Eve")], {BOB, EVE})
    assert (given.find("bob").feed, given.find("bobby").feed, given.find("eve").feed) == (EVE, BOB, EVE)


def test_nobody_takes_a_petname_from_another_by_calling_himself_so() -> None:
    names = DisplayNames(
        [make_person(BOB, "Bob", said=None), make_person(EVE, "Evil", said="Bob")], {BOB, EVE}
    )
    assert names.find("bob").feed == BOB


def test_nobody_else_is_me() -> None:
    names = DisplayNames([make_person(ANA, "Ana"), make_person(EVE, "me"), make_person(ZOE, "Ana")])
    assert names.name(EVE) == "me?"
    assert names.find("me").feed == ANA
    assert names.find("ana").feed == ZOE


def test_a_name_stands_alone_if_our_user_gave_it_to_one_and_no_screen_says_it_of_its_own() -> None:
    people = [
        make_person(ANA, "Ana"),
        make_person(BOB, "Bob"),
        make_person(CYD, "Cyd"),
        make_person(EVE, "Y\u200bOU"),
    ]
    names = DisplayNames(people, {BOB, EVE})
    assert [names.stands_alone(feed) for feed in (ANA, BOB, CYD, EVE, ZOE)] == [
        False,
        True,
        False,
        False,
        False,
    ]
    twice = DisplayNames([make_person(BOB, "Bob"), make_person(CYD, "bob")], {BOB, CYD})
    assert not twice.stands_alone(BOB)


def test_a_name_that_reads_as_digits_of_somebody_else_means_nobody() -> None:
    names = DisplayNames([make_person(BOB, "Bob"), make_person(EVE, BOB.hex()[:6])])
    with pytest.raises(ProblemError, match="2 people") as caught:
        names.find(BOB.hex()[:6])
    assert caught.value.exit_code is ExitCode.USAGE
    assert names.find(BOB.hex()).feed == BOB


def test_a_name_of_nothing_is_no_name() -> None:
    names = DisplayNames([make_person(EVE, "\u200b \u0301"), make_person(BOB, "")])
    assert names.name(EVE) is None
    assert names.of(BOB) == BOB.hex()[:8]
    assert alike("  ＢＯＢ \u0301") == "bob"
