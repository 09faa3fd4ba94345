"""The four kinds of NAT: which datagrams pass."""

import pytest

from tests.islands.locator.villages import peer
from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.sim.nat import MAPPING_US, Nat, NatKind

PUBLIC = bytes((60, 0, 0, 1))
FRIEND, STRANGER = peer(1), peer(2)
SAME_HOST = Peer(FRIEND.node, b"\0\7")


@pytest.mark.parametrize(
    ("kind", "passes"),
    [
        (NatKind.FULL_CONE, {FRIEND, SAME_HOST, STRANGER}),
        (NatKind.ADDRESS_RESTRICTED, {FRIEND, SAME_HOST}),
        (NatKind.PORT_RESTRICTED, {FRIEND}),
        (NatKind.SYMMETRIC, {FRIEND}),
    ],
)
def test_who_gets_in(kind: NatKind, passes: set[Peer]) -> None:
    nat = Nat(kind, PUBLIC)
    seen = nat.outwards("ana", FRIEND, 0)
    assert seen is not None
    assert seen.node == PUBLIC
    for source in (FRIEND, SAME_HOST, STRANGER):
        assert nat.inwards(source, seen.message, MAPPING_US) == ("ana" if source in passes else None)
        assert nat.inwards(source, seen.message, MAPPING_US + 1) is None
    assert nat.inwards(FRIEND, b"\0\1", 0) is None


def test_only_a_symmetric_one_has_a_port_for_each_destination() -> None:
    for kind in NatKind:
        nat = Nat(kind, PUBLIC)
        ports = {nat.outwards("ana", to, 0) for to in (FRIEND, STRANGER, FRIEND)}
        assert len(ports) == (2 if kind is NatKind.SYMMETRIC else 1)
        assert not ports & {nat.outwards("bob", FRIEND, 0)}, "each node inside has its own"


def test_a_mapping_ends_and_is_not_used_again() -> None:
    nat = Nat(NatKind.PORT_RESTRICTED, PUBLIC)
    before = nat.outwards("ana", FRIEND, 0)
    assert nat.outwards("ana", FRIEND, MAPPING_US) == before
    again = nat.outwards("ana", FRIEND, 2 * MAPPING_US + 1)
    assert before is not None
    assert again not in (before, None)
    assert nat.inwards(FRIEND, before.message, 2 * MAPPING_US + 1) is None


def test_there_is_no_way_back_in_by_the_public_address() -> None:
    nat = Nat(NatKind.FULL_CONE, PUBLIC)
    bob = nat.outwards("bob", FRIEND, 0)
    assert bob is not None
    assert nat.outwards("ana", bob, 0) is None
