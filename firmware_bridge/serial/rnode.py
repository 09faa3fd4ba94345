"""The host of an RNode, which carries packets to other RNodes: its sync word and its header are its own.

A message is a command byte and its data in a KISS frame. Written after the protocol's description and the answers of
RNodes; numbers as in RNode_Firmware, Framing.h.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from firmware_bridge.chips.modem import PAYLOAD_MAX
from firmware_bridge.lora import LoraSettings, symbols_us
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


class RnodeCommand(IntEnum):
    """The subject of a frame. The answer to a setting is its present value; 0 or 0xFF only asks for it."""

    DATA = 0x00
    """A packet, up to 508 bytes."""
    FREQUENCY = 0x01
    """Hz, u32; 0 asks."""
    BANDWIDTH = 0x02
    """Hz, u32; 0 asks."""
    POWER = 0x03
    """dBm, u8."""
    SPREADING_FACTOR = 0x04
    """u8; 0xFF asks."""
    CODING_RATE = 0x05
    """5 to 8."""
    RADIO_STATE = 0x06
    """1 on, 0 off; 0xFF asks."""
    DETECT = 0x08
    """0x73, answered by 0x46."""
    SHORT_LIMIT = 0x0B
    """Most time on the air in 15 s, in hundredths of a percent, u16; 0: no limit."""
    LONG_LIMIT = 0x0C
    """The same in an hour."""
    READY = 0x0F
    """1: there is room for a packet. Sent on request."""
    RSSI = 0x23
    """Of the packet that follows: dBm + 157."""
    SNR = 0x24
    """Of the packet that follows: quarters of a dB, i8."""
    PLATFORM = 0x48
    """Kind of processor."""
    FIRMWARE = 0x50
    """Version, major and minor."""
    RESET = 0x55
    """0xF8: from a host, restart; from an RNode, it has restarted."""
    ERROR = 0x90
    """A ``RnodeErrorCode``."""


class RnodeErrorCode(IntEnum):
    """The errors of an RNode."""

    RADIO = 0x01
    TRANSMIT = 0x02
    EEPROM = 0x03
    QUEUE_FULL = 0x04
    MEMORY = 0x05
    MODEM_TIMEOUT = 0x06


DETECT_REQUEST: Final = 0x73
"""Data of the host's DETECT."""
DETECT_ANSWER: Final = 0x46
"""Data of an RNode's DETECT."""
RESET_DONE: Final = 0xF8
"""Data of RESET."""
RSSI_OFFSET_DB: Final = 157
"""Offset that makes a signal's strength a byte."""


@dataclass(frozen=True, slots=True)
class RnodeMessage:
    """A command and its data, in either direction."""

    command: int
    """A ``RnodeCommand``, or one that is not used here."""
    data: bytes = b""


def serialize_message(message: RnodeMessage) -> bytes:
    """Return the frame, unescaped."""
    return bytes([message.command]) + message.data


def parse_message(frame: bytes) -> RnodeMessage | Noise:
    """Parse an unescaped *frame* of 1 byte or more."""
    if len(frame) == 1:
        return Noise("a frame of a kind that is not known", 1)
    return RnodeMessage(frame[0], frame[1:])


def number(message: RnodeMessage | None) -> int | None:
    """Return the data of a setting as a big-endian number; None if it is missing or too long."""
    return None if message is None or len(message.data) > 4 else int.from_bytes(message.data)


RNODE_SYNC_WORD: Final = 0x12
"""The sync word of RNode's firmware, which cannot change it."""
_HEADER: Final = 1
_REFUSALS: Final = (RnodeErrorCode.TRANSMIT, RnodeErrorCode.QUEUE_FULL)
"""Errors after which a packet was not on the air."""
_ENDS: Final = (*_REFUSALS, RnodeErrorCode.MODEM_TIMEOUT)
"""Errors that concern a packet. The last means that the chip did not report the end of sending."""


