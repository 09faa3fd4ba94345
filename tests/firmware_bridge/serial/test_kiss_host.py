"""The host of a KISS modem, against emulated modems in virtual time."""

from dataclasses import replace

import pytest

from firmware_bridge.firmware import kiss
from firmware_bridge.lora import LoraSettings, airtime_us
from firmware_bridge.serial import limits
from firmware_bridge.serial.framing import serialize_frame
from firmware_bridge.serial.kiss import (
    Data,
    HardwareCommand,
    KissSession,
    meshcore_settings,
    serialize_message,
)
from firmware_bridge.serial.session import (
    RESTARTED,
    Done,
    Failed,
    Heard,
    Noise,
    NotReadyError,
    Outcome,
    Ready,
)
from tests.emulated.kiss import KissModem
from tests.emulated.serial_air import RSSI_DBM, SNR_DB, Air
from tests.firmware_bridge.serial.virtual import Bench

EU868A = LoraSettings()
E22 = LoraSettings(frequency_hz=868_200_000, spreading_factor=9, coding_rate=7, sync_word=0x12)
PACKET = bytes(range(0x80, 0xFC))


def session(lora: LoraSettings = EU868A, *, stock: bool = False) -> KissSession:
    return KissSession(lora, 14, stock=stock, duty_permille=10)


def ready_bench(modem: KissModem, *others: KissModem) -> Bench:
    bench = Bench(session(stock=not modem.extended), modem, *others)
    bench.plug_in()
    assert bench.of(Ready)
    return bench


def hardware(sub: int, data: bytes = b"") -> bytes:
    return serialize_frame(serialize_message(HardwareCommand(sub, data)))


def test_our_firmware_is_set_to_all_that_the_plan_says() -> None:
    modem = KissModem(Air(), name="bridge 1.0 on a Pico")
    bench = ready_bench(modem)
    assert bench.told == [Ready(device="bridge 1.0 on a Pico", lora=EU868A, power_dbm=14)]
    assert modem.lora == EU868A
    assert (modem.power_dbm, modem.duty_permille, modem.cad_tries) == (14, 10, limits.KISS_CAD_TRIES)
    assert modem.settings[kiss.TX_DELAY] == 0


def test_low_data_rate_optimisation_is_told_when_the_symbols_are_long() -> None:
    slow = replace(EU868A, spreading_factor=12)
    modem = KissModem(Air())
    Bench(session(slow), modem).plug_in()
    assert modem.low_data_rate


def test_meshcore_s_firmware_is_refused_where_boards_shall_be_heard() -> None:
    bench = Bench(session(), KissModem(Air(), extended=False))
    bench.plug_in()
    (failed,) = bench.of(Failed)
    assert "sync word 0x58" in failed.what
    assert "stock=on" in failed.remedy


def test_meshcore_s_firmware_does_for_the_plan_that_has_its_sync_word() -> None:
    modem = KissModem(Air(), extended=False)
    bench = Bench(session(E22), modem)
    bench.plug_in()
    assert bench.of(Ready)[0].lora == meshcore_settings(E22) == modem.lora


def test_meshcore_s_firmware_cannot_whisper() -> None:
    bench = Bench(KissSession(E22, -3), KissModem(Air(), extended=False))
    bench.plug_in()
    assert "-3 dBm" in bench.of(Failed)[0].what


def test_meshcore_s_firmware_does_if_asked_for() -> None:
    modem = KissModem(Air(), extended=False)
    bench = ready_bench(modem)
    # Airtime is counted with the preamble that is really sent.
    assert bench.of(Ready)[0].lora.preamble_symbols == limits.MESHCORE_PREAMBLE_SHORT
    assert bench.send(PACKET) is Outcome.SENT


def test_a_packet_is_sent_when_its_airtime_is_over() -> None:
    air = Air()
    modem = KissModem(air)
    bench = ready_bench(modem)
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.SENT
    assert bench.now_us - begun_us == airtime_us(EU868A, len(PACKET))
    assert air.sent == [PACKET]


def test_what_is_heard_comes_with_its_signal() -> None:
    air = Air()
    left, right = KissModem(air), KissModem(air)
    talker = ready_bench(left, right)
    listener = ready_bench(right)
    talker.send(PACKET)
    listener.perform([])
    assert listener.of(Heard) == [Heard(packet=PACKET, rssi_dbm=RSSI_DBM, snr_db=SNR_DB)]


def test_nothing_is_heard_with_another_sync_word() -> None:
    air = Air()
    left, right = KissModem(air), KissModem(air)
    talker = ready_bench(left, right)
    listener = Bench(session(replace(EU868A, sync_word=0x34)), right)
    listener.plug_in()
    talker.send(PACKET)
    listener.perform([])
    assert listener.of(Heard) == []


