"""An emulated SX1262 behind its SPI bus: commands, BUSY, buffer, flags and the line DIO1. Pure.

Data sheet: DS.SX1261-2.W.APP, Rev. 2.2, December 2024. A command while BUSY is high is lost, as on the real chip, and
recorded in ``violations``.
"""

from collections.abc import Callable
from typing import Final

from firmware_bridge.chips import sx126x as chip
from firmware_bridge.chips.modem import BANDWIDTHS_HZ, Modem, symbols_us
from firmware_bridge.emulation.chip import EmulatedChip
from firmware_bridge.emulation.ether import EmulatedAntenna, Ether, ReceivedSignal, Signal

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
_RESET: Final = {
    chip.REG_IQ_POLARITY: 0x0D,
    chip.REG_TX_MODULATION: 0x01,
    chip.REG_TX_CLAMP: 0xC8,
    chip.REG_OCP: 0x18,
}
"""Values after a reset of registers that drivers change in part (data sheet table 12-1)."""

SLEEP: Final = 0
STANDBY: Final = 2
RECEIVING: Final = 5
SENDING: Final = 6
"""Modes in the status byte (data sheet table 13-76). Channel activity detection counts as receiving."""
FAILED: Final = 5
"""The status of a failed command (data sheet table 13-76)."""
_BANDWIDTHS_HZ: Final = dict(zip(chip.BANDWIDTH_CODES, BANDWIDTHS_HZ, strict=True))


