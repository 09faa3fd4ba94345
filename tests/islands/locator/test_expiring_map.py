"""Timers, tables that forget, buffers, resources: each beside something plain."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.islands.locator.villages import GROUP, place
from tinyssb_node.errors import LocalError
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress
from tinyssb_node.islands.locator.context import NEVER_US, LocatorTimers
from tinyssb_node.islands.locator.packets import LocatorPost, serialize
from tinyssb_node.islands.locator.table import AdvertBuffers, ExpiringMap, LocalResources
from tinyssb_node.islands.locator.values import Advert, Label, Location, ResourceParameters


def label(number: int) -> Label:
    return Label(number.to_bytes(20, "big"))


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 20), st.integers(0, 5)), max_size=80
    )
)
def test_timers_beside_a_dict(steps: list[tuple[str, int | None, int]]) -> None:
    timers, plain, now_us = LocatorTimers(), dict[object, int](), 0
    for key, due_us, later in steps:
        if due_us is None:
            timers.cancel(key)
            plain.pop(key, None)
        else:
            timers.set(key, due_us)
            plain[key] = due_us
        assert timers.next_us() == min(plain.values(), default=NEVER_US)
        assert timers.due_us(key) == plain.get(key)
        if later:
            now_us += later
            due = sorted((one for one in plain if plain[one] <= now_us), key=lambda one: plain[one])
            popped = [*timers.pop(now_us)]
            assert sorted(map(str, popped)) == sorted(map(str, due))
            assert [plain[one] for one in popped] == [plain[one] for one in due]
            for one in due:
                del plain[one]


def test_what_is_set_while_others_are_due_comes_next_time_and_the_heap_stays_small() -> None:
    timers = LocatorTimers()
    timers.set("a", 1)
    for key in timers.pop(5):
        timers.set(key, 0)
    assert timers.next_us() == 0
    for due_us in range(1_000):
        timers.set("a", due_us)
    assert len(timers) < 40


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), max_size=60), st.integers(1, 5))
def test_a_table_forgets_by_age_and_its_oldest(steps: list[tuple[int, int]], most: int) -> None:
    table: ExpiringMap[int, int] = ExpiringMap(most=most, age_us=10)
    plain: list[tuple[int, int, int]] = []
    now_us = 0
    for number, (key, later) in enumerate(steps):
        now_us += later
        table.put(key, number, now_us)
        plain = [row for row in plain if row[0] != key][-most + 1 if most > 1 else len(plain) :]
        plain.append((key, number, now_us))
        for each in range(7):
            row = next((row for row in plain if row[0] == each and now_us - row[2] < 10), None)
            assert table.get(each, now_us) == (None if row is None else row[1])
            assert table.has(each, now_us) == (row is not None)
        assert len(table) <= most
    table.expire(now_us + 9)
    assert len(table) == sum(now_us + 9 - row[2] < 10 for row in plain)


def test_a_value_that_changes_keeps_its_age() -> None:
    table: ExpiringMap[str, int] = ExpiringMap(most=2, age_us=10)
    table.put("a", 1, 0)
    table.change("a", 2)
    assert (table.get("a", 9), table.get("a", 10)) == (2, None)


def advert(number: int, *, wide: bool = False, timestamp: int = 1) -> Advert:
    where = ContactAddress(b"\x20" * 16, b"\1\1", b"\1\1") if wide else place(number)
    return Advert(label(number), Location(where, ResourceParameters(timestamp)))


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.booleans(), st.integers(0, 3)), max_size=120),
    st.integers(1, 40),
)
def test_what_waits_in_a_buffer_fits_in_one_post(steps: list[tuple[int, bool, int]], count_max: int) -> None:
    buffers = AdvertBuffers(count_max=count_max, group_size=len(GROUP))
    plain: dict[int, dict[tuple[int, bool], Advert]] = {}
    for number, wide, at in steps:
        one = advert(number, wide=wide, timestamp=number + at)
        if not buffers.fits(at, one):
            assert {*buffers.take(at)} == {*plain.pop(at).values()}
            assert buffers.fits(at, one)
        waiting = plain.setdefault(at, {})
        first = buffers.add(at, one)
        waiting[number, wide] = one
        assert first == (len(waiting) == 1 and (number, wide) in waiting and first)
        assert buffers.full(at) == (len(waiting) >= count_max)
        assert len(buffers) == sum(len(each) for each in plain.values())
        post = serialize(LocatorPost(tuple(waiting.values())), GROUP)
        assert len(post) <= limits.DATAGRAM_MAX
        assert len(waiting) <= count_max
    for at in [*plain]:
        assert {*buffers.take(at)} == {*plain.pop(at).values()}
        assert buffers.take(at) == ()


def test_an_advert_that_is_replaced_takes_no_more_room() -> None:
    buffers = AdvertBuffers(count_max=3, group_size=8)
    for timestamp in range(100):
        assert buffers.fits(0, advert(1, timestamp=timestamp))
        buffers.add(0, advert(1, timestamp=timestamp))


def test_a_buffer_is_begun_once() -> None:
    buffers = AdvertBuffers(count_max=3, group_size=8)
    assert [buffers.add(0, advert(1)), buffers.add(0, advert(1, timestamp=2)), buffers.add(0, advert(2))] == [
        True,
        False,
        False,
    ]
    assert buffers.take(0) == (advert(1, timestamp=2), advert(2))


def test_resources_have_a_bound_and_numbers_that_can_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RESOURCES_MAX", 2)
    resources = LocalResources()
    for number in (1, 2, 1):
        resources.put(label(number), ResourceParameters(number))
    with pytest.raises(LocalError, match="2 resources are offered"):
        resources.put(label(3), ResourceParameters(1))
    for wrong in (
        ResourceParameters(-1),
        ResourceParameters(2**39),
        ResourceParameters(0, 256),
        ResourceParameters(0, -1),
    ):
        with pytest.raises(ValueError, match="out of range"):
            resources.put(label(1), wrong)
    assert resources.get(label(1)) == ResourceParameters(1)
    resources.remove(label(1))
    assert (len(resources), [*resources], resources.get(label(1))) == (1, [label(2)], None)


def test_adverts_of_a_resource_come_at_ever_longer_intervals() -> None:
    resources = LocalResources()
    periods = [resources.next_period_us(label(1), 100_000_000) for _ in range(5)]
    assert periods == [15_000_000, 30_000_000, 60_000_000, 100_000_000, 100_000_000]
