"""The host of a MeshCore companion, against emulated ones in virtual time."""

import pytest

from firmware_bridge.lora import airtime_us
from firmware_bridge.serial import limits
from firmware_bridge.serial.kiss import meshcore_settings
from firmware_bridge.serial.meshcore import (
    DATA_TYPE,
    FROM_COMPANION,
    ChannelData,
    CompanionMessage,
    MeshcoreSession,
    MessagesWaiting,
    Ok,
    OtherReply,
    Refusal,
    serialize_frame,
)
from firmware_bridge.serial.session import Failed, Heard, Outcome, Ready
from tests.emulated.meshcore import NARROW_EU868, POOL_MAX, MeshcoreCompanion
from tests.emulated.meshcore_wire import serialize_message
from tests.emulated.serial_air import SNR_DB, Air
from tests.firmware_bridge.serial.virtual import Bench

PACKET = bytes(range(0x80, 0xF8))
AIR_US = airtime_us(meshcore_settings(NARROW_EU868), MeshcoreSession("").air_bytes(len(PACKET)))


def ready_bench(device: MeshcoreCompanion, *others: MeshcoreCompanion) -> Bench:
    bench = Bench(MeshcoreSession("tinySSB"), device, *others)
    bench.plug_in()
    assert bench.of(Failed) == []
    # It looks at once for what waits.
    bench.pass_time(1_000)
    return bench


def said(message: CompanionMessage) -> bytes:
    return serialize_frame(FROM_COMPANION, serialize_message(message))


def data(packet: bytes, channel: int = 1, data_type: int = DATA_TYPE) -> ChannelData:
    return ChannelData(channel=channel, data_type=data_type, payload=packet, snr_db=1.5)


def test_it_is_found_set_up() -> None:
    bench = ready_bench(MeshcoreCompanion(Air()))
    assert bench.told == [
        Ready(device="MeshCore v1.17.1 on emulated board", lora=meshcore_settings(NARROW_EU868), power_dbm=14)
    ]


def test_packets_go_across() -> None:
    air = Air()
    left, right = MeshcoreCompanion(air), MeshcoreCompanion(air)
    talker, listener = ready_bench(left, right), ready_bench(right)
    begun_us = talker.now_us
    assert talker.send(PACKET) is Outcome.SENT
    assert talker.now_us - begun_us == AIR_US
    listener.perform([])
    assert listener.of(Heard) == [Heard(packet=PACKET, snr_db=SNR_DB)]
    assert len(air.sent[0]) == MeshcoreSession("").air_bytes(len(PACKET))


def test_what_waited_is_fetched_on_arrival_in_order() -> None:
    device = MeshcoreCompanion(Air())
    device.waiting = [data(bytes([number]) * 9) for number in range(5)]
    bench = ready_bench(device)
    assert [heard.packet[0] for heard in bench.of(Heard)] == [0, 1, 2, 3, 4]


def test_other_channels_other_datagrams_and_people_s_messages_are_passed_over() -> None:
    bench = ready_bench(MeshcoreCompanion(Air()))
    bench.device = None
    for message in (MessagesWaiting(), data(PACKET, channel=0), data(PACKET, data_type=1), OtherReply(17)):
        before = len(bench.written)
        bench.say(said(message))
        # Each is followed by a look at the next.
        assert len(bench.written) == before + 1
    bench.say(said(data(PACKET)))
    assert [heard.packet for heard in bench.of(Heard)] == [PACKET]


def test_a_lost_answer_to_fetching_is_asked_for_again() -> None:
    device = MeshcoreCompanion(Air())
    bench = ready_bench(device)
    bench.device = None
    bench.say(said(MessagesWaiting()))
    bench.device = device
    device.waiting = [data(PACKET)]
    bench.pass_time(limits.COMPANION_FETCH_US)
    assert [heard.packet for heard in bench.of(Heard)] == [PACKET]


def test_a_packet_counts_as_sent_when_none_waits() -> None:
    device = MeshcoreCompanion(Air())
    bench = ready_bench(device)
    device.queue = [bytes(149)] * 3
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.SENT
    assert bench.now_us - begun_us >= 3 * AIR_US


def test_a_packet_whose_answer_is_lost_counts_as_sent_when_none_waits() -> None:
    device = MeshcoreCompanion(Air())
    bench = ready_bench(device)
    device.queue = [bytes(149)] * 3
    write = device.write
    device.write = lambda frame: None if frame == said(Ok()) else write(frame)
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.SENT
    assert bench.now_us - begun_us >= 3 * AIR_US
    assert len(device.air.sent) == 4


def test_one_that_says_nothing_of_packets_is_given_up() -> None:
    bench = ready_bench(MeshcoreCompanion(Air()))
    bench.device = None
    assert [bench.send(PACKET) for _ in range(limits.LATE_MAX)] == [Outcome.SENT, Outcome.SENT, None]
    assert "does not send" in bench.of(Failed)[0].what


def test_a_full_pool_keeps_a_packet_for_a_while() -> None:
    device = MeshcoreCompanion(Air())
    bench = ready_bench(device)
    device.queue = [bytes(149)] * POOL_MAX
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.KEPT
    assert bench.now_us - begun_us == limits.GUEST_WAITS * AIR_US


def test_a_companion_that_takes_no_packets_is_given_up() -> None:
    bench = ready_bench(MeshcoreCompanion(Air()))
    bench.device = None
    bench.perform(bench.session.send(PACKET, bench.now_us))
    bench.say(said(Refusal(6)))
    assert "error 6" in bench.of(Failed)[0].what


@pytest.mark.parametrize(
    ("device", "what"),
    [
        (MeshcoreCompanion(Air(), channels=("Public",)), "no channel named tinySSB"),
        (MeshcoreCompanion(Air(), version=10), "too old"),
    ],
)
def test_what_cannot_be_used_is_told(device: MeshcoreCompanion, what: str) -> None:
    bench = Bench(MeshcoreSession("tinySSB"), device)
    bench.plug_in()
    assert what in bench.of(Failed)[0].what
    assert bench.of(Failed)[0].remedy


def test_one_that_is_well_stays_up() -> None:
    bench = ready_bench(MeshcoreCompanion(Air()))
    bench.pass_time(10 * limits.CHECK_US)
    assert bench.told == bench.of(Ready)


def test_another_setup_is_noticed() -> None:
    device = MeshcoreCompanion(Air())
    bench = ready_bench(device)
    device.lora = meshcore_settings(meshcore_settings(NARROW_EU868).__class__())
    bench.pass_time(limits.CHECK_US)
    assert bench.of(Failed) == [Failed(what="the settings of the radio have changed")]


def test_one_that_falls_silent_is_noticed() -> None:
    bench = ready_bench(MeshcoreCompanion(Air()))
    bench.device = None
    bench.pass_time(limits.CHECK_US + limits.ASK_TRIES * limits.ANSWER_US)
    assert bench.of(Failed) == [Failed(what="the radio no longer answers")]


def test_half_a_frame_from_before_does_not_keep_it_from_answering() -> None:
    device = MeshcoreCompanion(Air())
    bench = Bench(MeshcoreSession("tinySSB"), device)
    bench.say(b"")
    bench.perform(bench.session.start(bench.now_us))
    fresh = Bench(MeshcoreSession("tinySSB"), device)
    fresh.device_says(b"\x3e\x20\x01half")
    fresh.plug_in()
    assert fresh.of(Ready)


def test_nothing_there_is_told() -> None:
    bench = Bench(MeshcoreSession("tinySSB"), None)
    bench.plug_in()
    assert bench.of(Failed) == [Failed(what="nothing there answers as a MeshCore companion")]
