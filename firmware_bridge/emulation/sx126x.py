"""An SX1262 behind its SPI bus: commands, BUSY, buffer, flags and the line DIO1. Pure.

Data sheet: DS.SX1261-2.W.APP, Rev. 2.2, December 2024. A command while BUSY is high is lost, as on the real chip, and
kept in ``violations``.
"""

from collections.abc import Callable
from typing import Final

from firmware_bridge.chips import sx126x as chip
from firmware_bridge.chips.modem import Modem
from firmware_bridge.emulation.chip import EmulatedChip
from firmware_bridge.emulation.ether import Antenna, Ether, Heard, Signal

BUFFER_SIZE: Final = 256
"""Bytes of the data buffer (data sheet 7)."""
START_US: Final = 3_500
"""From the end of a reset, or from sleep without settings, until BUSY falls (data sheet table 8-4)."""
WAKE_US: Final = 340
"""From sleep with settings kept until BUSY falls (data sheet table 8-4)."""
CALIBRATE_US: Final = 3_500
"""Calibration of all blocks (data sheet 9.2.1)."""
COMMAND_US: Final = 10
"""Other commands keep BUSY high for less than this (data sheet table 8-4: 0.6 to 126 us)."""
MODE_US: Final = 105
"""From STDBY_RC to sending or receiving (data sheet table 8-4)."""
VERSION_TEXT: Final = b"SX1261 V2D 2D02\0"
"""What the chip calls itself; SX1262 and SX1268 do as well."""
_RESET: Final = {
    chip.REG_IQ_POLARITY: 0x0D,
    chip.REG_TX_MODULATION: 0x01,
    chip.REG_TX_CLAMP: 0xC8,
    chip.REG_OCP: 0x18,
}
"""Registers after a reset that drivers change in part (data sheet table 12-1)."""

SLEEP: Final = 0
STANDBY: Final = 2
RECEIVING: Final = 5
SENDING: Final = 6
"""Modes as the status byte tells them (data sheet table 13-76). Activity detection is told as receiving."""
FAILED: Final = 5
"""The status of a command that could not be carried out (data sheet table 13-76)."""
_BANDWIDTHS_HZ: Final = {
    0x00: 7_800, 0x08: 10_400, 0x01: 15_600, 0x09: 20_800, 0x02: 31_250, 0x0A: 41_700, 0x03: 62_500, 0x04: 125_000,
    0x05: 250_000, 0x06: 500_000,
}  # fmt: skip
_TCXO_MV: Final = (1_600, 1_700, 1_800, 2_200, 2_400, 2_700, 3_000, 3_300)


