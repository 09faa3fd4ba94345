"""The host of a Meshtastic device, against emulated ones in virtual time."""

from dataclasses import replace

import pytest

from firmware_bridge.lora import airtime_us
from firmware_bridge.serial import limits
from firmware_bridge.serial.meshtastic import (
    ROUTING_APP,
    MeshtasticSession,
    Packet,
    QueueStatus,
    RoutingError,
    frame_reader,
    serialize_frame,
)
from firmware_bridge.serial.session import RESTARTED, Done, Failed, Heard, Noise, Outcome, Ready
from tests.emulated.meshtastic import QUEUE_MAX, SHORT_FAST_EU868, MeshtasticDevice
from tests.emulated.meshtastic_wire import parse_to_radio, serialize_from_radio, serialize_routing
from tests.emulated.serial_air import RSSI_DBM, SNR_DB, Air
from tests.firmware_bridge.serial.virtual import Bench

PACKET = bytes(range(0x80, 0xF8))


def session(channel: str = "tinySSB") -> MeshtasticSession:
    numbers = iter(range(1, 1_000))
    return MeshtasticSession(channel, lambda: next(numbers) / 1_000)


def ready_bench(device: MeshtasticDevice, *others: MeshtasticDevice) -> Bench:
    bench = Bench(session(), device, *others)
    bench.plug_in()
    assert bench.of(Failed) == []
    return bench


def sent_by(bench: Bench) -> list[Packet]:
    messages = [parse_to_radio(frame) for frame in frame_reader().feed(b"".join(bench.written))]
    return [message for message in messages if isinstance(message, Packet)]


def airtime(device: MeshtasticDevice) -> int:
    assert device.lora is not None
    return airtime_us(device.lora, session().air_bytes(len(PACKET)))


def test_it_is_found_set_up() -> None:
    device = MeshtasticDevice(Air(), 7)
    bench = ready_bench(device)
    assert device.lora is not None
    assert bench.told == [Ready(device="Meshtastic 2.7.11.emulated", lora=device.lora, power_dbm=14)]


def test_packets_are_private_and_stay_on_their_channel() -> None:
    bench = ready_bench(MeshtasticDevice(Air(), 7))
    assert bench.send(PACKET) is Outcome.SENT
    (packet,) = sent_by(bench)
    assert (packet.payload, packet.port, packet.channel) == (PACKET, 256, 1)
    message = b"".join(bench.written)[-len(PACKET) - 60 :]
    # No hop limit (field 9), no wish for an acknowledgement (field 10).
    assert b"\x48" not in message.split(PACKET)[1]
    assert b"\x50" not in message.split(PACKET)[1]


def test_packets_have_numbers_of_their_own() -> None:
    bench = ready_bench(MeshtasticDevice(Air(), 7))
    bench.send(PACKET)
    bench.send(PACKET)
    first, second = sent_by(bench)
    assert 0 < first.id != second.id > 0


def test_packets_go_across_with_their_signal() -> None:
    air = Air()
    left, right = MeshtasticDevice(air, 7), MeshtasticDevice(air, 8)
    talker, listener = ready_bench(left, right), ready_bench(right)
    begun_us = talker.now_us
    assert talker.send(PACKET) is Outcome.SENT
    assert talker.now_us - begun_us == airtime(left)
    listener.perform([])
    assert listener.of(Heard) == [Heard(packet=PACKET, rssi_dbm=RSSI_DBM, snr_db=SNR_DB)]
    # The airtime that is charged is that of what is sent.
    assert len(air.sent[0]) == session().air_bytes(len(PACKET))


def test_other_channels_and_other_ports_are_left_alone() -> None:
    bench = ready_bench(MeshtasticDevice(Air(), 7))
    for channel, port in ((0, 256), (1, 1), (1, ROUTING_APP)):
        packet = Packet(payload=PACKET, port=port, channel=channel, id=1, sender=8)
        bench.say(serialize_frame(serialize_from_radio(packet)))
    assert bench.told == bench.of(Ready)


def test_a_packet_of_its_own_is_an_echo() -> None:
    bench = ready_bench(MeshtasticDevice(Air(), 7))
    packet = Packet(payload=PACKET, channel=1, id=1, sender=7)
    bench.say(serialize_frame(serialize_from_radio(packet)))
    assert bench.of(Noise) == [Noise("an echo of what was sent", len(PACKET))]


def test_a_packet_counts_as_sent_when_the_queue_is_empty() -> None:
    device = MeshtasticDevice(Air(), 7)
    bench = ready_bench(device)
    device.queue = [bytes(143)] * 3
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.SENT
    assert bench.now_us - begun_us >= 3 * airtime(device)


def test_a_packet_of_which_it_tells_nothing_counts_as_sent_when_the_queue_is_empty() -> None:
    device = MeshtasticDevice(Air(), 7)
    bench = ready_bench(device)
    device.queue = [bytes(143)] * 3
    write = device.write
    answers: list[bytes] = []

    def lose_the_first(data: bytes) -> None:
        if answers:
            write(data)
        answers.append(data)

    device.write = lose_the_first
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.SENT
    assert bench.now_us - begun_us >= 3 * airtime(device)
    assert len(device.air.sent) == 4


