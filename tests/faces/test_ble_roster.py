"""The choice of a BLE central: the boards that it tries, and when."""

from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node import limits
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.ble_roster import BleRoster


def roster(links: int = 7) -> BleRoster:
    return BleRoster(links, lambda: Backoff(lambda: 0.0))


def test_who_is_new_is_tried_and_who_is_linked_is_not() -> None:
    known = roster()
    assert known.due(["a", "b"], 0.0) == ["a", "b"]
    known.up("a", 0.0)
    assert known.due(["a", "b"], 1.0) == ["b"]
    assert known.linked == 1


def test_there_are_no_more_links_than_may_be() -> None:
    known = roster(links=2)
    known.up("a", 0.0)
    assert known.due(["b", "c", "d"], 0.0) == ["b"]
    known.up("b", 0.0)
    assert known.is_full
    assert known.due(["c"], 0.0) == []
    known.down("a", 1.0)
    assert not known.is_full


def test_who_fails_is_tried_later_each_time_after_twice_as_long() -> None:
    known = roster()
    waits = []
    now_s = 0.0
    for _ in range(7):
        known.down("a", now_s)
        begun_s = now_s
        while not known.due(["a"], now_s):
            now_s += 0.5
        waits.append(now_s - begun_s)
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]


def test_a_link_that_held_is_tried_again_soon() -> None:
    known = roster()
    for _ in range(5):
        known.down("a", 0.0)
    known.up("a", 100.0)
    known.down("a", 100.0 + limits.LINK_SETTLED_S)
    assert known.due(["a"], 100.5 + limits.LINK_SETTLED_S) == ["a"]


def test_a_phone_is_left_alone_while_it_keeps_its_address() -> None:
    known = roster()
    known.is_phone("a", 0.0)
    assert known.due(["a"], limits.BLE_PHONE_REST_S - 1) == []
    assert known.due(["a"], limits.BLE_PHONE_REST_S) == ["a"]


def test_it_forgets_whom_it_did_not_meet_for_longest_but_no_link() -> None:
    known = roster()
    known.up("linked", 0.0)
    known.is_phone("old", 0.0)
    for number in range(limits.BLE_KNOWN_MAX - 2):
        known.is_phone(f"phone {number}", 0.0)
    assert known.due(["old"], 1.0) == []
    known.is_phone("new", 0.0)
    assert known.due(["old", "phone 0", "linked"], 1.0) == ["old"]


@given(st.lists(st.tuples(st.sampled_from(["up", "down", "is_phone"]), st.integers(0, 200))))
def test_it_stays_small_and_within_its_links(steps: list[tuple[str, int]]) -> None:
    known = roster(links=3)
    for now_s, (step, who) in enumerate(steps):
        if step != "up" or known.due([str(who)], float(now_s)):
            getattr(known, step)(str(who), float(now_s))
        assert known.linked <= 3
    if not known.is_full:
        remembered = [who for who in range(201) if not known.due([str(who)], float(len(steps)))]
        assert len(remembered) <= limits.BLE_KNOWN_MAX
