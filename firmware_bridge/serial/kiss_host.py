"""The host of a KISS modem: MeshCore's firmware as it is, or our bridge firmware, which can do more (kiss.md)."""

from dataclasses import replace
from typing import Final

from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial import limits
from firmware_bridge.serial.framing import FrameReader, serialize_frame
from firmware_bridge.serial.kiss import (
    Command,
    Data,
    ErrorCode,
    Hardware,
    Message,
    Phy,
    Radio,
    RxMeta,
    Setting,
    Sub,
    TxResult,
    parse_message,
    parse_phy,
    parse_radio,
    parse_rx_meta,
    serialize_message,
    serialize_phy,
    serialize_radio,
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

MESHCORE_SYNC_WORD: Final = 0x12
"""What MeshCore's firmware is built with, and cannot change."""
_REFUSALS: Final = (TxResult.BUSY, TxResult.DUTY)
"""Results of packets that were not on the air. One on which the radio failed may have been, in part."""


def meshcore_settings(lora: LoraSettings) -> LoraSettings:
    """What MeshCore's own firmware makes of *lora*: its sync word, its preamble, its CRC."""
    short = lora.spreading_factor <= 8
    preamble = limits.MESHCORE_PREAMBLE_SHORT if short else limits.MESHCORE_PREAMBLE_LONG
    return replace(lora, sync_word=MESHCORE_SYNC_WORD, crc=True, preamble_symbols=preamble)


class KissSession(Session[Message]):
    """One conversation with a KISS modem."""

    def __init__(
        self, lora: LoraSettings, power_dbm: int, *, stock: bool = False, duty_permille: int = 0
    ) -> None:
        """*lora* and *power_dbm*: what to set the modem to. *stock*: take a firmware that cannot set the sync word and
        uses its own, so that only those who do the same hear us. *duty_permille*: what a modem that can shall itself
        hold the airtime of any hour to; 0: no limit."""
        super().__init__()
        self._lora = lora
        self._power_dbm = power_dbm
        self._stock = stock
        self._duty_permille = duty_permille
        self._extended = False
        self._reader = FrameReader()
        self._heard: bytes | None = None
        self._on_air: bytes | None = None

    def air_bytes(self, length: int) -> int:
        """A packet is on the air as it is."""
        return length

    @property
    def packet_max(self) -> int:
        """What a LoRa frame holds."""
        return limits.KISS_PACKET_MAX

    def _decode(self, data: bytes) -> list[Message | Noise]:
        return [
            frame if isinstance(frame, Noise) else parse_message(frame) for frame in self._reader.feed(data)
        ]

    def _greet(self) -> Dialogue[Message]:
        if (yield _ask(Sub.PING, Sub.PONG, tries=limits.HELLO_TRIES)) is None:
            return Failed(what="nothing there answers as a KISS modem")
        version = yield _ask(Sub.GET_VERSION, Sub.VERSION)
        name = f"MeshCore KISS modem, version {_data(version)[:1].hex() or '?'}"
        bridge = _data((yield _ask(Sub.GET_BRIDGE, Sub.BRIDGE)))
        self._extended = len(bridge) >= 2
        if self._extended:
            name = bridge[2:].decode("utf-8", "replace") or "bridge firmware"
        elif failed := self._judge_stock():
            return failed
        return (yield from self._set_up()) or Ready(device=name, lora=self._lora, power_dbm=self._power_dbm)

    def _judge_stock(self) -> Failed | None:
        """See whether a modem without our extension will do."""
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

    def _set_up(self) -> Steps[Message]:
        """Bring the modem to our settings."""
        if self._extended:
            phy = yield _ask(Sub.SET_PHY, Sub.PHY, serialize_phy(self._phy))
            if parse_phy(_data(phy)) != self._phy:
                return _refused("this sync word, CRC, preamble and LDRO", phy)
            duty = self._duty_permille.to_bytes(2, "little")
            yield _ask(Sub.SET_DUTY, Sub.DUTY, duty)
            yield _ask(Sub.SET_CAD, Sub.CAD, bytes([limits.KISS_CAD_TRIES]))
        radio = yield _ask(Sub.SET_RADIO, Sub.OK, serialize_radio(self._radio))
        if not _is_ok(radio):
            return _refused("this frequency, bandwidth, spreading factor and coding rate", radio)
        power = yield _ask(Sub.SET_POWER, Sub.OK, self._power_dbm.to_bytes(1, signed=True))
        if not _is_ok(power):
            return _refused(f"a power of {self._power_dbm} dBm", power)
        yield _ask(Sub.SET_SIGNAL_REPORT, Sub.SIGNAL_REPORT, b"\x01")
        # Our own scheduler spreads packets; the modem need only not send into what it is receiving.
        settings = (
            Setting(Command.TX_DELAY, 0),
            Setting(Command.PERSISTENCE, 255),
            Setting(Command.SLOT_TIME, 1),
            Setting(Command.FULL_DUPLEX, int(self._extended)),
        )
        yield Ask(b"".join(serialize_frame(serialize_message(setting)) for setting in settings), wait_us=0)
        return (yield from self._check())

    def _check(self) -> Steps[Message]:
        radio = yield _ask(Sub.GET_RADIO, Sub.RADIO)
        if radio is None:
            return Failed(what="the radio no longer answers")
        if parse_radio(_data(radio)) != self._radio:
            return Failed(what=RESTARTED)
        if self._extended and parse_phy(_data((yield _ask(Sub.GET_PHY, Sub.PHY)))) != self._phy:
            return Failed(what=RESTARTED)
        return None

    def _transmit(self, packet: bytes) -> Dialogue[Message]:
        self._on_air = packet
        wait_us = self._air_us(self._lora, packet) + limits.LATE_US
        frame = serialize_frame(serialize_message(Data(packet)))
        answer = yield Ask(frame, _ends_sending, wait_us)
        self._on_air = None
        if isinstance(answer, Hardware):
            if answer.sub == Sub.ERROR or (answer.data and answer.data[0] in _REFUSALS):
                return Done(Outcome.KEPT)
            if answer.data[:1] == bytes([TxResult.SENT]):
                return self._sent()
        return self._unreported()

    def _take(self, message: Message) -> list[Action]:
        if isinstance(message, Hardware) and message.sub == Sub.RX_META:
            return self._deliver(parse_rx_meta(message.data))
        actions = self._deliver(None)
        if isinstance(message, Data):
            if message.packet == self._on_air:
                # A radio cannot hear itself.
                return [*actions, Noise("an echo of what was sent", len(message.packet))]
            self._heard = message.packet
            self._timer_us = self._now_us + limits.KISS_META_US
        elif isinstance(message, Hardware) and message.sub == Sub.STARTED:
            actions += self._restarted()
        return actions

    def _ring(self) -> list[Action]:
        return self._deliver(None)

    def _deliver(self, meta: RxMeta | None) -> list[Action]:
        """Hand out the packet that waited for its signal report."""
        packet, self._heard = self._heard, None
        self._timer_us = None
        if packet is None:
            return []
        if meta is None:
            return [Heard(packet=packet)]
        return [Heard(packet=packet, rssi_dbm=meta.rssi_dbm, snr_db=meta.snr_db)]

    @property
    def _radio(self) -> Radio:
        return Radio(
            frequency_hz=self._lora.frequency_hz,
            bandwidth_hz=self._lora.bandwidth_hz,
            spreading_factor=self._lora.spreading_factor,
            coding_rate=self._lora.coding_rate,
        )

    @property
    def _phy(self) -> Phy:
        return Phy(
            sync_word=self._lora.sync_word,
            crc=self._lora.crc,
            preamble_symbols=self._lora.preamble_symbols,
            low_data_rate=self._lora.low_data_rate,
        )


def _ask(sub: Sub, answer: Sub, data: bytes = b"", tries: int = limits.ASK_TRIES) -> Ask[Message]:
    """A sub-command and its *answer*. The FEND before it ends whatever the modem had half read."""
    return Ask(
        serialize_frame(serialize_message(Hardware(sub, data))),
        lambda message: isinstance(message, Hardware) and message.sub in (answer, Sub.ERROR),
        tries=tries,
    )


def _data(answer: Message | None) -> bytes:
    """What an answer carries; nothing if it is an error, or did not come."""
    return answer.data if isinstance(answer, Hardware) and answer.sub != Sub.ERROR else b""


def _is_ok(answer: Message | None) -> bool:
    return isinstance(answer, Hardware) and answer.sub == Sub.OK


def _ends_sending(message: Message) -> bool:
    return isinstance(message, Hardware) and (
        message.sub == Sub.TX_DONE
        or (message.sub == Sub.ERROR and message.data == bytes([ErrorCode.TX_BUSY]))
    )


def _refused(what: str, answer: Message | None) -> Failed:
    if answer is None:
        return Failed(what="the radio stopped answering while it was set up")
    if isinstance(answer, Hardware) and answer.data == bytes([ErrorCode.UNSUPPORTED]):
        return Failed(
            what="the board's LoRa chip does not answer",
            remedy="Flash the firmware that is made for this very board, or look at its wires",
        )
    return Failed(
        what=f"the modem does not take {what}",
        remedy="Choose settings its radio can have",
    )
