"""The host of an RNode, which carries packets to other RNodes: its sync word and its header are its own."""

from dataclasses import replace
from typing import Final

from firmware_bridge.lora import LoraSettings, symbols_us
from firmware_bridge.serial import limits
from firmware_bridge.serial.framing import FrameReader, serialize_frame
from firmware_bridge.serial.rnode import (
    DETECT_ANSWER,
    DETECT_REQUEST,
    RSSI_OFFSET_DB,
    Command,
    ErrorCode,
    Message,
    number,
    parse_message,
    serialize_message,
)
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

RNODE_SYNC_WORD: Final = 0x12
"""What RNode's firmware is built with, and cannot change."""
_HEADER: Final = 1
_REFUSALS: Final = (ErrorCode.TRANSMIT, ErrorCode.QUEUE_FULL)
"""Errors of packets that were not on the air."""
_ENDS: Final = (*_REFUSALS, ErrorCode.MODEM_TIMEOUT)
"""Errors that are about a packet at all. The last is told when the chip did not say that it had sent one."""


def rnode_settings(lora: LoraSettings) -> LoraSettings:
    """What an RNode makes of *lora*: its sync word, its preamble, its CRC."""
    wanted = -(-limits.RNODE_PREAMBLE_US // symbols_us(lora, 4))
    preamble = max(limits.RNODE_PREAMBLE_MIN, wanted)
    return replace(lora, sync_word=RNODE_SYNC_WORD, crc=True, preamble_symbols=preamble)


class RnodeSession(Session[Message]):
    """One conversation with an RNode."""

    def __init__(self, lora: LoraSettings, power_dbm: int, *, duty_permille: int = 0) -> None:
        """*lora* and *power_dbm*: what to set it to. *duty_permille*: what it shall itself hold the airtime of any hour
        to; 0: no limit."""
        super().__init__()
        self._lora = rnode_settings(lora)
        self._power_dbm = power_dbm
        self._duty_permille = duty_permille
        self._reader = FrameReader()
        self._rssi_dbm: int | None = None
        self._snr_db: float | None = None
        self._on_air: bytes | None = None

    def air_bytes(self, length: int) -> int:
        """A header of one byte goes before a packet."""
        return length + _HEADER

    @property
    def packet_max(self) -> int:
        """What goes into one frame: longer packets would be split in two, which ours need not be."""
        return limits.KISS_PACKET_MAX - _HEADER

    def _decode(self, data: bytes) -> list[Message | Noise]:
        return [
            frame if isinstance(frame, Noise) else parse_message(frame) for frame in self._reader.feed(data)
        ]

    def _greet(self) -> Dialogue[Message]:
        detected = yield _ask(Command.DETECT, bytes([DETECT_REQUEST]), limits.HELLO_TRIES)
        if number(detected) != DETECT_ANSWER:
            return Failed(what="nothing there answers as an RNode")
        version = yield _ask(Command.FIRMWARE, b"\x00")
        found = tuple(version.data) if version is not None else (0, 0)
        name = f"RNode, firmware {'.'.join(map(str, found))}"
        if found < limits.RNODE_VERSION_MIN:
            least = ".".join(map(str, limits.RNODE_VERSION_MIN))
            return Failed(what=f"{name} is too old", remedy=f"Flash {least} or later with rnodeconf.")
        failed = yield from self._set_up()
        return failed or Ready(device=name, lora=self._lora, power_dbm=self._power_dbm)

    def _set_up(self) -> Steps[Message]:
        slack_hz = limits.RNODE_FREQUENCY_SLACK_HZ
        lora = self._lora
        settings = (
            (
                Command.FREQUENCY,
                lora.frequency_hz,
                4,
                range(lora.frequency_hz - slack_hz, lora.frequency_hz + slack_hz + 1),
            ),
            (Command.BANDWIDTH, lora.bandwidth_hz, 4, (lora.bandwidth_hz,)),
            # What is beyond its chip it lowers.
            (Command.POWER, max(0, self._power_dbm), 1, range(max(0, self._power_dbm) + 1)),
            (Command.SPREADING_FACTOR, lora.spreading_factor, 1, (lora.spreading_factor,)),
            (Command.CODING_RATE, lora.coding_rate, 1, (lora.coding_rate,)),
            (Command.SHORT_LIMIT, 0, 2, (0,)),
            (Command.LONG_LIMIT, 10 * self._duty_permille, 2, (10 * self._duty_permille,)),
            (Command.RADIO_STATE, 1, 1, (1,)),
        )
        for command, value, size, allowed in settings:
            answer = number((yield _ask(command, value.to_bytes(size))))
            if answer is None:
                return Failed(what="the radio stopped answering while it was set up")
            if answer not in allowed:
                setting = command.name.lower().replace("_", " ")
                return Failed(
                    what=f"the RNode does not take {setting} {value}, it stays at {answer}",
                    remedy="Choose settings its radio can have.",
                )
            if command is Command.POWER:
                self._power_dbm = answer
        return None

    def _check(self) -> Steps[Message]:
        for command, ask, expected in (
            (Command.RADIO_STATE, b"\xff", 1),
            (Command.SPREADING_FACTOR, b"\xff", self._lora.spreading_factor),
        ):
            answer = number((yield _ask(command, ask)))
            if answer is None:
                return Failed(what="the radio no longer answers")
            if answer != expected:
                return Failed(what=RESTARTED)
        return None

    def _transmit(self, packet: bytes) -> Dialogue[Message]:
        for _ in range(limits.RNODE_POLLS_MAX):
            room = number((yield _ask(Command.READY, b"\x01")))
            if room is None:
                return Failed(what="the radio no longer answers")
            if room:
                break
            yield Ask(b"", wait_us=limits.RNODE_POLL_US)
        else:
            return Done(Outcome.KEPT)
        # An RNode does not tell when a packet has left; it only tells if it has not.
        self._on_air = packet
        error = yield Ask(
            serialize_frame(serialize_message(Message(Command.DATA, packet))),
            lambda message: message.command == Command.ERROR and number(message) in _ENDS,
            self._air_us(self._lora, packet),
        )
        self._on_air = None
        if error is None:
            return self._sent()
        return self._unreported(Outcome.KEPT if number(error) in _REFUSALS else Outcome.SENT)

    def _take(self, message: Message) -> list[Action]:
        match message.command:
            case Command.DATA:
                if message.data == self._on_air:
                    # A radio cannot hear itself.
                    return [Noise("an echo of what was sent", len(message.data))]
                heard = Heard(packet=message.data, rssi_dbm=self._rssi_dbm, snr_db=self._snr_db)
                self._rssi_dbm = self._snr_db = None
                return [heard]
            case Command.RSSI:
                self._rssi_dbm = message.data[0] - RSSI_OFFSET_DB
            case Command.SNR:
                self._snr_db = int.from_bytes(message.data[:1], signed=True) / 4
            case Command.RESET:
                return self._restarted()
        return []


def _ask(command: Command, data: bytes, tries: int = limits.ASK_TRIES) -> Ask[Message]:
    return Ask(
        serialize_frame(serialize_message(Message(command, data))),
        lambda message: message.command == command,
        tries=tries,
    )
