"""The largest set that phones survive."""

import pytest

from tinyssb_node.replication.phone_wants import PhoneRoom, phone_room


@pytest.mark.parametrize(
    ("feeds", "entries", "room"),
    [
        (0, 0, PhoneRoom.ENOUGH),
        (1, 1, PhoneRoom.ENOUGH),
        (10, 10, PhoneRoom.ENOUGH),
        (12, 40, PhoneRoom.NEARLY),
        (17, 1, PhoneRoom.ENOUGH),
        (25, 1, PhoneRoom.NEARLY),
        (26, 1, PhoneRoom.BEYOND),
        (32, 0, PhoneRoom.NEARLY),
        (33, 0, PhoneRoom.BEYOND),
        (12, 100, PhoneRoom.NEARLY),
        (13, 100, PhoneRoom.BEYOND),
        (255, 1, PhoneRoom.BEYOND),
    ],
)
def test_phones_survive_small_sets(feeds: int, entries: int, room: PhoneRoom) -> None:
    assert phone_room([entries + 1] * feeds) is room


def test_long_feeds_leave_room_for_fewer() -> None:
    most = [
        max(n for n in range(60) if phone_room([2**bits] * n) is not PhoneRoom.BEYOND) for bits in range(12)
    ]
    assert most == sorted(most, reverse=True)
    assert most[0] > 2 * most[10]