def test_one_that_tells_nothing_of_packets_is_given_up() -> None:
    bench = ready_bench(MeshtasticDevice(Air(), 7))
    bench.device = None
    assert [bench.send(PACKET) for _ in range(limits.LATE_MAX)] == [Outcome.SENT, Outcome.SENT, None]
    assert "does not send" in bench.of(Failed)[0].what


def test_a_full_queue_keeps_a_packet_for_a_while() -> None:
    device = MeshtasticDevice(Air(), 7)
    bench = ready_bench(device)
    device.queue = [bytes(143)] * QUEUE_MAX
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.KEPT
    assert bench.now_us - begun_us == limits.GUEST_WAITS * airtime(device)


def test_nothing_is_sent_for_a_minute_when_the_hour_is_used_up() -> None:
    device = MeshtasticDevice(Air(), 7)
    device.over_duty = True
    bench = ready_bench(device)
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.KEPT
    assert bench.now_us - begun_us >= limits.GUEST_WAITS * airtime(device)
    assert device.air.sent == []


def test_a_refusal_that_comes_after_silence_keeps_a_packet() -> None:
    bench = ready_bench(MeshtasticDevice(Air(), 7))
    bench.device = None
    bench.perform(bench.session.send(PACKET, bench.now_us))
    (packet,) = sent_by(bench)
    bench.pass_time(limits.ANSWER_US)
    late = QueueStatus(error=32, free=0, size=QUEUE_MAX, packet_id=packet.id)
    bench.say(serialize_frame(serialize_from_radio(late)))
    bench.run_until(lambda: bool(bench.of(Done)))
    assert bench.of(Done) == [Done(Outcome.KEPT)]


def test_nobody_else_can_refuse_a_packet() -> None:
    device = MeshtasticDevice(Air(), 7)
    bench = ready_bench(device)
    bench.perform(bench.session.send(PACKET, bench.now_us))
    (packet,) = sent_by(bench)
    forged = Packet(
        payload=serialize_routing(RoutingError.DUTY_CYCLE_LIMIT),
        port=ROUTING_APP,
        channel=1,
        id=9,
        sender=8,
        request_id=packet.id,
    )
    bench.say(serialize_frame(serialize_from_radio(forged)))
    bench.run_until(lambda: bool(bench.of(Done)))
    assert bench.of(Done) == [Done(Outcome.SENT)]


@pytest.mark.parametrize("error", [RoutingError.DUTY_CYCLE_LIMIT, RoutingError.RATE_LIMIT_EXCEEDED])
def test_a_refusal_that_comes_later_is_obeyed(error: RoutingError) -> None:
    device = MeshtasticDevice(Air(), 7)
    bench = ready_bench(device)
    begun_us = bench.now_us
    bench.perform(bench.session.send(PACKET, bench.now_us))
    (packet,) = sent_by(bench)
    refusal = Packet(
        payload=serialize_routing(error), port=ROUTING_APP, channel=1, id=9, sender=7, request_id=packet.id
    )
    bench.say(serialize_frame(serialize_from_radio(refusal)))
    bench.run_until(lambda: len(bench.told) > 1)
    assert bench.now_us - begun_us == limits.MESHTASTIC_HOLD_US


def test_a_device_without_our_channel_is_refused() -> None:
    bench = Bench(session(), MeshtasticDevice(Air(), 7, channels=("", "friends")))
    bench.plug_in()
    (failed,) = bench.of(Failed)
    assert "no channel named tinySSB" in failed.what
    assert "--ch-add tinySSB" in failed.remedy


def test_a_device_that_does_not_send_is_refused() -> None:
    device = MeshtasticDevice(Air(), 7)
    device.config = replace(SHORT_FAST_EU868, transmits=False)
    bench = Bench(session(), device)
    bench.plug_in()
    assert "switched off" in bench.of(Failed)[0].what


def test_a_restart_is_noticed() -> None:
    device = MeshtasticDevice(Air(), 7)
    bench = ready_bench(device)
    device.boot()
    bench.perform([])
    assert bench.of(Failed) == [Failed(what=RESTARTED)]


def test_one_that_is_well_stays_up() -> None:
    bench = ready_bench(MeshtasticDevice(Air(), 7))
    bench.pass_time(10 * limits.CHECK_US)
    assert bench.told == bench.of(Ready)


def test_one_that_falls_silent_is_noticed() -> None:
    bench = ready_bench(MeshtasticDevice(Air(), 7))
    bench.device = None
    bench.pass_time(limits.CHECK_US + limits.ASK_TRIES * limits.ANSWER_US)
    assert bench.of(Failed) == [Failed(what="the radio no longer answers")]


def test_nothing_there_is_told() -> None:
    bench = Bench(session(), None)
    bench.plug_in()
    assert bench.of(Failed) == [Failed(what="nothing there answers as a Meshtastic device")]


def test_half_a_configuration_is_told() -> None:
    device = MeshtasticDevice(Air(), 7)
    bench = Bench(session(), device)
    write, said = device.write, list[bytes]()

    def say_once(data: bytes) -> None:
        if not said:
            write(data)
        said.append(data)

    device.write = say_once
    bench.plug_in()
    assert bench.of(Failed) == [Failed(what="the radio did not send its whole configuration")]
