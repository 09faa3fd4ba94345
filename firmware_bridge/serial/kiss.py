"""The host of a KISS modem: MeshCore's firmware as it is, or our bridge firmware with its extension.

Messages are parsed and serialized in both directions, so that emulated modems use the same code. Sources:
docs/formats/kiss.md; MeshCore, docs/kiss_modem_protocol.md and examples/kiss_modem. The numbers are in
``firmware.kiss``.
"""

import struct
from dataclasses import dataclass, replace
from typing import Final

from firmware_bridge.chips.modem import PAYLOAD_MAX
from firmware_bridge.firmware import kiss
from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial import limits
from firmware_bridge.serial.framing import KissFrameReader, serialize_frame
from firmware_bridge.serial.session import (
    RESTARTED,
    Action,
    Ask,
    Dialogue,
    Done,
    Failed,
    Heard,
    Noise,
    Outcome,
    Ready,
    Session,
    Steps,
)

MESHCORE_SYNC_WORD: Final = 0x12
"""The sync word of MeshCore's firmware, which cannot change it."""
_REFUSALS: Final = (kiss.BUSY, kiss.DUTY_SPENT)
"""Results of packets that were not on the air. A packet on which the radio failed may have been, in part."""


@dataclass(frozen=True, slots=True)
class Data:
    """A packet as it is on the air, 1 to 255 bytes."""

    packet: bytes


@dataclass(frozen=True, slots=True)
class Setting:
    """One of the classic KISS parameters."""

    command: int
    """TX_DELAY, PERSISTENCE, SLOT_TIME or FULL_DUPLEX."""
    value: int
    """0 to 255."""


@dataclass(frozen=True, slots=True)
class HardwareCommand:
    """A sub-command with its data, in either direction."""

    sub: int
    """A sub-command of ``firmware.kiss``, or another modem's number."""
    data: bytes = b""


KissMessage = Data | Setting | HardwareCommand
"""The content of a frame."""

_SETTINGS: Final = (kiss.TX_DELAY, kiss.PERSISTENCE, kiss.SLOT_TIME, kiss.FULL_DUPLEX)


def serialize_message(message: KissMessage) -> bytes:
    """Return the frame, unescaped."""
    match message:
        case Data(packet):
            return bytes([kiss.DATA]) + packet
        case Setting(command, value):
            return bytes([command, value])
        case HardwareCommand(sub, data):
            return bytes([kiss.HARDWARE, sub]) + data


def parse_message(frame: bytes) -> KissMessage | Noise:
    """Parse an unescaped *frame* of 1 byte or more."""
    command, rest = frame[0], frame[1:]
    if command == kiss.DATA and 1 <= len(rest) <= PAYLOAD_MAX:
        return Data(rest)
    if command == kiss.HARDWARE and rest:
        return HardwareCommand(rest[0], rest[1:])
    if command in _SETTINGS and len(rest) == 1:
        return Setting(command, rest[0])
    return Noise("a frame of a kind that is not known", len(frame))


def meshcore_settings(lora: LoraSettings) -> LoraSettings:
    """Return *lora* with what MeshCore's own firmware fixes: sync word, preamble and CRC."""
    short = lora.spreading_factor <= 8
    preamble = limits.MESHCORE_PREAMBLE_SHORT if short else limits.MESHCORE_PREAMBLE_LONG
    return replace(lora, sync_word=MESHCORE_SYNC_WORD, crc=True, preamble_symbols=preamble)


def radio_body(lora: LoraSettings) -> bytes:
    """Return the ten bytes of SET_RADIO."""
    return struct.pack("<IIBB", lora.frequency_hz, lora.bandwidth_hz, lora.spreading_factor, lora.coding_rate)


def phy_body(lora: LoraSettings) -> bytes:
    """Return the five bytes of SET_PHY."""
    return struct.pack("<BBHB", lora.sync_word, lora.crc, lora.preamble_symbols, lora.low_data_rate)


