"""A node with IPv4 and IPv6 is a peer of nodes with either, and its feeds are found at both of its addresses."""

import random
from collections.abc import Sequence

import pytest

from tests.islands.locator.test_maintenance import LABEL
from tests.islands.locator.villages import PORT, SETTINGS, TCP, place
from tinyssb_node.islands.locator.addresses import ContactAddress, node_of
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.values import (
    Effect,
    ResourceFound,
    ResourceParameters,
    SendDatagram,
)

FOUR, SIX = place(1), ContactAddress(node_of("2001:db8::1"), PORT, TCP)
OTHERS = [place(2), ContactAddress(node_of("2001:db8::2"), PORT, TCP)]


def locator(me: ContactAddress, also: ContactAddress | None = None, *, knows: bool = True) -> Locator:
    recent = [one.peer for one in (FOUR, SIX) if len(one.node) == len(me.node)] if knows else []
    return Locator(SETTINGS, me, random.Random(1), bytes(32), 0, recent=recent, also=also)


def run(
    both: Locator,
    other: Locator,
    place_of_other: ContactAddress,
    now_us: int,
    until_us: int,
    effects: Sequence[Effect] = (),
) -> list[Effect]:
    """Carry datagrams between two, of which *both* is seen at its address of the other's family; return what else the
    other one reported. *effects* are those of the other one before."""
    seen = next(one for one in (FOUR, SIX) if len(one.node) == len(place_of_other.node))
    heard: list[Effect] = []
    waiting = [(both, effect) for effect in effects]
    while now_us < until_us:
        now_us += 250_000
        waiting += [(other, effect) for effect in both.wake(now_us)]
        waiting += [(both, effect) for effect in other.wake(now_us)]
        while waiting:
            to, effect = waiting.pop(0)
            if not isinstance(effect, SendDatagram):
                heard += [effect] if to is both else []
                continue
            source = seen if to is other else place_of_other
            assert effect.to == (seen if to is both else place_of_other).peer
            replies = to.receive(effect.datagram, source.peer, now_us)
            waiting += [(both if to is other else other, one) for one in replies]
    return heard


@pytest.mark.parametrize("other", OTHERS, ids=["IPv4", "IPv6"])
@pytest.mark.parametrize(("me", "also"), [(FOUR, SIX), (SIX, FOUR)])
def test_it_is_confirmed_by_each_at_the_address_of_its_family(
    me: ContactAddress, also: ContactAddress, other: ContactAddress
) -> None:
    both, single = locator(me, also, knows=False), locator(other)
    run(both, single, other, 0, 5_000_000)
    seen = next(one for one in (FOUR, SIX) if len(one.node) == len(other.node))
    assert single.reachable_peers() == (seen,)
    assert both.reachable_peers() == (other,)
    assert both.counts().reached


@pytest.mark.parametrize("other", OTHERS, ids=["IPv4", "IPv6"])
def test_its_feeds_are_found_at_both(other: ContactAddress) -> None:
    both, single = locator(FOUR, SIX, knows=False), locator(other)
    both.offer(LABEL, ResourceParameters(9), 0)
    run(both, single, other, 0, 5_000_000)
    events = run(both, single, other, 5_000_000, 60_000_000, single.seek(LABEL, 5_000_000))
    found = {one for event in events if isinstance(event, ResourceFound) for one in event.locations}
    assert {location.place for location in found} == {FOUR, SIX}


def test_nobody_makes_it_call_itself() -> None:
    context = locator(FOUR, SIX).context
    for mine in (FOUR, SIX):
        assert context.is_ours(mine)
        assert not context.may_send(mine.peer)
        assert not context.is_source(mine.peer)