def rnode_settings(lora: LoraSettings) -> LoraSettings:
    """Return *lora* with what RNode's firmware fixes: sync word, preamble and CRC."""
    wanted = -(-limits.RNODE_PREAMBLE_US // symbols_us(lora, 4))
    preamble = max(limits.RNODE_PREAMBLE_MIN, wanted)
    return replace(lora, sync_word=RNODE_SYNC_WORD, crc=True, preamble_symbols=preamble)


class RnodeSession(Session[RnodeMessage]):
    """One conversation with an RNode."""

    packet_max = PAYLOAD_MAX - _HEADER
    """Bytes of the longest packet in one frame; the RNode would split longer ones."""

    def __init__(self, lora: LoraSettings, power_dbm: int, *, duty_permille: int = 0) -> None:
        """*lora*, *power_dbm*: the RNode's settings. *duty_permille*: limit of the duty cycle in any hour that it
        enforces itself; 0: no limit."""
        super().__init__()
        self._lora = rnode_settings(lora)
        self._power_dbm = power_dbm
        self._duty_permille = duty_permille
        self._reader = KissFrameReader()
        self._rssi_dbm: int | None = None
        self._snr_db: float | None = None
        self._on_air: bytes | None = None

    def air_bytes(self, length: int) -> int:
        """See Session. A header of one byte precedes a packet."""
        return length + _HEADER

    def _decode(self, data: bytes) -> list[RnodeMessage | Noise]:
        return [
            frame if isinstance(frame, Noise) else parse_message(frame) for frame in self._reader.feed(data)
        ]

    def _greet(self) -> Dialogue[RnodeMessage]:
        detected = yield _ask(RnodeCommand.DETECT, bytes([DETECT_REQUEST]), limits.HELLO_TRIES)
        if number(detected) != DETECT_ANSWER:
            return Failed(what="nothing there answers as an RNode")
        version = yield _ask(RnodeCommand.FIRMWARE, b"\x00")
        found = tuple(version.data) if version is not None else (0, 0)
        name = f"RNode, firmware {'.'.join(map(str, found))}"
        if found < limits.RNODE_VERSION_MIN:
            least = ".".join(map(str, limits.RNODE_VERSION_MIN))
            return Failed(what=f"{name} is too old", remedy=f"Flash {least} or later with rnodeconf.")
        failed = yield from self._set_up()
        return failed or Ready(device=name, lora=self._lora, power_dbm=self._power_dbm)

    def _set_up(self) -> Steps[RnodeMessage]:
        slack_hz = 100  # synthesizers have steps of 61 Hz
        lora = self._lora
        settings = (
            (
                RnodeCommand.FREQUENCY,
                lora.frequency_hz,
                4,
                range(lora.frequency_hz - slack_hz, lora.frequency_hz + slack_hz + 1),
            ),
            (RnodeCommand.BANDWIDTH, lora.bandwidth_hz, 4, (lora.bandwidth_hz,)),
            # The RNode lowers a power beyond its chip's range.
            (RnodeCommand.POWER, max(0, self._power_dbm), 1, range(max(0, self._power_dbm) + 1)),
            (RnodeCommand.SPREADING_FACTOR, lora.spreading_factor, 1, (lora.spreading_factor,)),
            (RnodeCommand.CODING_RATE, lora.coding_rate, 1, (lora.coding_rate,)),
            (RnodeCommand.SHORT_LIMIT, 0, 2, (0,)),
            (RnodeCommand.LONG_LIMIT, 10 * self._duty_permille, 2, (10 * self._duty_permille,)),
            (RnodeCommand.RADIO_STATE, 1, 1, (1,)),
        )
        for command, value, size, allowed in settings:
            answer = number((yield _ask(command, value.to_bytes(size))))
            if answer is None:
                return Failed(what="the radio stopped answering while it was set up")
            if answer not in allowed:
                setting = command.name.lower().replace("_", " ")
                return Failed(
                    what=f"the RNode does not accept {setting} {value}, it stays at {answer}",
                    remedy="Choose settings its radio can have.",
                )
            if command is RnodeCommand.POWER:
                self._power_dbm = answer
        return None

    def _check(self) -> Steps[RnodeMessage]:
        for command, ask, expected in (
            (RnodeCommand.RADIO_STATE, b"\xff", 1),
            (RnodeCommand.SPREADING_FACTOR, b"\xff", self._lora.spreading_factor),
        ):
            answer = number((yield _ask(command, ask)))
            if answer is None:
                return Failed(what="the radio no longer answers")
            if answer != expected:
                return Failed(what=RESTARTED)
        return None

    def _transmit(self, packet: bytes) -> Dialogue[RnodeMessage]:
        for _ in range(limits.RNODE_POLLS_MAX):
            room = number((yield _ask(RnodeCommand.READY, b"\x01")))
            if room is None:
                return Failed(what="the radio no longer answers")
            if room:
                break
            yield Ask(b"", wait_us=limits.RNODE_POLL_US)
        else:
            return Done(Outcome.KEPT)
        # An RNode does not report when a packet has left; it only reports failures.
        self._on_air = packet
        error = yield Ask(
            serialize_frame(serialize_message(RnodeMessage(RnodeCommand.DATA, packet))),
            lambda message: message.command == RnodeCommand.ERROR and number(message) in _ENDS,
            self._air_us(self._lora, packet),
        )
        self._on_air = None
        if error is None:
            return self._sent()
        return self._unreported(Outcome.KEPT if number(error) in _REFUSALS else Outcome.SENT)

    def _take(self, message: RnodeMessage) -> list[Action]:
        match message.command:
            case RnodeCommand.DATA:
                if message.data == self._on_air:
                    # A radio does not receive its own packets.
                    return [Noise("an echo of what was sent", len(message.data))]
                heard = Heard(packet=message.data, rssi_dbm=self._rssi_dbm, snr_db=self._snr_db)
                self._rssi_dbm = self._snr_db = None
                return [heard]
            case RnodeCommand.RSSI:
                self._rssi_dbm = message.data[0] - RSSI_OFFSET_DB
            case RnodeCommand.SNR:
                self._snr_db = int.from_bytes(message.data[:1], signed=True) / 4
            case RnodeCommand.RESET:
                return self._restarted()
        return []


def _ask(command: RnodeCommand, data: bytes, tries: int = limits.ASK_TRIES) -> Ask[RnodeMessage]:
    return Ask(
        serialize_frame(serialize_message(RnodeMessage(command, data))),
        lambda message: message.command == command,
        tries=tries,
    )
