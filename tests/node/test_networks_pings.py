"""A program with several networks answers a board once, whichever networks it is in."""

from dataclasses import replace

from tests.nodes import radio_profile
from tests.stations import LINK, OPEN, VILLAGE, Channel, Station
from tinyssb_node.codec.dmx import PING_DMX
from tinyssb_node.codec.events import PacketReceived, PacketSent
from tinyssb_node.codec.packets import parse_pong
from tinyssb_node.ids import PacketKind, Verdict
from tinyssb_node.scheduling.link import Reception

PING = PING_DMX + b"Q 3fa2 t=17"
HEARD = Reception(rssi_dbm=-87, snr_db=9.5)


def pings(*, answers_pings: bool) -> Station:
    """A station that heard a ping, and what came of it in half a minute."""
    station = Station("ana")
    channel = Channel([station], replace(radio_profile(), answers_pings=answers_pings))
    station.perform(station.networks.receive(PING, LINK, HEARD, 0), 0)
    channel.run_for(30_000_000)
    return station


def test_a_ping_is_answered_by_one_network_for_all() -> None:
    station = pings(answers_pings=True)
    (pong,) = [event for event in station.seen(OPEN, PacketSent) if event.packet is PacketKind.PONG]
    assert pong.airtime_us == radio_profile().airtime_us[pong.length]
    assert PacketKind.PONG not in {event.packet for event in station.seen(VILLAGE, PacketSent)}
    heard = [event for event in station.seen(OPEN, PacketReceived) if event.packet is PacketKind.PING]
    assert [event.verdict for event in heard] == [Verdict.NOT_OURS]


def test_a_ping_is_not_answered_unless_that_is_asked_for() -> None:
    sent = {event.packet for event in pings(answers_pings=False).seen(OPEN, PacketSent)}
    assert sent
    assert PacketKind.PONG not in sent


def test_a_pong_says_who_answers_whom() -> None:
    station = Station("ana")
    station.up(replace(radio_profile(), answers_pings=True))
    station.perform(station.networks.receive(PING, LINK, HEARD, 0), 0)
    packets: dict[PacketKind, bytes] = {}
    for now_us in range(0, 30_000_000, 250_000):
        station.perform(station.networks.wake(now_us), now_us)
        sends = station.take()
        packets |= {send.kind: send.packet for _, send in sends}
        station.perform(station.networks.sent(LINK, len(sends), now_us), now_us)
    pong = parse_pong(packets[PacketKind.PONG])
    assert pong.mac == station.key.feed_id.hex()[:4]
    assert pong.request == "Q 3fa2 t=17"