def test_a_packet_whose_signal_report_is_missing_comes_a_little_later() -> None:
    bench = ready_bench(KissModem(Air()))
    bench.say(serialize_frame(serialize_message(Data(PACKET))))
    assert bench.of(Heard) == []
    bench.pass_time(limits.KISS_META_US)
    assert bench.of(Heard) == [Heard(packet=PACKET)]


def test_two_packets_without_reports_stay_in_order() -> None:
    bench = ready_bench(KissModem(Air()))
    bench.say(b"".join(serialize_frame(serialize_message(Data(bytes([n] * 9)))) for n in (1, 2)))
    bench.pass_time(limits.KISS_META_US)
    assert [heard.packet[0] for heard in bench.of(Heard)] == [1, 2]


@pytest.mark.parametrize(
    "report",
    [
        HardwareCommand(kiss.TX_DONE, bytes([kiss.BUSY])),
        HardwareCommand(kiss.TX_DONE, bytes([kiss.DUTY_SPENT])),
        HardwareCommand(kiss.ERROR, bytes([kiss.TX_BUSY])),
    ],
)
def test_a_packet_not_sent_is_kept(report: HardwareCommand) -> None:
    bench = ready_bench(KissModem(Air()))
    bench.device = None
    bench.perform(bench.session.send(PACKET, bench.now_us))
    bench.say(hardware(report.sub, report.data))
    assert bench.of(Done) == [Done(Outcome.KEPT)]


@pytest.mark.parametrize("report", [bytes([kiss.FAILED]), b"\x09", b""])
def test_a_packet_that_may_have_been_on_the_air_is_not_kept(report: bytes) -> None:
    bench = ready_bench(KissModem(Air()))
    bench.device = None
    bench.perform(bench.session.send(PACKET, bench.now_us))
    bench.say(hardware(kiss.TX_DONE, report))
    assert bench.of(Done) == [Done(Outcome.SENT)]


@pytest.mark.parametrize("extended", [True, False])
def test_what_was_on_the_air_counts_though_its_report_is_lost(extended: bool) -> None:
    air = Air()
    modem = KissModem(air, extended=extended)
    bench = ready_bench(modem)
    report, write = hardware(kiss.TX_DONE, bytes([kiss.SENT])), modem.write
    reports: list[bytes] = []

    def lose_every_other(data: bytes) -> None:
        if data == report:
            reports.append(data)
        if data != report or len(reports) % 2 == 0:
            write(data)

    modem.write = lose_every_other
    assert [bench.send(PACKET) for _ in range(6)] == [Outcome.SENT] * 6
    assert air.sent == [PACKET] * 6


def test_channel_activity_keeps_a_packet_at_once() -> None:
    air = Air()
    left, right = KissModem(air), KissModem(air)
    bench = ready_bench(left, right)
    ready_bench(right)
    right.write = lambda _data: None
    right.receive(serialize_frame(serialize_message(Data(PACKET))), bench.now_us)
    right.wake(bench.now_us)
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.KEPT
    assert bench.now_us == begun_us


def test_meshcore_s_firmware_waits_for_a_clear_channel() -> None:
    air = Air()
    left, right = KissModem(air, extended=False), KissModem(air, extended=False)
    bench = ready_bench(left, right)
    ready_bench(right)
    right.write = lambda _data: None
    right.receive(serialize_frame(serialize_message(Data(PACKET))), bench.now_us)
    right.wake(bench.now_us)
    begun_us = bench.now_us
    assert bench.send(PACKET) is Outcome.SENT
    airtime = airtime_us(meshcore_settings(EU868A), len(PACKET))
    assert bench.now_us - begun_us >= 2 * airtime


def test_a_modem_that_sends_nothing_is_given_up() -> None:
    bench = ready_bench(KissModem(Air()))
    bench.device = None
    assert [bench.send(PACKET) for _ in range(limits.LATE_MAX)] == [Outcome.SENT, Outcome.SENT, None]
    assert "does not send" in bench.of(Failed)[0].what


def test_a_modem_that_says_nothing_is_not_waited_for_for_ever() -> None:
    bench = Bench(session(), None)
    begun_us = bench.now_us
    bench.plug_in()
    assert bench.of(Failed)[0].what == "nothing there answers as a KISS modem"
    assert bench.now_us - begun_us == limits.HELLO_TRIES * limits.ANSWER_US