class EmulatedSx126x(EmulatedChip):
    """One chip, on a module with a TCXO at DIO3 (*tcxo_mv*) or with a crystal (0)."""

    START_US = START_US

    def __init__(self, ether: Ether, name: str, *, tcxo_mv: int = 0, low_power: bool = False) -> None:
        super().__init__(ether, ("dio1", "dio2"))
        self.antenna = Antenna(name, self)
        self.low_power = low_power
        """A SX1261."""
        self._tcxo_needed_mv = tcxo_mv
        self._handlers = self._make_handlers()
        ether.join(self.antenna)
        self._restart()

    # --- the pins

    def busy(self) -> bool:
        """The BUSY line."""
        self._timeline.catch_up()
        return self.hung or self._held or self.mode == SLEEP or self._timeline.now_us() < self._busy_until_us

    def transfer(self, data: bytes) -> bytes:
        """One transfer with the chip selected."""
        self._timeline.catch_up()
        if self.mode == SLEEP and not (self.hung or self._held):
            self._wake()
            return bytes(len(data))
        if self.busy():
            self.violations.append(f"command 0x{data[0]:02X} while busy" if data else "a transfer while busy")
            return bytes(len(data))
        if not data:
            return b""
        self._busy_until_us = self._timeline.now_us() + COMMAND_US
        status = self.mode << 4 | self._outcome << 1
        handler = self._handlers.get(data[0])
        if handler is None:
            self.violations.append(f"unknown command 0x{data[0]:02X}")
            return bytes([status]) * len(data)
        answer = handler(data[1:])
        self._update_lines()
        # Status first, and again up to where the answer begins.
        return (
            (bytes([status]) * (len(data) - len(answer)) + answer) if answer else bytes([status]) * len(data)
        )

    @property
    def sending(self) -> bool:
        """Whether its transmitter is on."""
        return self.mode == SENDING

    @property
    def turns_switch(self) -> bool:
        """Whether it turns an antenna switch by itself."""
        return self._dio2_switch

    # --- state

    def _restart(self) -> None:
        self._era += 1
        self.registers: dict[int, int] = {**_RESET, **chip.RESET_VALUES}
        for offset, byte in enumerate(VERSION_TEXT):
            self.registers[chip.REG_VERSION_TEXT + offset] = byte
        self.mode = STANDBY
        self.regulator = b"\x00"
        self.image_calibrated: bytes | None = None
        self.pa_config = b"\x01\x00\x01\x01"
        self._power_dbm = 0
        self._outcome = 0
        self._tcxo_mv = 0
        self._errors = chip.ERROR_CLOCK if self._tcxo_needed_mv else 0
        self._lora = False
        self._frequency_hz = 0
        self._modulation = b"\x07\x04\x01\x00"
        self._packet = b"\x00\x08\x00\xff\x00\x00"
        self._cad = b"\x01\x16\x0a\x00\x00\x00\x00"
        self._bases = (0, 0)
        self._buffer = bytearray(BUFFER_SIZE)
        self._received = (0, 0)
        self._packet_status = bytes(3)
        self._flags = self._wanted = self._on_dio1 = 0
        self._dio2_switch = False
        self._ether.listen(self.antenna, None)

    def _wake(self) -> None:
        self.mode = STANDBY
        self._busy_until_us = self._timeline.now_us() + WAKE_US

    def modem(self) -> Modem:
        """What it was told, as settings. The sync word is as SX127x count it."""
        msb, lsb = self.registers[chip.REG_SYNC_WORD], self.registers[chip.REG_SYNC_WORD + 1]
        return Modem(
            frequency_hz=self._frequency_hz,
            bandwidth_hz=_BANDWIDTHS_HZ.get(self._modulation[1], 125_000),
            spreading_factor=min(max(self._modulation[0], 5), 12),
            coding_rate=4 + min(max(self._modulation[2], 1), 4),
            preamble_symbols=int.from_bytes(self._packet[:2], "big"),
            sync_word=msb & 0xF0 | lsb >> 4,
            crc=bool(self._packet[4]),
            explicit_header=not self._packet[2],
            payload_length=self._packet[3],
            inverted_iq=bool(self._packet[5]),
            low_data_rate=bool(self._modulation[3]),
        )

    def power_dbm(self) -> float:
        """What leaves the chip: the full power that was asked for only with the PA set up for it (13.1.14)."""
        full = self.pa_config[:2] == (b"\x04\x00" if self.low_power else b"\x04\x07")
        return self._power_dbm if full else self._power_dbm - 8

    # --- commands

    def _make_handlers(self) -> dict[int, Callable[[bytes], bytes]]:
        """What each command does with its parameters, and its answer."""
        return {
            chip.CMD_CLEAR_IRQ: self._do_clear_irq,
            chip.CMD_CLEAR_DEVICE_ERRORS: self._do_clear_errors,
            chip.CMD_SET_DIO_IRQ: self._do_dio_irq,
            chip.CMD_WRITE_REGISTER: self._do_write_register,
            chip.CMD_WRITE_BUFFER: self._do_write_buffer,
            chip.CMD_GET_IRQ: lambda _: self._flags.to_bytes(2, "big"),
            chip.CMD_GET_RX_BUFFER: lambda _: bytes(self._received),
            chip.CMD_GET_PACKET_STATUS: lambda _: self._packet_status,
            chip.CMD_GET_RSSI: lambda _: bytes([self._rssi()]),
            chip.CMD_GET_DEVICE_ERRORS: lambda _: self._errors.to_bytes(2, "big"),
            chip.CMD_READ_REGISTER: self._do_read_register,
            chip.CMD_READ_BUFFER: self._do_read_buffer,
            chip.CMD_SET_STANDBY: lambda _: self._enter(STANDBY),
            chip.CMD_SET_RX: self._do_receive,
            chip.CMD_SET_TX: self._do_send,
            chip.CMD_SET_SLEEP: lambda _: self._enter(SLEEP),
            chip.CMD_SET_FREQUENCY: self._do_frequency,
            chip.CMD_SET_CAD_PARAMS: self._do_keep("_cad"),
            chip.CMD_CALIBRATE: self._do_calibrate,
            chip.CMD_SET_PACKET_TYPE: self._do_packet_type,
            chip.CMD_SET_MODULATION: self._do_keep("_modulation"),
            chip.CMD_SET_PACKET: self._do_keep("_packet"),
            chip.CMD_SET_TX_PARAMS: self._do_power,
            chip.CMD_SET_BUFFER_BASE: self._do_bases,
            chip.CMD_SET_FALLBACK: lambda _: b"",
            chip.CMD_SET_PA_CONFIG: self._do_pa_config,
            chip.CMD_SET_REGULATOR: self._do_keep("regulator"),
            chip.CMD_SET_DIO3_TCXO: self._do_tcxo,
            chip.CMD_CALIBRATE_IMAGE: self._do_calibrate_image,
            chip.CMD_SET_DIO2_SWITCH: self._do_dio2,
            chip.CMD_GET_STATUS: lambda _: b"",
            chip.CMD_SET_CAD: self._do_cad,
        }

    def _do_keep(self, name: str) -> Callable[[bytes], bytes]:
        def keep(parameters: bytes) -> bytes:
            setattr(self, name, parameters)
            return b""

        return keep

    def _do_clear_irq(self, parameters: bytes) -> bytes:
        self._flags &= ~int.from_bytes(parameters, "big")
        return b""

    def _do_clear_errors(self, _: bytes) -> bytes:
        self._errors = 0
        return b""

    def _do_dio_irq(self, parameters: bytes) -> bytes:
        self._wanted = int.from_bytes(parameters[:2], "big")
        self._on_dio1 = int.from_bytes(parameters[2:4], "big")
        return b""

    def _do_write_register(self, parameters: bytes) -> bytes:
        address = int.from_bytes(parameters[:2], "big")
        for offset, value in enumerate(parameters[2:]):
            self.registers[address + offset] = value
        return b""

    def _do_read_register(self, parameters: bytes) -> bytes:
        address = int.from_bytes(parameters[:2], "big")
        return bytes(self.registers.get(address + offset, 0) for offset in range(len(parameters) - 3))

    def _do_write_buffer(self, parameters: bytes) -> bytes:
        for offset, value in enumerate(parameters[1:]):
            self._buffer[(parameters[0] + offset) % BUFFER_SIZE] = value
        return b""

    def _do_read_buffer(self, parameters: bytes) -> bytes:
        return bytes(
            self._buffer[(parameters[0] + offset) % BUFFER_SIZE] for offset in range(len(parameters) - 2)
        )

    def _do_frequency(self, parameters: bytes) -> bytes:
        self._frequency_hz = int.from_bytes(parameters, "big") * chip.CRYSTAL_HZ >> 25
        return b""

    def _do_calibrate(self, _: bytes) -> bytes:
        self._busy_until_us += CALIBRATE_US
        if not self._clock_runs():
            self._errors |= chip.ERROR_CLOCK
        return b""

    def _do_calibrate_image(self, parameters: bytes) -> bytes:
        self._busy_until_us += CALIBRATE_US
        self.image_calibrated = parameters
        return b""

    def _do_packet_type(self, parameters: bytes) -> bytes:
        self._lora = parameters == bytes([chip.PACKET_LORA])
        return b""

    def _do_power(self, parameters: bytes) -> bytes:
        self._power_dbm = parameters[0] - 256 if parameters[0] > 127 else parameters[0]
        return b""

    def _do_bases(self, parameters: bytes) -> bytes:
        self._bases = (parameters[0], parameters[1])
        return b""

    def _do_pa_config(self, parameters: bytes) -> bytes:
        self.pa_config = parameters
        # The limit of the current is set anew with it (13.1.14).
        self.registers[chip.REG_OCP] = chip.OCP_SX1261 if parameters[2] else chip.OCP_SX1262
        return b""

    def _do_tcxo(self, parameters: bytes) -> bytes:
        self._tcxo_mv = _TCXO_MV[parameters[0] & 7]
        return b""

    def _do_dio2(self, parameters: bytes) -> bytes:
        self._dio2_switch = bool(parameters[0])
        return b""

    # --- modes

    def _clock_runs(self) -> bool:
        return self._tcxo_mv == self._tcxo_needed_mv or (not self._tcxo_needed_mv)

    def _enter(self, mode: int) -> bytes:
        self._era += 1
        self.mode = mode
        self._outcome = 0
        self._ether.listen(self.antenna, None)
        return b""

    def _start(self, mode: int) -> bool:
        """Enter a mode that needs the clock. False: there is none, and the command fails."""
        if not self._lora:
            self.violations.append("sent or received without a packet type")
        if not self._lora or not self._clock_runs():
            self._errors |= chip.ERROR_CLOCK
            self._enter(STANDBY)
            self._outcome = FAILED
            return False
        self._enter(mode)
        self._busy_until_us += MODE_US
        return True

    def _do_receive(self, parameters: bytes) -> bytes:
        if parameters != chip.RX_CONTINUOUS:
            self.violations.append("only continuous reception is emulated")
        if self._start(RECEIVING):
            self._later(MODE_US, lambda: self._ether.listen(self.antenna, self.modem()))
        return b""

    def _do_send(self, _: bytes) -> bytes:
        if self._start(SENDING):
            self._later(MODE_US, self._send)
        return b""

    def _send(self) -> None:
        payload = bytes(
            self._buffer[(self._bases[0] + offset) % BUFFER_SIZE] for offset in range(self._packet[3])
        )
        signal = Signal(
            modem=self.modem(),
            payload=payload,
            power_dbm=self.power_dbm() + self.antenna.gain_db(),
            start_us=self._timeline.now_us(),
        )
        self._ether.transmit(self.antenna, signal)
        self._later(signal.end_us - signal.start_us, self._sent)

    def _sent(self) -> None:
        self._enter(STANDBY)
        self._raise_flag(chip.IRQ_TX_DONE)

    def _do_cad(self, _: bytes) -> bytes:
        """Listens for 2**cadSymbolNum symbols and computes for half of one (13.4.7, AN1200.48)."""
        if not self._start(RECEIVING):
            return b""
        modem = self.modem()
        since_us = self._timeline.now_us()

        def done() -> None:
            found = self._ether.activity(self.antenna, modem, since_us, in_data=True)
            self._enter(STANDBY)
            self._raise_flag(chip.IRQ_CAD_DONE | (chip.IRQ_CAD_DETECTED if found else 0))

        self._later(MODE_US + modem.symbols_us(4 * (1 << self._cad[0]) + 2), done)
        return b""

    # --- what the receiver finds

    def preamble_found(self) -> None:
        """See Listener."""
        self._tell(chip.IRQ_PREAMBLE)

    def sync_found(self) -> None:
        """See Listener. The flag for it exists in the other modem only (data sheet table 13-29)."""

    def header_found(self, *, valid: bool) -> None:
        """See Listener."""
        self._tell(chip.IRQ_HEADER_VALID if valid else chip.IRQ_HEADER_ERROR)

    def signal_lost(self) -> None:
        """See Listener. Flags stay."""

    def frame_found(self, heard: Heard) -> None:
        """See Listener."""
        start = self._bases[1]
        for offset, byte in enumerate(heard.payload):
            self._buffer[(start + offset) % BUFFER_SIZE] = byte
        self._received = (len(heard.payload), start)
        # RssiPkt sees the noise as well; SignalRssiPkt does not (13.5.3).
        floor_dbm = heard.rssi_dbm - min(heard.snr_db, 0)
        self._packet_status = bytes(
            [_half_db(floor_dbm), round(heard.snr_db * 4) & 0xFF, _half_db(heard.rssi_dbm)]
        )
        failed = heard.crc and not heard.intact
        self._tell(chip.IRQ_RX_DONE | (chip.IRQ_CRC_ERROR if failed else 0))

    def _rssi(self) -> int:
        return 0xFF if self.antenna.tuning is None else _half_db(self._ether.power_dbm(self.antenna))

    # --- flags and lines

    def _tell(self, flags: int) -> None:
        self._raise_flag(flags)
        self._update_lines()

    def _raise_flag(self, flags: int) -> None:
        self._flags |= flags & self._wanted

    def _states(self) -> dict[str, bool]:
        """DIO1 by the flags, DIO2 high while sending (data sheet 13.3.1, 13.3.2)."""
        return {
            "dio1": bool(self._flags & self._on_dio1),
            "dio2": self._dio2_switch and self.mode == SENDING,
        }


def _half_db(dbm: float) -> int:
    return min(max(round(-2 * dbm), 0), 255)
