"""The service as boards have it, and what follows from flags and MTU."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.ble import gatt, limits
from firmware_bridge.ble.gatt import Flag, PeerKind

BOARD = {one.uuid: set(one.flags) for one in gatt.CHARACTERISTICS}


def test_the_uuids_are_those_on_the_air() -> None:
    tail = "-7646-4b5b-9a50-71becce51558"
    uuids = [gatt.SERVICE_UUID, gatt.WRITE_UUID, gatt.NOTIFY_UUID, gatt.STATUS_UUID]
    assert uuids == [f"6e40000{number}{tail}" for number in (1, 2, 3, 4)]
    assert gatt.PHONE_KEY_UUID == "6e400002-7646-4b5b-9a50-71becce51559"


def test_an_advertisement_has_room_for_flags_and_service() -> None:
    most = 31  # bytes of a legacy advertisement, and of its scan response (Core 5.4, Vol 4, Part E, 7.8.7)
    flags, uuid, name = 3, 2 + 16, 2 + len(gatt.local_name("00:00:00:00:AB:CD"))
    assert flags + uuid <= most
    assert flags + uuid + name > most, "which is why the name is in the scan response"
    assert name <= most


def test_the_name_is_made_as_boards_do() -> None:
    assert gatt.local_name("00:1a:7d:da:71:0f") == "tinySSB-710F"


@pytest.mark.parametrize(("mtu", "room"), [(23, 20), (122, 119), (123, 120), (128, 125), (517, 514), (0, 20)])
def test_what_a_value_may_hold(mtu: int, room: int) -> None:
    assert gatt.value_room(mtu) == room
    assert gatt.carries_packets(mtu) == (room >= 120)


@given(st.integers(limits.ATT_MTU_MIN, 517))
def test_a_link_carries_packets_exactly_when_the_longest_fits(mtu: int) -> None:
    assert gatt.carries_packets(mtu) == (mtu >= limits.ATT_HEADER_SIZE + limits.VALUE_SIZE_MAX)


def test_what_phones_and_boards_negotiate_carries_packets() -> None:
    assert gatt.carries_packets(limits.ATT_MTU_WANTED)


def test_boards_are_links_and_phones_are_not() -> None:
    assert gatt.classify_peer(BOARD, set()) is PeerKind.LINK
    assert gatt.classify_peer(BOARD, {"2901"}) is PeerKind.LINK
    assert gatt.classify_peer(BOARD, {gatt.PHONE_KEY_UUID}) is PeerKind.PHONE


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {gatt.NOTIFY_UUID: {Flag.NOTIFY}},
        {gatt.WRITE_UUID: {Flag.WRITE}},
        {gatt.WRITE_UUID: {Flag.READ}, gatt.NOTIFY_UUID: {Flag.NOTIFY}},
        {gatt.WRITE_UUID: {Flag.WRITE}, gatt.NOTIFY_UUID: {Flag.READ}},
    ],
)
def test_what_lacks_a_direction_is_incomplete(flags: dict[str, set[str]]) -> None:
    assert gatt.classify_peer(flags, {gatt.PHONE_KEY_UUID}) is PeerKind.INCOMPLETE


def test_answers_are_asked_for_where_they_are_given() -> None:
    assert gatt.answers_writes({Flag.WRITE, Flag.COMMAND})
    assert not gatt.answers_writes({Flag.COMMAND})
