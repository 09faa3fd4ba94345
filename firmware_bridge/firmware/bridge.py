"""The KISS modem: bytes and time in, bytes out. Runs in MicroPython.

Source: docs/formats/kiss.md. The modem answers or ignores each message of the host; none raises an error.
"""

import struct

from firmware_bridge.chips.errors import ChipError, ModemError
from firmware_bridge.chips.modem import PAYLOAD_MAX, Modem
from firmware_bridge.firmware import kiss, limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from firmware_bridge.firmware.radio import Transceiver

_RADIO = "<IIBB"
_PHY = "<BBHB"


class Bridge:
    """One modem. The caller gives bytes to ``receive`` and time to ``step``, and writes the bytes from ``take``."""

    def __init__(
        self, radio: "Transceiver", name: str, power_max_dbm: int, started_by_watchdog: bool
    ) -> None:
        """*name*: firmware and board, for people. *power_max_dbm*: the board's greatest power."""
        self.leaving = False
        """True if the host requested MicroPython's prompt."""
        self._radio = radio
        self._name = name
        self._power_max_dbm = power_max_dbm
        self._reader = kiss.KissReader()
        self._report = True
        self._settings: tuple[int, int, int, int] | None = None
        self._phy = (limits.SYNC_WORD_START, 0, limits.PREAMBLE_START, 0)
        self._power_dbm = limits.POWER_START_DBM
        self._out = b""
        # With the length of the data; None: any.
        self._requests = {
            kiss.SET_RADIO: (self._set_radio, struct.calcsize(_RADIO)),
            kiss.SET_POWER: (self._set_power, 1),
            kiss.GET_RADIO: (self._get_radio, None),
            kiss.GET_VERSION: (self._get_version, None),
            kiss.PING: (self._ping, None),
            kiss.SET_SIGNAL_REPORT: (self._set_signal_report, 1),
            kiss.SET_PHY: (self._set_phy, struct.calcsize(_PHY)),
            kiss.GET_PHY: (self._get_phy, None),
            kiss.GET_BRIDGE: (self._get_bridge, None),
            kiss.SET_DUTY: (self._set_duty, 2),
            kiss.GET_DUTY: (self._get_duty, None),
            kiss.SET_CAD: (self._set_cad, 1),
        }
        self._say(kiss.STARTED, bytes([1 if started_by_watchdog else 0]))

    # --- input and output

    @property
    def ready(self) -> bool:
        """True if more can be read from the host: the host has read most of the answers so far."""
        return len(self._out) < limits.OUT_MAX

    def receive(self, data: bytes, now_us: int) -> None:
        """Handle *data* from the host."""
        for frame in self._reader.feed(data):
            self._take_frame(frame, now_us)

    def step(self, now_us: int) -> None:
        """Do the work that is due at *now_us*."""
        self._radio.step(now_us)
        result = self._radio.take_result()
        if result is not None:
            self._say(kiss.TX_DONE, bytes([result]))

    def take(self, most: int) -> bytes:
        """Return up to *most* bytes for the host. Received packets come after all answers."""
        if not self._out and self._radio.heard:
            heard = self._radio.heard.popleft()
            self._out = kiss.frame(b"\x00" + heard.payload)
            if self._report:
                snr, rssi = round(heard.snr_db * 4), heard.rssi_dbm
                self._say(kiss.RX_META, bytes([kiss.meta_byte(snr), kiss.meta_byte(rssi)]))
        data, self._out = self._out[:most], self._out[most:]
        return data

    def _say(self, sub: int, data: bytes = b"") -> None:
        self._out += kiss.frame(bytes([kiss.HARDWARE, sub]) + data)

    def _refuse(self, code: int) -> None:
        self._say(kiss.ERROR, bytes([code]))

    def _take_frame(self, frame: bytes, now_us: int) -> None:
        command, data = frame[0], frame[1:]
        if command == kiss.HARDWARE and data:
            request, length = self._requests.get(data[0], (None, None))
            if request is None:
                self._refuse(kiss.UNKNOWN_COMMAND)
            elif length is not None and len(data) != 1 + length:
                self._refuse(kiss.INVALID_LENGTH)
            else:
                request(data[1:], now_us)
        elif command == kiss.DATA and 1 <= len(data) <= PAYLOAD_MAX:
            self._take_packet(data, now_us)
        elif command == kiss.RETURN and not data:
            self.leaving = True
        elif len(data) == 1:
            self._take_setting(command, data[0])

    def _take_packet(self, packet: bytes, now_us: int) -> None:
        if self._radio.sending:
            self._refuse(kiss.TX_BUSY)
        else:
            self._radio.send(packet, now_us)

    def _take_setting(self, command: int, value: int) -> None:
        if command == kiss.TX_DELAY:
            self._radio.tx_delay_us = value * limits.TICK_US
        elif command == kiss.PERSISTENCE:
            self._radio.persistence = value
        elif command == kiss.SLOT_TIME:
            self._radio.slot_us = value * limits.TICK_US
        elif command == kiss.FULL_DUPLEX:
            self._radio.full_duplex = value != 0

    # --- settings of the radio

    def _set_radio(self, data: bytes, now_us: int) -> None:
        frequency_hz, bandwidth_hz, spreading_factor, coding_rate = struct.unpack(_RADIO, data)
        settings = (frequency_hz, bandwidth_hz, spreading_factor, coding_rate)
        if self._tune(settings, self._phy, self._power_dbm, now_us):
            self._settings = settings
            self._say(kiss.OK)

    def _set_power(self, data: bytes, now_us: int) -> None:
        power_dbm = struct.unpack("<b", data)[0]
        if power_dbm > self._power_max_dbm:
            self._refuse(kiss.INVALID_PARAM)
        elif self._tune(self._settings, self._phy, power_dbm, now_us):
            self._power_dbm = power_dbm
            self._say(kiss.OK)

    def _set_phy(self, data: bytes, now_us: int) -> None:
        sync_word, crc, preamble_symbols, low_data_rate = struct.unpack(_PHY, data)
        phy = (sync_word, crc, preamble_symbols, low_data_rate)
        if crc > 1 or low_data_rate > 1 or preamble_symbols < limits.PREAMBLE_MIN:
            self._refuse(kiss.INVALID_PARAM)
        elif self._tune(self._settings, phy, self._power_dbm, now_us):
            self._phy = phy
            self._get_phy(b"", now_us)

    def _tune(
        self,
        settings: "tuple[int, int, int, int] | None",
        phy: "tuple[int, int, int, int]",
        power_dbm: int,
        now_us: int,
    ) -> bool:
        """Configure the radio, if all settings are known; or refuse, and keep the old settings."""
        if self._radio.sending:
            self._refuse(kiss.TX_BUSY)
            return False
        if settings is None:
            return True
        modem = Modem(
            frequency_hz=settings[0],
            bandwidth_hz=settings[1],
            spreading_factor=settings[2],
            coding_rate=settings[3],
            sync_word=phy[0],
            crc=bool(phy[1]),
            preamble_symbols=phy[2],
            low_data_rate=bool(phy[3]),
        )
        try:
            self._radio.configure(modem, power_dbm, now_us)
        except ModemError:
            self._refuse(kiss.INVALID_PARAM)
            return False
        except ChipError:
            self._refuse(kiss.NO_RADIO)
            return False
        return True

    def _get_radio(self, _data: bytes, _now_us: int) -> None:
        if self._settings is None:
            self._refuse(kiss.NOT_AVAILABLE)
        else:
            self._say(kiss.RADIO, struct.pack(_RADIO, *self._settings))

    def _get_phy(self, _data: bytes, _now_us: int) -> None:
        self._say(kiss.PHY, struct.pack(_PHY, *self._phy))

    # --- everything else

    def _ping(self, _data: bytes, _now_us: int) -> None:
        self._say(kiss.PONG)

    def _get_version(self, _data: bytes, _now_us: int) -> None:
        self._say(kiss.VERSION, bytes([limits.MESHCORE_VERSION, 0]))

    def _get_bridge(self, _data: bytes, _now_us: int) -> None:
        trouble = f", radio unusable: {self._radio.fault}" if self._radio.fault else ""
        self._say(kiss.BRIDGE, bytes([limits.EXTENSION, limits.RING_SLOTS]) + (self._name + trouble).encode())

    def _set_signal_report(self, data: bytes, _now_us: int) -> None:
        self._report = data[0] != 0
        self._say(kiss.SIGNAL_REPORT, bytes([1 if self._report else 0]))

    def _set_duty(self, data: bytes, now_us: int) -> None:
        permille = struct.unpack("<H", data)[0]
        if permille > limits.PERMILLE:
            self._refuse(kiss.INVALID_PARAM)
            return
        self._radio.duty_permille = permille
        self._get_duty(b"", now_us)

    def _get_duty(self, _data: bytes, now_us: int) -> None:
        # Rounded up: never less than the real use.
        used_ms = -(-self._radio.duty_cycle.used_us(now_us) // 1_000)
        self._say(kiss.DUTY, struct.pack("<HI", self._radio.duty_permille, used_ms))

    def _set_cad(self, data: bytes, _now_us: int) -> None:
        if data[0] > limits.CAD_MAX:
            self._refuse(kiss.INVALID_PARAM)
        else:
            self._radio.cad_tries = data[0]
            self._say(kiss.CAD, data)
