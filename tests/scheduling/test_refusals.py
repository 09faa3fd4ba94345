"""Records of refusals, written at a bounded rate."""

from tinyssb_node import limits
from tinyssb_node.codec.events import AnswersSpared, Refused
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.refusals import RefusalLog, RefusalTotal
from tinyssb_node.scheduling.transmit_queue import Counters

AIR = FaceName("air")
LAN = FaceName("lan")
SECOND_US = 1_000_000


def test_nothing_refused_nothing_told() -> None:
    assert RefusalLog().due(0) == []


def test_rules_and_faces_are_counted_apart() -> None:
    refusals = RefusalLog()
    before = refusals.may_tell(0)
    for rule, face in (("queue", AIR), ("queue", AIR), ("queue", LAN), ("faces", None)):
        refusals.refuse(rule, face)
    assert (before, refusals.may_tell(0)) == (False, True)
    told = refusals.due(0)
    assert len(told) == 3
    assert Refused(rule="queue", face=AIR, count=2) in told
    assert Refused(rule="queue", face=LAN, count=1) in told
    assert Refused(rule="faces", face=None, count=1) in told
    assert refusals.due(limits.REFUSED_EVERY_US) == []


def test_a_rule_is_told_at_most_once_a_minute_with_all_since() -> None:
    refusals = RefusalLog()
    told = []
    for second in range(121):
        refusals.refuse("set", AIR)
        told += [(second, record.count) for record in refusals.due(second * SECOND_US)]
    assert told == [(0, 1), (60, 60), (120, 60)]


def test_a_face_that_went_is_forgotten_alone() -> None:
    refusals = RefusalLog()
    refusals.refuse("set", AIR)
    refusals.refuse("set", LAN)
    refusals.due(0)
    refusals.refuse("set", AIR)
    refusals.refuse("set", LAN)
    refusals.forget(AIR)
    assert refusals.due(limits.REFUSED_EVERY_US) == [Refused(rule="set", face=LAN, count=1)]
    refusals.refuse("set", AIR)
    assert refusals.due(limits.REFUSED_EVERY_US) == [Refused(rule="set", face=AIR, count=1)]


def test_what_counters_rise_by_is_told_once() -> None:
    refusals, counters = RefusalLog(), Counters(refused=2, spared=1)
    refusals.note(AIR, counters)
    refusals.note(AIR, counters)
    assert refusals.due(0) == [Refused(rule="queue", face=AIR, count=2), AnswersSpared(face=AIR, count=1)]
    counters.spared += 4
    counters.held_back += 1
    refusals.note(AIR, counters)
    assert refusals.due(1) == [Refused(rule="budget", face=AIR, count=1)]
    assert refusals.due(limits.REFUSED_EVERY_US) == [AnswersSpared(face=AIR, count=4)]


def test_a_face_that_comes_again_counts_from_the_beginning() -> None:
    refusals = RefusalLog()
    refusals.note(AIR, Counters(spared=5))
    refusals.forget(AIR)
    refusals.note(AIR, Counters(spared=3))
    assert refusals.due(0) == [AnswersSpared(face=AIR, count=3)]


def test_flapping_faces_leave_nothing_behind() -> None:
    refusals = RefusalLog()
    for number in range(100):
        face = FaceName(f"ws#{number}")
        refusals.refuse("rate", face)
        refusals.due(0)
        refusals.refuse("rate", face)
        refusals.forget(face)
    assert not refusals.may_tell(limits.REFUSED_EVERY_US)
    assert refusals.due(limits.REFUSED_EVERY_US) == []
    for number in range(100):
        refusals.refuse("rate", FaceName(f"ws#{number}"))
    assert len(refusals.due(0)) == 100, "when each was told last is forgotten, too"


def test_totals_are_over_all_faces_the_latest_first_and_without_spared_replies() -> None:
    refusals = RefusalLog()
    for rule, face in (("ids", AIR), ("ids", LAN), ("queue", AIR), ("spared", AIR)):
        refusals.refuse(rule, face)
    assert refusals.totals() == [], "nothing is recorded yet"
    refusals.due(SECOND_US)
    refusals.refuse("ids", AIR, 5)
    refusals.due(2 * limits.REFUSED_EVERY_US)
    assert refusals.totals() == [
        RefusalTotal("ids", 7, 2 * limits.REFUSED_EVERY_US),
        RefusalTotal("queue", 1, SECOND_US),
    ]
