"""News carried on: at first all of it, ever less where nobody passes it on, all of it again after an echo."""

import pytest

from tests.scheduling.chances import Chance
from tinyssb_node import limits
from tinyssb_node.scheduling.relay import EntryRelay

NEWS = b"news"


@pytest.fixture
def chance() -> Chance:
    return Chance(0.999)


@pytest.fixture
def carrier(chance: Chance) -> EntryRelay:
    return EntryRelay(chance)


def carry(carrier: EntryRelay, packet: bytes, now_us: int) -> bool:
    """Return True if a new packet is relayed; if so, it has left."""
    carrier.take(packet)
    news = carrier.pop()
    if news is not None:
        carrier.sent(news, now_us)
    return news == packet


def test_a_newcomer_carries_whatever_is_new(carrier: EntryRelay) -> None:
    carrier.take(NEWS)
    assert len(carrier) == 1
    assert carrier.pop() == NEWS
    assert carrier.pop() is None


def test_the_oldest_news_go_first(carrier: EntryRelay) -> None:
    for packet in (b"first", b"second"):
        carrier.take(packet)
    assert [carrier.pop(), carrier.pop()] == [b"first", b"second"]


def test_what_somebody_else_carries_need_not_be_carried(carrier: EntryRelay) -> None:
    carrier.take(NEWS)
    carrier.heard(NEWS, 0)
    assert carrier.pop() is None


def test_of_more_than_a_few_the_first_are_carried(carrier: EntryRelay) -> None:
    for number in range(limits.CARRY_MAX + 1):
        carrier.take(b"%d" % number)
    assert len(carrier) == limits.CARRY_MAX
    assert [carrier.pop() for _ in range(limits.CARRY_MAX)] == [b"%d" % n for n in range(limits.CARRY_MAX)]


def test_what_goes_as_an_answer_is_not_carried_too(carrier: EntryRelay) -> None:
    carrier.take(NEWS)
    carrier.take(b"other")
    carrier.forget(NEWS)
    carrier.forget(b"never taken")
    assert [carrier.pop(), carrier.pop()] == [b"other", None]


def test_without_an_echo_carrying_becomes_rare_but_never_ends(carrier: EntryRelay, chance: Chance) -> None:
    assert carry(carrier, b"1", 0)
    assert not carry(carrier, b"2", 0)
    chance.value = limits.CARRY_DOUBT - 0.001
    assert carry(carrier, b"3", 0)
    assert not carry(carrier, b"4", 0)
    chance.value = limits.CARRY_LEAST - 0.001
    assert all(carry(carrier, b"more %d" % number, 0) for number in range(30))
    chance.value = limits.CARRY_LEAST
    assert not carry(carrier, b"5", 0)


def test_an_echo_restores_trust(carrier: EntryRelay) -> None:
    carry(carrier, NEWS, 0)
    carrier.heard(NEWS, limits.CARRY_MEMORY_US - 1)
    assert carry(carrier, b"other", 0)


def test_a_copy_after_a_long_time_is_no_echo(carrier: EntryRelay) -> None:
    carry(carrier, NEWS, 0)
    carrier.heard(NEWS, limits.CARRY_MEMORY_US)
    assert not carry(carrier, b"other", 0)


def test_a_copy_of_what_others_said_is_no_echo(carrier: EntryRelay) -> None:
    carry(carrier, NEWS, 0)
    carrier.heard(b"something else", 1)
    assert not carry(carrier, b"other", 1)


def test_what_did_not_leave_waits_again_and_nothing_was_learnt(carrier: EntryRelay, chance: Chance) -> None:
    carrier.take(NEWS)
    news = carrier.pop()
    assert news is not None
    carrier.give_back(news)
    carrier.take(b"other")
    assert len(carrier) == 2
    carrier.heard(NEWS, 0)
    assert [carrier.pop(), carrier.pop()] == [b"other", None]
