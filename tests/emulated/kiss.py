"""An emulated KISS modem: MeshCore's firmware, or our bridge firmware with its extension. Pure.

Written after MeshCore's examples/kiss_modem, and docs/formats/kiss.md for the extension.
"""

from dataclasses import asdict, replace

from firmware_bridge.firmware import kiss
from firmware_bridge.firmware.limits import EXTENSION
from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial.framing import KissFrameReader, serialize_frame
from firmware_bridge.serial.kiss import (
    Data,
    HardwareCommand,
    KissMessage,
    Setting,
    meshcore_settings,
    parse_message,
    serialize_message,
)
from firmware_bridge.serial.session import Noise
from tests.emulated.kiss_wire import (
    RxMeta,
    parse_phy,
    parse_radio,
    phy_of,
    radio_of,
    serialize_phy,
    serialize_radio,
    serialize_rx_meta,
)
from tests.emulated.serial_air import RSSI_DBM, SNR_DB, Air, Device

FACTORY = meshcore_settings(
    LoraSettings(frequency_hz=869_618_000, bandwidth_hz=62_500, spreading_factor=8, coding_rate=8)
)
"""Default settings of MeshCore's builds for Europe."""


class KissModem(Device):
    """One emulated modem."""

    def __init__(self, air: Air, *, extended: bool = True, name: str = "bridge on an emulated board") -> None:
        """*extended*: our firmware instead of MeshCore's."""
        super().__init__(air)
        self.extended = extended
        self.name = name
        self.power_dbm = 0
        self.duty_permille = 0
        self.requests: list[int] = []
        """Sub-commands in the order of arrival."""
        self._pending: bytes | None = None
        self.low_data_rate = False
        """Low data rate optimisation, as the host set it."""
        self._forget()

    def _forget(self) -> None:
        self.lora = FACTORY
        self.power_dbm = 22
        self.cad_tries = 0
        self.settings: dict[int, int] = {
            kiss.TX_DELAY: 50,
            kiss.PERSISTENCE: 63,
            kiss.SLOT_TIME: 10,
            kiss.FULL_DUPLEX: 0,
        }
        self._reader = KissFrameReader()
        self._report = True

    def boot(self) -> None:
        """See Device."""
        super().boot()
        self._pending = None
        self._forget()
        if self.extended:
            self._say(kiss.STARTED, b"\x00")
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
                    self.settings[command] = value
                case HardwareCommand(sub, body):
                    self.requests.append(sub)
                    self._handle(sub, body)

    def _take_packet(self, packet: bytes, now_us: int) -> None:
        if self._pending is not None:
            self._say(kiss.ERROR, bytes([kiss.TX_BUSY]))
            return
        self._pending = packet
        self.set_timer("decide", now_us)

    def ring(self, timer: str, now_us: int) -> None:
        """See Device."""
        assert self._pending is not None
        if timer == "sending":
            self._finish(kiss.SENT)
            self.air.end(self)
        elif timer == "delay" or self.settings[kiss.FULL_DUPLEX]:
            self._send(now_us)
        elif self.air.is_busy(self):
            self.set_timer("decide", now_us + self.settings[kiss.SLOT_TIME] * 10_000)
        else:
            self.set_timer("delay", now_us + self.settings[kiss.TX_DELAY] * 10_000)

    def _send(self, now_us: int) -> None:
        assert self._pending is not None
        if self.cad_tries and self.air.is_busy(self):
            self._finish(kiss.BUSY)
            return
        self.set_timer("sending", self.air.begin(self, self._pending, now_us))

    def _finish(self, result: int) -> None:
        self._pending = None
        self._say(kiss.TX_DONE, bytes([result]))

    def heard(self, frame: bytes) -> None:
        """See Device."""
        self._write(Data(frame))
        if self._report:
            self._say(kiss.RX_META, serialize_rx_meta(RxMeta(snr_db=SNR_DB, rssi_dbm=RSSI_DBM)))

    def _handle(self, sub: int, data: bytes) -> None:
        handled = self._handle_meshcore(sub, data) or (self.extended and self._handle_extension(sub, data))
        if not handled:
            self._say(kiss.ERROR, bytes([kiss.UNKNOWN_COMMAND]))

    def _handle_meshcore(self, sub: int, data: bytes) -> bool:
        assert self.lora is not None
        match sub:
            case kiss.PING:
                self._say(kiss.PONG)
            case kiss.GET_VERSION:
                self._say(kiss.VERSION, b"\x02\x00")
            case kiss.SET_RADIO:
                self._set_radio(data)
            case kiss.GET_RADIO:
                self._say(kiss.RADIO, serialize_radio(radio_of(self.lora)))
            case kiss.SET_POWER if data:
                self.power_dbm = int.from_bytes(data[:1], signed=True)
                self._say(kiss.OK)
            case kiss.SET_SIGNAL_REPORT if data:
                self._report = data[0] != 0
                self._say(kiss.SIGNAL_REPORT, bytes([self._report]))
            case _:
                return False
        return True

    def _set_radio(self, data: bytes) -> None:
        radio = parse_radio(data)
        assert self.lora is not None
        if radio is None:
            self._say(kiss.ERROR, bytes([kiss.INVALID_LENGTH]))
            return
        try:
            changed = replace(self.lora, **asdict(radio))
        except ValueError:
            self._say(kiss.ERROR, bytes([kiss.INVALID_PARAM]))
            return
        self.lora = changed if self.extended else meshcore_settings(changed)
        self._say(kiss.OK)

    def _handle_extension(self, sub: int, data: bytes) -> bool:
        assert self.lora is not None
        match sub:
            case kiss.SET_PHY if (phy := parse_phy(data)) is not None:
                self.lora = replace(
                    self.lora,
                    sync_word=phy.sync_word,
                    crc=phy.crc,
                    preamble_symbols=phy.preamble_symbols,
                )
                self.low_data_rate = phy.low_data_rate
                self._say(kiss.PHY, serialize_phy(phy))
            case kiss.GET_PHY:
                phy = replace(phy_of(self.lora), low_data_rate=self.low_data_rate)
                self._say(kiss.PHY, serialize_phy(phy))
            case kiss.GET_BRIDGE:
                self._say(kiss.BRIDGE, bytes([EXTENSION, 16]) + self.name.encode())
            case kiss.SET_DUTY if len(data) == 2:
                self.duty_permille = int.from_bytes(data, "little")
                self._say(kiss.DUTY, data + bytes(4))
            case kiss.SET_CAD if data:
                self.cad_tries = data[0]
                self._say(kiss.CAD, data[:1])
            case _:
                return False
        return True

    def _say(self, sub: int, data: bytes = b"") -> None:
        self._write(HardwareCommand(sub, data))

    def _write(self, message: KissMessage) -> None:
        self.write(serialize_frame(serialize_message(message)))