def test_a_modem_that_starts_late_is_found() -> None:
    modem = KissModem(Air())
    bench = Bench(session(), modem)
    bench.device = None
    bench.perform(bench.session.start(bench.now_us))
    bench.pass_time(5_000_000)
    bench.device = modem
    bench.run_until(lambda: bool(bench.of(Ready)))
    assert bench.of(Ready)


def test_a_modem_that_restarts_says_so() -> None:
    modem = KissModem(Air())
    bench = ready_bench(modem)
    modem.boot()
    bench.perform([])
    assert bench.of(Failed) == [Failed(what=RESTARTED)]


def test_a_restart_while_it_is_set_up_begins_anew() -> None:
    modem = KissModem(Air())
    bench = Bench(session(), modem)
    bench.device = None
    bench.perform(bench.session.start(bench.now_us))
    bench.device = modem
    modem.boot()
    bench.perform([])
    bench.run_until(lambda: bool(bench.of(Ready)))
    assert bench.of(Failed) == []
    assert modem.lora == EU868A


def test_a_modem_that_restarts_over_and_over_is_given_up() -> None:
    bench = Bench(session(), None)
    bench.perform(bench.session.start(bench.now_us))
    for _ in range(limits.RESTARTS_MAX + 1):
        bench.say(hardware(kiss.STARTED, b"\x01"))
    assert bench.of(Failed) == [Failed(what=RESTARTED)]


def test_meshcore_s_firmware_that_restarts_is_found_out_by_what_it_prints() -> None:
    modem = KissModem(Air(), extended=False)
    bench = ready_bench(modem)
    modem.boot()
    bench.perform([])
    # The text ends where the next frame begins.
    bench.say(b"\xc0")
    bench.pass_time(2 * limits.CHECK_SOON_US)
    assert bench.of(Failed) == [Failed(what=RESTARTED)]


def test_a_modem_set_otherwise_behind_our_back_is_found_out() -> None:
    modem = KissModem(Air())
    bench = ready_bench(modem)
    modem.lora = replace(EU868A, sync_word=0x12)
    bench.pass_time(limits.CHECK_US)
    assert bench.of(Failed) == [Failed(what=RESTARTED)]


def test_a_modem_that_is_well_stays_up_for_days() -> None:
    bench = ready_bench(KissModem(Air()))
    bench.pass_time(2 * 86_400_000_000 // 60)
    assert bench.told == bench.of(Ready)


def test_a_modem_that_falls_silent_is_noticed() -> None:
    bench = ready_bench(KissModem(Air()))
    bench.device = None
    bench.pass_time(limits.CHECK_US + limits.ASK_TRIES * limits.ANSWER_US)
    assert bench.of(Failed) == [Failed(what="the radio no longer answers")]


def test_an_echo_of_what_is_sent_is_no_packet() -> None:
    modem = KissModem(Air())
    bench = ready_bench(modem)
    bench.device = None
    bench.perform(bench.session.send(PACKET, bench.now_us))
    bench.say(bench.written[-1])
    bench.say(hardware(kiss.TX_DONE, bytes([kiss.SENT])))
    assert bench.of(Noise) == [Noise("an echo of what was sent", len(PACKET))]
    assert bench.of(Heard) == []
    assert bench.of(Done) == [Done(Outcome.SENT)]


def test_a_second_packet_before_the_first_has_left_is_a_mistake_of_the_caller() -> None:
    bench = ready_bench(KissModem(Air()))
    bench.device = None
    bench.perform(bench.session.send(PACKET, bench.now_us))
    with pytest.raises(NotReadyError):
        bench.session.send(PACKET, bench.now_us)


def test_settings_that_the_radio_refuses_are_told() -> None:
    bench = Bench(session(), KissModem(Air()))
    bench.device = None
    bench.perform(bench.session.start(bench.now_us))
    bench.say(hardware(kiss.PONG))
    bench.say(hardware(kiss.VERSION, b"\x02\x00"))
    bench.say(hardware(kiss.BRIDGE, b"\x01\x10bridge"))
    bench.say(hardware(kiss.ERROR, b"\x02"))
    assert "does not accept this sync word" in bench.of(Failed)[0].what


def test_firmware_for_another_board_is_told_from_settings_that_are_refused() -> None:
    bench = Bench(session(), KissModem(Air()))
    bench.device = None
    bench.perform(bench.session.start(bench.now_us))
    bench.say(hardware(kiss.PONG))
    bench.say(hardware(kiss.VERSION, b"\x02\x00"))
    bench.say(hardware(kiss.BRIDGE, b"\x01\x10bridge"))
    bench.say(hardware(kiss.ERROR, b"\x08"))
    assert "LoRa chip does not answer" in bench.of(Failed)[0].what
    assert "this very board" in bench.of(Failed)[0].remedy
