"""A KISS modem that is not there: MeshCore's firmware, or our bridge firmware with its extension. Pure.

Written after MeshCore's examples/kiss_modem, and docs/formats/kiss.md for the extension.
"""

from dataclasses import replace

from firmware_bridge.emulation.serial_air import RSSI_DBM, SNR_DB, Air, Device
from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial import limits
from firmware_bridge.serial.framing import FrameReader, serialize_frame
from firmware_bridge.serial.kiss import (
    Command,
    Data,
    ErrorCode,
    Hardware,
    Message,
    RxMeta,
    Setting,
    Sub,
    TxResult,
    parse_message,
    parse_phy,
    parse_radio,
    serialize_message,
    serialize_phy,
    serialize_rx_meta,
)
from firmware_bridge.serial.kiss_host import meshcore_settings
from firmware_bridge.serial.session import Noise

FACTORY = meshcore_settings(
    LoraSettings(frequency_hz=869_618_000, bandwidth_hz=62_500, spreading_factor=8, coding_rate=8)
)
"""What MeshCore's builds for Europe start with."""


class KissModem(Device):
    """A modem."""

    def __init__(self, air: Air, *, extended: bool = True, name: str = "bridge on an emulated board") -> None:
        """*extended*: our firmware rather than MeshCore's."""
        super().__init__(air)
        self.extended = extended
        self.name = name
        self.power_dbm = 0
        self.duty_permille = 0
        self.requests: list[int] = []
        """Sub-commands in the order they came."""
        self._pending: bytes | None = None
        self._low_data_rate = False
        self._forget()

    def _forget(self) -> None:
        self.lora = FACTORY
        self.power_dbm = 22
        self.cad_tries = 0
        self._settings = {
            Command.TX_DELAY: 50,
            Command.PERSISTENCE: 63,
            Command.SLOT_TIME: 10,
            Command.FULL_DUPLEX: 0,
        }
        self._reader = FrameReader()
        self._report = True

    def boot(self) -> None:
        """See Device."""
        if "sending" in self._timers:
            self.air.end(self)
        self.forget_timers()
        self._pending = None
        self._forget()
        if self.extended:
            self._say(Sub.STARTED, b"\x00")
        else:
            self.write(b"ets Jul 29 2019 12:21:46\r\n\r\nrst:0x1 (POWERON_RESET)\r\n")

    def receive(self, data: bytes, now_us: int) -> None:
        """See Device."""
        for frame in self._reader.feed(data):
            if isinstance(frame, Noise):
                continue
            message = parse_message(frame)
            match message:
                case Data(packet):
                    self._take_packet(packet, now_us)
                case Setting(command, value):
                    self._settings[command] = value
                case Hardware(sub, body):
                    self.requests.append(sub)
                    self._obey(sub, body)

    def _take_packet(self, packet: bytes, now_us: int) -> None:
        if self._pending is not None:
            self._say(Sub.ERROR, bytes([ErrorCode.TX_BUSY]))
            return
        self._pending = packet
        self.set_timer("decide", now_us)

    def ring(self, timer: str, now_us: int) -> None:
        """See Device."""
        assert self._pending is not None
        if timer == "sending":
            self._finish(TxResult.SENT)
            self.air.end(self)
        elif timer == "delay" or self._settings[Command.FULL_DUPLEX]:
            self._send(now_us)
        elif self.air.is_busy(self):
            self.set_timer("decide", now_us + self._settings[Command.SLOT_TIME] * 10_000)
        else:
            self.set_timer("delay", now_us + self._settings[Command.TX_DELAY] * 10_000)

    def _send(self, now_us: int) -> None:
        assert self._pending is not None
        if self.cad_tries and self.air.is_busy(self):
            self._finish(TxResult.BUSY)
            return
        self.set_timer("sending", self.air.begin(self, self._pending, now_us))

    def _finish(self, result: TxResult) -> None:
        self._pending = None
        self._say(Sub.TX_DONE, bytes([result]))

    def heard(self, frame: bytes) -> None:
        """See Device."""
        self._write(Data(frame))
        if self._report:
            self._say(Sub.RX_META, serialize_rx_meta(RxMeta(snr_db=SNR_DB, rssi_dbm=RSSI_DBM)))

    def _obey(self, sub: int, data: bytes) -> None:
        handled = self._obey_meshcore(sub, data) or (self.extended and self._obey_extension(sub, data))
        if not handled:
            self._say(Sub.ERROR, bytes([ErrorCode.UNKNOWN_COMMAND]))

    def _obey_meshcore(self, sub: int, data: bytes) -> bool:
        assert self.lora is not None
        match sub:
            case Sub.PING:
                self._say(Sub.PONG)
            case Sub.GET_VERSION:
                self._say(Sub.VERSION, b"\x02\x00")
            case Sub.SET_RADIO:
                self._set_radio(data)
            case Sub.GET_RADIO:
                self._say(
                    Sub.RADIO,
                    self.lora.frequency_hz.to_bytes(4, "little")
                    + self.lora.bandwidth_hz.to_bytes(4, "little")
                    + bytes([self.lora.spreading_factor, self.lora.coding_rate]),
                )
            case Sub.SET_POWER if data:
                self.power_dbm = int.from_bytes(data[:1], signed=True)
                self._say(Sub.OK)
            case Sub.SET_SIGNAL_REPORT if data:
                self._report = data[0] != 0
                self._say(Sub.SIGNAL_REPORT, bytes([self._report]))
            case _:
                return False
        return True

    def _set_radio(self, data: bytes) -> None:
        radio = parse_radio(data)
        assert self.lora is not None
        if radio is None:
            self._say(Sub.ERROR, bytes([ErrorCode.INVALID_LENGTH]))
            return
        try:
            changed = replace(
                self.lora,
                frequency_hz=radio.frequency_hz,
                bandwidth_hz=radio.bandwidth_hz,
                spreading_factor=radio.spreading_factor,
                coding_rate=radio.coding_rate,
            )
        except ValueError:
            self._say(Sub.ERROR, bytes([ErrorCode.INVALID_PARAM]))
            return
        self.lora = changed if self.extended else meshcore_settings(changed)
        self._say(Sub.OK)

    def _obey_extension(self, sub: int, data: bytes) -> bool:
        assert self.lora is not None
        match sub:
            case Sub.SET_PHY if (phy := parse_phy(data)) is not None:
                self.lora = replace(
                    self.lora,
                    sync_word=phy.sync_word,
                    crc=phy.crc,
                    preamble_symbols=phy.preamble_symbols,
                )
                self._low_data_rate = phy.low_data_rate
                self._say(Sub.PHY, serialize_phy(phy))
            case Sub.GET_PHY:
                self._say(
                    Sub.PHY,
                    bytes([self.lora.sync_word, self.lora.crc])
                    + self.lora.preamble_symbols.to_bytes(2, "little")
                    + bytes([self._low_data_rate]),
                )
            case Sub.GET_BRIDGE:
                self._say(Sub.BRIDGE, bytes([limits.KISS_EXTENSION, 16]) + self.name.encode())
            case Sub.SET_DUTY if len(data) == 2:
                self.duty_permille = int.from_bytes(data, "little")
                self._say(Sub.DUTY, data + bytes(4))
            case Sub.SET_CAD if data:
                self.cad_tries = data[0]
                self._say(Sub.CAD, data[:1])
            case _:
                return False
        return True

    def _say(self, sub: Sub, data: bytes = b"") -> None:
        self._write(Hardware(sub, data))

    def _write(self, message: Message) -> None:
        self.write(serialize_frame(serialize_message(message)))
