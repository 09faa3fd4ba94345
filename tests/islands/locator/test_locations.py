"""The map beside a plain list, and its rules about old flags."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.islands.locator.villages import address, peer, place
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress
from tinyssb_node.islands.locator.table import LocationMap
from tinyssb_node.islands.locator.values import Label, Location, ResourceParameters

HERE, THERE = Label(b"h" * 20), Label(b"t" * 20)
AGE_US = 100


def made(set_limit: int = 1_000) -> LocationMap:
    return LocationMap(set_limit=set_limit, age_us=AGE_US, chance=random.Random(1))


def at(number: int, timestamp: int, *, old: bool = False, completeness: int = 255) -> Location:
    return Location(place(number), ResourceParameters(timestamp, completeness, old))


class Plain:
    """The format's text, implemented plainly: one list of rows."""

    def __init__(self) -> None:
        self.rows: list[tuple[Label, Location, int]] = []

    def add(self, label: Label, location: Location, now_us: int) -> tuple[set[Location], set[Location]]:
        peer = location.place.peer
        self.rows = [row for row in self.rows if (row[0], row[1].place.peer) != (label, peer)]
        newest = {
            one for known, one, _ in self.rows
            if known == label and one.parameters.timestamp > location.parameters.timestamp
        }  # fmt: skip
        was_old = location.parameters.old
        self.rows.append((label, location, now_us))
        flagged = set()
        for index, (known, one, added_us) in enumerate(self.rows):
            stamps = [other.parameters.timestamp for of, other, _ in self.rows if of == known]
            if one.parameters.timestamp < max(stamps) and not one.parameters.old:
                turned = replace(one, parameters=replace(one.parameters, old=True))
                self.rows[index] = known, turned, added_us
                if one.place.peer != peer:
                    flagged.add(turned)
        return (set() if was_old else newest), flagged

    def known(self, label: Label) -> set[Location]:
        return {location for known, location, _ in self.rows if known == label}


steps = st.lists(
    st.tuples(
        st.sampled_from([HERE, THERE]), st.integers(1, 6), st.integers(0, 5), st.booleans(), st.booleans(),
        st.integers(0, 30),
    ),
    max_size=60,
)  # fmt: skip


@settings(deadline=None)
@given(steps)
def test_the_map_is_what_the_text_says(steps: list[tuple[Label, int, int, bool, bool, int]]) -> None:
    tried, plain, now_us = made(), Plain(), 0
    for label, number, timestamp, old, proved, later in steps:
        now_us += later
        tried.expire(now_us)
        plain.rows = [row for row in plain.rows if row[2] + AGE_US > now_us]
        location = at(number, timestamp, old=old)
        change = tried.add(label, location, now_us, proved=proved)
        newer, flagged = plain.add(label, location, now_us)
        assert ({*change.newer}, {*change.flagged}) == (newer, flagged)
        assert not (newer and flagged)
        for each in (HERE, THERE):
            assert {*tried.known(each)} == plain.known(each)
        assert change.added in plain.known(label)
        assert len(tried) == len(plain.rows)
        assert tried.labels() == len({row[0] for row in plain.rows})
        assert tried.count(label, lambda told: told.old, but=peer(1)) == sum(
            one.parameters.old and one.place.peer != peer(1) for one in plain.known(label)
        )


@settings(deadline=None)
@given(steps, st.integers(1, 4))
def test_within_bounds_a_newer_location_means_that_older_ones_are_flagged(
    steps: list[tuple[Label, int, int, bool, bool, int]], set_limit: int
) -> None:
    tried = made(set_limit)
    for label, number, timestamp, old, proved, later in steps:
        before = {one.place.peer: one for one in tried.known(label)}
        tried.add(label, at(number, timestamp, old=old), later, proved=proved)
        known = tried.known(label)
        assert 0 < len(known) <= set_limit
        newest = max(one.parameters.timestamp for one in known)
        assert all(one.parameters.old for one in known if one.parameters.timestamp < newest)
        for one in known:
            if one.place != place(number) and before[one.place.peer].parameters.old:
                assert one.parameters.old  # Never turned off.


def test_a_location_that_is_told_again_is_as_it_is_told() -> None:
    tried = made()
    tried.add(HERE, at(1, 5, old=True), 0, proved=True)
    change = tried.add(HERE, at(1, 7), 50, proved=True)
    assert tried.known(HERE) == (at(1, 7),)
    assert (change.newer, change.flagged) == ((), ())
    tried.expire(AGE_US)
    assert tried.known(HERE)
    tried.expire(50 + AGE_US)
    assert not tried.known(HERE)
    assert tried.labels() == 0


def test_of_too_many_in_a_set_any_one_goes() -> None:
    left: Counter[int] = Counter()
    for seed in range(800):
        tried = LocationMap(set_limit=3, age_us=AGE_US, chance=random.Random(seed))
        for number in range(4):
            tried.add(HERE, at(number, 1), 0, proved=True)
        left.update({0, 1, 2, 3} - {number for number in range(4) if at(number, 1) in tried.known(HERE)})
    assert all(150 < left[number] < 250 for number in range(4))


def test_what_strangers_tell_has_a_quarter_and_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOCATIONS_MAX", 40)
    monkeypatch.setattr(limits, "LOCATIONS_UNPROVED_MAX", 10)
    tried = made()

    def label(number: int) -> Label:
        return Label(number.to_bytes(20, "big"))

    for number in range(100):
        tried.add(label(number), at(1, 1), number, proved=False)
        assert len(tried) <= 10
    assert [number for number in range(100) if tried.known(label(number))] == [*range(90, 100)]
    for number in range(100, 200):
        tried.add(label(number), at(1, 1), number, proved=True)
        assert len(tried) <= 40
    assert [number for number in range(200) if tried.known(label(number))] == [*range(160, 200)]
    # What was told by somebody proved stays so, whoever repeats it.
    tried.add(label(160), at(1, 2), 300, proved=False)
    for number in range(200, 300):
        tried.add(label(number), at(1, 1), number, proved=False)
    assert tried.known(label(160)) == (at(1, 2),)


def test_a_place_is_forgotten_everywhere() -> None:
    tried = made()
    for label in (HERE, THERE):
        for number in (1, 2):
            tried.add(label, at(number, 1), 0, proved=number == 1)
    tried.forget(ContactAddress(address(1), b"\0\1", b"\0\2"))
    assert len(tried) == 4
    tried.forget(place(1))
    assert tried.known(HERE) == tried.known(THERE) == (at(2, 1),)
    tried.remove(HERE, peer(1))
    tried.remove(HERE, peer(2))
    assert (len(tried), tried.labels()) == (1, 1)