class EmulatedSx126x(EmulatedChip):
    """One emulated chip, on a module with a TCXO at DIO3 (*tcxo_mv*) or with a crystal (0)."""

    START_US = START_US

    def __init__(self, ether: Ether, name: str, *, tcxo_mv: int = 0, low_power: bool = False) -> None:
        super().__init__(ether, ("dio1", "dio2"))
        self.antenna = EmulatedAntenna(name, self)
        self.low_power = low_power
        """True if the chip is an SX1261."""
        self._tcxo_needed_mv = tcxo_mv
        self._handlers = self._make_handlers()
        ether.join(self.antenna)
        self._restart()

    # --- the pins

    def busy(self) -> bool:
        """Return the level of the BUSY line."""
        self._timeline.catch_up()
        return self.hung or self._held or self.mode == SLEEP or self._timeline.now_us() < self._busy_until_us

    def transfer(self, data: bytes) -> bytes:
        """Do one transfer with the chip selected."""
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
        answer = handler(data[1:]) or b""
        self._update_lines()
        # The status byte repeats until the answer begins.
        return bytes([status]) * (len(data) - len(answer)) + answer

    @property
    def sending(self) -> bool:
        """True if the transmitter is on."""
        return self.mode == SENDING

    @property
    def turns_switch(self) -> bool:
        """True if the chip itself controls an antenna switch."""
        return bool(self._dio2_switch[0])

    # --- state

    def _restart(self) -> None:
        self._era += 1
        self.registers: dict[int, int] = {**_RESET, **chip.RESET_VALUES}
        self.mode = STANDBY
        self.regulator = b"\x00"
        self.image_calibrated: bytes | None = None
        self.pa_config = b"\x01\x00\x01\x01"
        self._outcome = 0
        self._errors = chip.ERROR_CLOCK if self._tcxo_needed_mv else 0
        self._tx_params = self._packet_type = self._tcxo = b"\x00"
        self._frequency = bytes(4)
        self._modulation = b"\x07\x04\x01\x00"
        self._packet = b"\x00\x08\x00\xff\x00\x00"
        self._cad = b"\x01\x16\x0a\x00\x00\x00\x00"
        self._bases = bytes(2)
        self._buffer = bytearray(BUFFER_SIZE)
        self._received = (0, 0)
        self._packet_status = bytes(3)
        self._flags = self._wanted = self._on_dio1 = 0
        self._dio2_switch = b"\x00"
        self._ether.listen(self.antenna, None)

    def _wake(self) -> None:
        self.mode = STANDBY
        self._busy_until_us = self._timeline.now_us() + WAKE_US

    def modem(self) -> Modem:
        """Return the chip's settings. The sync word is in the form of SX127x."""
        msb, lsb = self.registers[chip.REG_SYNC_WORD], self.registers[chip.REG_SYNC_WORD + 1]
        return Modem(
            frequency_hz=int.from_bytes(self._frequency, "big") * chip.CRYSTAL_HZ >> 25,
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
        """Return the chip's power: the full one only if the amplifier is set up for it (13.1.14)."""
        full = self.pa_config[:2] == (b"\x04\x00" if self.low_power else b"\x04\x07")
        power_dbm = int.from_bytes(self._tx_params[:1], "big", signed=True)
        return power_dbm if full else power_dbm - 8

    # --- commands

    def _make_handlers(self) -> dict[int, Callable[[bytes], bytes | None]]:
        """Return the handler of each command: from parameters to answer, if there is one."""
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
            chip.CMD_SET_FREQUENCY: self._do_keep("_frequency"),
            chip.CMD_SET_CAD_PARAMS: self._do_keep("_cad"),
            chip.CMD_CALIBRATE: self._do_calibrate,
            chip.CMD_SET_PACKET_TYPE: self._do_keep("_packet_type"),
            chip.CMD_SET_MODULATION: self._do_keep("_modulation"),
            chip.CMD_SET_PACKET: self._do_keep("_packet"),
            chip.CMD_SET_TX_PARAMS: self._do_keep("_tx_params"),
            chip.CMD_SET_BUFFER_BASE: self._do_keep("_bases"),
            chip.CMD_SET_FALLBACK: lambda _: b"",
            chip.CMD_SET_PA_CONFIG: self._do_pa_config,
            chip.CMD_SET_REGULATOR: self._do_keep("regulator"),
            chip.CMD_SET_DIO3_TCXO: self._do_keep("_tcxo"),
            chip.CMD_CALIBRATE_IMAGE: self._do_calibrate_image,
            chip.CMD_SET_DIO2_SWITCH: self._do_keep("_dio2_switch"),
            chip.CMD_GET_STATUS: lambda _: b"",
            chip.CMD_SET_CAD: self._do_cad,
        }

    def _do_keep(self, name: str) -> Callable[[bytes], None]:
        def keep(parameters: bytes) -> None:
            setattr(self, name, parameters)

        return keep

    def _do_clear_irq(self, parameters: bytes) -> None:
        self._flags &= ~int.from_bytes(parameters, "big")

    def _do_clear_errors(self, _: bytes) -> None:
        self._errors = 0

    def _do_dio_irq(self, parameters: bytes) -> None:
        self._wanted = int.from_bytes(parameters[:2], "big")
        self._on_dio1 = int.from_bytes(parameters[2:4], "big")

    def _do_write_register(self, parameters: bytes) -> None:
        address = int.from_bytes(parameters[:2], "big")
        for offset, value in enumerate(parameters[2:]):
            self.registers[address + offset] = value

    def _do_read_register(self, parameters: bytes) -> bytes:
        address = int.from_bytes(parameters[:2], "big")
        return bytes(self.registers.get(address + offset, 0) for offset in range(len(parameters) - 3))

    def _do_write_buffer(self, parameters: bytes) -> None:
        for offset, value in enumerate(parameters[1:]):
            self._buffer[(parameters[0] + offset) % BUFFER_SIZE] = value

    def _do_read_buffer(self, parameters: bytes) -> bytes:
        return bytes(
            self._buffer[(parameters[0] + offset) % BUFFER_SIZE] for offset in range(len(parameters) - 2)
        )

    def _do_calibrate(self, _: bytes) -> None:
        self._busy_until_us += CALIBRATE_US
        if not self._clock_runs():
            self._errors |= chip.ERROR_CLOCK

    def _do_calibrate_image(self, parameters: bytes) -> None:
        self._busy_until_us += CALIBRATE_US
        self.image_calibrated = parameters

    def _do_pa_config(self, parameters: bytes) -> None:
        self.pa_config = parameters
        # This resets the current limit (13.1.14).
        self.registers[chip.REG_OCP] = chip.OCP_SX1261 if parameters[2] else chip.OCP_SX1262

    # --- modes

    def _clock_runs(self) -> bool:
        powered = len(self._tcxo) > 1 and chip.TCXO_MV[self._tcxo[0] & 7] == self._tcxo_needed_mv
        return powered or not self._tcxo_needed_mv

    def _enter(self, mode: int) -> None:
        self._era += 1
        self.mode = mode
        self._outcome = 0
        self._ether.listen(self.antenna, None)

    def _start(self, mode: int) -> bool:
        """Enter a mode that needs the clock. Returns False if the clock is missing, and the command fails."""
        lora = self._packet_type == bytes([chip.PACKET_LORA])
        if not lora:
            self.violations.append("sent or received without a packet type")
        if not lora or not self._clock_runs():
            self._errors |= chip.ERROR_CLOCK
            self._enter(STANDBY)
            self._outcome = FAILED
            return False
        self._enter(mode)
        self._busy_until_us += MODE_US
        return True

    def _do_receive(self, parameters: bytes) -> None:
        if parameters != chip.RX_CONTINUOUS:
            self.violations.append("only continuous reception is emulated")
        if self._start(RECEIVING):
            self._later(MODE_US, lambda: self._ether.listen(self.antenna, self.modem()))

    def _do_send(self, _: bytes) -> None:
        if self._start(SENDING):
            self._later(MODE_US, self._send)

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

    def _do_cad(self, _: bytes) -> None:
        """Listen for 2**cadSymbolNum symbols and compute for half of one (13.4.7, AN1200.48)."""
        if not self._start(RECEIVING):
            return
        modem = self.modem()
        since_us = self._timeline.now_us()

        def done() -> None:
            found = self._ether.activity(self.antenna, modem, since_us, in_data=True)
            self._enter(STANDBY)
            self._raise_flag(chip.IRQ_CAD_DONE | (chip.IRQ_CAD_DETECTED if found else 0))

        self._later(MODE_US + symbols_us(modem, 4 * (1 << self._cad[0]) + 2), done)

    # --- the receiver

    def preamble_found(self) -> None:
        """See Listener."""
        self._signal(chip.IRQ_PREAMBLE)

    def sync_found(self) -> None:
        """See Listener. The flag for it exists in the other modem only (data sheet table 13-29)."""

    def header_found(self, *, valid: bool) -> None:
        """See Listener."""
        self._signal(chip.IRQ_HEADER_VALID if valid else chip.IRQ_HEADER_ERROR)

    def signal_lost(self) -> None:
        """See Listener. Flags stay."""

    def frame_found(self, heard: ReceivedSignal) -> None:
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
        self._signal(chip.IRQ_RX_DONE | (chip.IRQ_CRC_ERROR if failed else 0))

    def _rssi(self) -> int:
        return 0xFF if self.antenna.tuning is None else _half_db(self._ether.power_dbm(self.antenna))

    # --- flags and lines

    def _signal(self, flags: int) -> None:
        self._raise_flag(flags)
        self._update_lines()

    def _raise_flag(self, flags: int) -> None:
        self._flags |= flags & self._wanted

    def _states(self) -> dict[str, bool]:
        """See EmulatedChip. DIO1 follows the flags, DIO2 is high while sending (data sheet 13.3.1, 13.3.2)."""
        return {
            "dio1": bool(self._flags & self._on_dio1),
            "dio2": self.turns_switch and self.mode == SENDING,
        }


def _half_db(dbm: float) -> int:
    return min(max(round(-2 * dbm), 0), 255)