class KissSession(Session[KissMessage]):
    """One conversation with a KISS modem."""

    packet_max = PAYLOAD_MAX
    """Bytes of the longest packet: a LoRa frame."""

    def __init__(
        self, lora: LoraSettings, power_dbm: int, *, stock: bool = False, duty_permille: int = 0
    ) -> None:
        """*lora*, *power_dbm*: the modem's settings. *stock*: accept a firmware with a fixed sync word, so that only
        modems with the same sync word hear us. *duty_permille*: limit of the duty cycle in any hour that a modem with
        our extension enforces itself; 0: no limit."""
        super().__init__()
        self._lora = lora
        self._power_dbm = power_dbm
        self._stock = stock
        self._duty_permille = duty_permille
        self._extended = False
        self._reader = KissFrameReader()
        self._heard: bytes | None = None
        self._on_air: bytes | None = None

    def air_bytes(self, length: int) -> int:
        """See Session. A packet is on the air as it is."""
        return length

    def _decode(self, data: bytes) -> list[KissMessage | Noise]:
        return [
            frame if isinstance(frame, Noise) else parse_message(frame) for frame in self._reader.feed(data)
        ]

    def _greet(self) -> Dialogue[KissMessage]:
        if (yield _ask(kiss.PING, kiss.PONG, tries=limits.HELLO_TRIES)) is None:
            return Failed(what="nothing there answers as a KISS modem")
        version = yield _ask(kiss.GET_VERSION, kiss.VERSION)
        name = f"MeshCore KISS modem, version {_data(version)[:1].hex() or '?'}"
        bridge = _data((yield _ask(kiss.GET_BRIDGE, kiss.BRIDGE)))
        self._extended = len(bridge) >= 2
        if self._extended:
            name = bridge[2:].decode("utf-8", "replace") or "bridge firmware"
        elif failed := self._judge_stock():
            return failed
        return (yield from self._set_up()) or Ready(device=name, lora=self._lora, power_dbm=self._power_dbm)

    def _judge_stock(self) -> Failed | None:
        """Check whether a modem without our extension is usable."""
        if not self._stock and self._lora.sync_word != MESHCORE_SYNC_WORD:
            return Failed(
                what=f"the modem's firmware cannot set the sync word {self._lora.sync_word:#04x}, by which boards hear "
                "each other",
                remedy="Flash the bridge firmware, choose the plan E22-868, or add &stock=on to reach only nodes "
                "that have the same modem",
            )
        if self._power_dbm < 0:
            return Failed(
                what=f"the modem's firmware cannot send with {self._power_dbm} dBm",
                remedy="Choose 0 dBm or more, and an antenna with which that is legal",
            )
        self._lora = meshcore_settings(self._lora)
        return None

    def _set_up(self) -> Steps[KissMessage]:
        if self._extended:
            phy = yield _ask(kiss.SET_PHY, kiss.PHY, phy_body(self._lora))
            if _data(phy) != phy_body(self._lora):
                return _refused("this sync word, CRC, preamble and LDRO", phy)
            duty = self._duty_permille.to_bytes(2, "little")
            yield _ask(kiss.SET_DUTY, kiss.DUTY, duty)
            yield _ask(kiss.SET_CAD, kiss.CAD, bytes([limits.KISS_CAD_TRIES]))
        radio = yield _ask(kiss.SET_RADIO, kiss.OK, radio_body(self._lora))
        if not _is_ok(radio):
            return _refused("this frequency, bandwidth, spreading factor and coding rate", radio)
        power = yield _ask(kiss.SET_POWER, kiss.OK, self._power_dbm.to_bytes(1, signed=True))
        if not _is_ok(power):
            return _refused(f"a power of {self._power_dbm} dBm", power)
        yield _ask(kiss.SET_SIGNAL_REPORT, kiss.SIGNAL_REPORT, b"\x01")
        # Our scheduler spreads packets; the modem only has to avoid sending while it receives.
        settings = (
            Setting(kiss.TX_DELAY, 0),
            Setting(kiss.PERSISTENCE, 255),
            Setting(kiss.SLOT_TIME, 1),
            Setting(kiss.FULL_DUPLEX, int(self._extended)),
        )
        yield Ask(b"".join(serialize_frame(serialize_message(setting)) for setting in settings), wait_us=0)
        return (yield from self._check())

    def _check(self) -> Steps[KissMessage]:
        radio = yield _ask(kiss.GET_RADIO, kiss.RADIO)
        if radio is None:
            return Failed(what="the radio no longer answers")
        if _data(radio) != radio_body(self._lora):
            return Failed(what=RESTARTED)
        if self._extended and _data((yield _ask(kiss.GET_PHY, kiss.PHY))) != phy_body(self._lora):
            return Failed(what=RESTARTED)
        return None

    def _transmit(self, packet: bytes) -> Dialogue[KissMessage]:
        self._on_air = packet
        wait_us = self._air_us(self._lora, packet) + 3_000_000  # a modem waits while the channel is busy
        frame = serialize_frame(serialize_message(Data(packet)))
        answer = yield Ask(frame, _ends_sending, wait_us)
        self._on_air = None
        if isinstance(answer, HardwareCommand):
            if answer.sub == kiss.ERROR or (answer.data and answer.data[0] in _REFUSALS):
                return Done(Outcome.KEPT)
            if answer.data[:1] == bytes([kiss.SENT]):
                return self._sent()
        return self._unreported()

    def _take(self, message: KissMessage) -> list[Action]:
        if isinstance(message, HardwareCommand) and message.sub == kiss.RX_META:
            return self._deliver(message.data)
        actions = self._deliver()
        if isinstance(message, Data):
            if message.packet == self._on_air:
                # A radio does not receive its own packets.
                return [*actions, Noise("an echo of what was sent", len(message.packet))]
            self._heard = message.packet
            self._timer_us = self._now_us + limits.KISS_META_US
        elif isinstance(message, HardwareCommand) and message.sub == kiss.STARTED:
            actions += self._restarted()
        return actions

    def _ring(self) -> list[Action]:
        return self._deliver()

    def _deliver(self, report: bytes = b"") -> list[Action]:
        """Deliver the packet that waited for its signal *report*; one of another length counts as missing."""
        packet, self._heard = self._heard, None
        self._timer_us = None
        if packet is None:
            return []
        if len(report) != 2:
            return [Heard(packet=packet)]
        # Modems receive weaker signals than -128 dBm, too, and report -128.
        quarters, rssi_dbm = struct.unpack("bb", report)
        return [Heard(packet=packet, rssi_dbm=rssi_dbm, snr_db=quarters / 4)]


