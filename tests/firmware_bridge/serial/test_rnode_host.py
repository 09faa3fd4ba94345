"""The host of an RNode, against emulated ones in virtual time."""

from dataclasses import replace

import pytest

from firmware_bridge.lora import LoraSettings, airtime_us
from firmware_bridge.serial import limits
from firmware_bridge.serial.framing import serialize_frame
from firmware_bridge.serial.rnode import RnodeCommand, RnodeErrorCode, RnodeSession, rnode_settings
from firmware_bridge.serial.session import RESTARTED, Done, Failed, Heard, Noise, Outcome, Ready
from tests.emulated.rnode import QUEUE_MAX, Rnode
from tests.emulated.serial_air import RSSI_DBM, SNR_DB, Air
from tests.firmware_bridge.serial.virtual import Bench

EU868A = LoraSettings()
PACKET = bytes(range(0x80, 0xF8))


def ready_bench(device: Rnode, *others: Rnode) -> Bench:
    bench = Bench(RnodeSession(EU868A, 14, duty_permille=10), device, *others)
    bench.plug_in()
    assert bench.of(Failed) == []
    return bench


def test_it_is_set_up_and_says_what_it_is() -> None:
    device = Rnode(Air())
    bench = ready_bench(device)
    assert bench.told == [Ready(device="RNode, firmware 1.85", lora=rnode_settings(EU868A), power_dbm=14)]
    assert device.lora == rnode_settings(EU868A)
    # One percent, in hundredths of a percent.
    assert device.values[RnodeCommand.LONG_LIMIT] == (100).to_bytes(2)


def test_bytes_are_those_an_rnode_expects() -> None:
    device = Rnode(Air())
    bench = ready_bench(device)
    assert bench.written[0] == bytes.fromhex("c0 08 73 c0")
    assert bytes.fromhex("c0 01 33c134e0 c0") in bench.written
    assert bytes.fromhex("c0 02 0001e848 c0") in bench.written
    assert bytes.fromhex("c0 06 01 c0") in bench.written


@pytest.mark.parametrize(("spreading_factor", "symbols"), [(7, 24), (8, 18), (12, 18)])
def test_the_preamble_is_rnode_s_own(spreading_factor: int, symbols: int) -> None:
    assert rnode_settings(replace(EU868A, spreading_factor=spreading_factor)).preamble_symbols == symbols


def test_power_beyond_its_chip_is_what_it_says() -> None:
    bench = ready_bench(Rnode(Air(), power_max_dbm=10))
    assert bench.of(Ready)[0].power_dbm == 10


def test_packets_go_across_with_their_signal() -> None:
    air = Air()
    left, right = Rnode(air), Rnode(air)
    talker, listener = ready_bench(left, right), ready_bench(right)
    begun_us = talker.now_us
    assert talker.send(PACKET) is Outcome.SENT
    assert talker.now_us - begun_us == airtime_us(rnode_settings(EU868A), len(PACKET) + 1)
    listener.perform([])
    assert listener.of(Heard) == [Heard(packet=PACKET, rssi_dbm=RSSI_DBM, snr_db=SNR_DB)]
    assert air.sent == [b"\xa0" + PACKET]


def test_a_full_queue_is_waited_for_and_then_given_up() -> None:
    device = Rnode(Air())
    bench = ready_bench(device)
    device.queue = [PACKET] * QUEUE_MAX
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.KEPT
    assert bench.now_us - begun_us == limits.RNODE_POLLS_MAX * limits.RNODE_POLL_US


def told_of_a_packet(error: RnodeErrorCode) -> Bench:
    bench = ready_bench(Rnode(Air()))
    bench.device = None
    bench.perform(bench.session.send(PACKET, bench.now_us))
    bench.say(serialize_frame(bytes([RnodeCommand.READY, 1])))
    bench.say(serialize_frame(bytes([RnodeCommand.ERROR, error])))
    return bench


@pytest.mark.parametrize("error", [RnodeErrorCode.QUEUE_FULL, RnodeErrorCode.TRANSMIT])
def test_a_packet_it_says_it_did_not_send_is_kept(error: RnodeErrorCode) -> None:
    assert told_of_a_packet(error).of(Done) == [Done(Outcome.KEPT)]


def test_a_packet_that_may_have_been_on_the_air_is_not_kept() -> None:
    assert told_of_a_packet(RnodeErrorCode.MODEM_TIMEOUT).of(Done) == [Done(Outcome.SENT)]


def test_an_error_about_something_else_says_nothing_of_a_packet() -> None:
    bench = told_of_a_packet(RnodeErrorCode.MEMORY)
    assert bench.of(Done) == []
    bench.run_until(lambda: bool(bench.of(Done)))
    assert bench.of(Done) == [Done(Outcome.SENT)]


def test_an_echo_is_no_packet() -> None:
    bench = ready_bench(Rnode(Air()))
    bench.device = None
    bench.perform(bench.session.send(PACKET, bench.now_us))
    bench.say(serialize_frame(bytes([RnodeCommand.READY, 1])))
    bench.say(bench.written[-1])
    assert bench.of(Noise) == [Noise("an echo of what was sent", len(PACKET))]
    assert bench.of(Heard) == []


def test_old_firmware_is_refused() -> None:
    bench = Bench(RnodeSession(EU868A, 14), Rnode(Air(), version=(1, 51)))
    bench.plug_in()
    assert "1.51 is too old" in bench.of(Failed)[0].what


def test_settings_it_does_not_take_are_told() -> None:
    device = Rnode(Air())
    device.values[RnodeCommand.SPREADING_FACTOR] = b"\x05\x05"
    bench = Bench(RnodeSession(EU868A, 14), device)
    bench.plug_in()
    assert "does not accept spreading factor 7" in bench.of(Failed)[0].what


def test_a_restart_is_noticed() -> None:
    device = Rnode(Air())
    bench = ready_bench(device)
    device.boot()
    bench.perform([])
    assert bench.of(Failed) == [Failed(what=RESTARTED)]


def test_one_that_was_switched_off_is_found_out() -> None:
    device = Rnode(Air())
    bench = ready_bench(device)
    device.values[RnodeCommand.RADIO_STATE] = b"\x00"
    bench.pass_time(limits.CHECK_US)
    assert bench.of(Failed) == [Failed(what=RESTARTED)]


@pytest.mark.parametrize("after", [0, 1])
def test_one_that_falls_silent_is_noticed(after: int) -> None:
    bench = ready_bench(Rnode(Air()))
    bench.device = None
    if after:
        assert bench.send(PACKET) is None
    else:
        bench.pass_time(limits.CHECK_US + limits.ASK_TRIES * limits.ANSWER_US)
    assert bench.of(Failed) == [Failed(what="the radio no longer answers")]


def test_nothing_there_is_told() -> None:
    bench = Bench(RnodeSession(EU868A, 14), None)
    bench.plug_in()
    assert bench.of(Failed) == [Failed(what="nothing there answers as an RNode")]