def _ask(sub: int, answer: int, data: bytes = b"", tries: int = limits.ASK_TRIES) -> Ask[KissMessage]:
    """Ask with a sub-command for *answer*. The FEND before it ends a frame that the modem has half read."""
    return Ask(
        serialize_frame(serialize_message(HardwareCommand(sub, data))),
        lambda message: isinstance(message, HardwareCommand) and message.sub in (answer, kiss.ERROR),
        tries=tries,
    )


def _data(answer: KissMessage | None) -> bytes:
    """Return the data of an answer; nothing if it is an error or missing."""
    return answer.data if isinstance(answer, HardwareCommand) and answer.sub != kiss.ERROR else b""


def _is_ok(answer: KissMessage | None) -> bool:
    return isinstance(answer, HardwareCommand) and answer.sub == kiss.OK


def _ends_sending(message: KissMessage) -> bool:
    return isinstance(message, HardwareCommand) and (
        message.sub == kiss.TX_DONE or (message.sub == kiss.ERROR and message.data == bytes([kiss.TX_BUSY]))
    )


def _refused(what: str, answer: KissMessage | None) -> Failed:
    if answer is None:
        return Failed(what="the radio stopped answering while it was set up")
    if isinstance(answer, HardwareCommand) and answer.data == bytes([kiss.NO_RADIO]):
        return Failed(
            what="the board's LoRa chip does not answer",
            remedy="Flash the firmware that is made for this very board, or check its wires",
        )
    return Failed(
        what=f"the modem does not accept {what}",
        remedy="Choose settings its radio can have",
    )
