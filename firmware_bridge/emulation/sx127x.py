"""An emulated SX1276 behind its SPI bus: registers, FIFO, modes, flags and the lines DIO0 and DIO1. Pure.

Data sheet: SX1276/77/78/79, Rev. 4, March 2015. Accesses that it forbids are recorded in ``violations``. On a real chip
they would not fail, but silently have another effect.
"""

from typing import Final

from firmware_bridge.chips import sx127x as chip
from firmware_bridge.chips.modem import BANDWIDTHS_HZ, Modem, symbols_us
from firmware_bridge.emulation.chip import EmulatedChip
from firmware_bridge.emulation.ether import EmulatedAntenna, Ether, ReceivedSignal, Signal

FIFO_SIZE: Final = 256
"""Bytes of the FIFO (data sheet 4.1.2.3)."""
START_US: Final = 5_000
"""From the end of a reset until the chip answers (data sheet 7.2.2)."""
SEND_US: Final = 120
"""From standby until the first chirp: TS_FS and TS_TR (data sheet table 8)."""
_LORA_RESET: Final = {
    0x0E: 0x80, 0x1D: 0x72, 0x1E: 0x70, 0x1F: 0x64, 0x21: 0x08, 0x22: 0x01, 0x23: 0xFF, 0x26: 0x04, 0x2F: 0x20,
    0x31: 0xC3, 0x33: 0x27, 0x36: 0x03, 0x37: 0x0A, 0x39: 0x12, 0x3A: 0x65, 0x3B: 0x1D,
}  # fmt: skip
"""Registers of the LoRa mode after a reset (data sheet table 41)."""
_LORA_PAGE: Final = range(0x0D, 0x40)
"""Registers with another meaning outside the LoRa mode."""
_STANDBY_ONLY: Final = frozenset(
    {chip.REG_MODEM_CONFIG_1, chip.REG_MODEM_CONFIG_2, chip.REG_SYNC_WORD, chip.REG_PREAMBLE}
)
"""Registers that must not be changed while sending or receiving."""


class EmulatedSx127x(EmulatedChip):
    """One emulated chip."""

    START_US = START_US

    def __init__(self, ether: Ether, name: str, *, version: int = chip.VERSION) -> None:
        super().__init__(ether, ("dio0", "dio1"))
        self.antenna = EmulatedAntenna(name, self)
        self.version = version
        """Content of RegVersion after the next reset."""
        ether.join(self.antenna)
        self._restart()

    # --- the pins

    def busy(self) -> bool:
        """Return False: there is no such line."""
        return False

    def transfer(self, data: bytes) -> bytes:
        """Do one transfer with the chip selected."""
        self._timeline.catch_up()
        if self.hung or self._held or self._timeline.now_us() < self._busy_until_us or not data:
            return bytes(len(data))
        address, write = data[0] & 0x7F, bool(data[0] & 0x80)
        answer = bytearray(1)
        for value in data[1:]:
            if write:
                answer.append(self._read(address, peek=True))
                self._write(address, value)
            else:
                answer.append(self._read(address))
            # A burst stays at the FIFO, and advances at other registers (data sheet 2.2, page 80).
            address = address if address == chip.REG_FIFO else (address + 1) & 0x7F
        self._update_lines()
        return bytes(answer)

    @property
    def sending(self) -> bool:
        """True if the transmitter is on."""
        return self.long_range and self.mode == chip.MODE_SEND

    @property
    def turns_switch(self) -> bool:
        """True if the chip itself controls an antenna switch."""
        return False

    # --- registers

    def _restart(self) -> None:
        self._era += 1
        self._common = bytearray(128)
        for address, value in chip.RESET_VALUES.items():
            self._common[address] = value
        self._common[chip.REG_VERSION] = self.version
        self._lora = bytearray(128)
        for address, value in _LORA_RESET.items():
            self._lora[address] = value
        self._fifo = bytearray(FIFO_SIZE)
        self._received_at = 0
        self._stat = 0x10
        self._ether.listen(self.antenna, None)

    @property
    def mode(self) -> int:
        """The mode in RegOpMode."""
        return self._common[chip.REG_OP_MODE] & chip.MODE_MASK

    @property
    def long_range(self) -> bool:
        """True if the chip is in the LoRa mode."""
        return bool(self._common[chip.REG_OP_MODE] & chip.LONG_RANGE)

    def register(self, address: int) -> int:
        """Return the register *address* of the LoRa mode."""
        return self._lora[address] if address in _LORA_PAGE else self._common[address]

    def set_gain(self, value: int) -> None:
        """Set RegLna, as the automatic gain control does while receiving."""
        self._common[chip.REG_LNA] = value

    def _read(self, address: int, *, peek: bool = False) -> int:
        if address == chip.REG_FIFO:
            return 0 if peek else self._pop_fifo()
        if address == chip.REG_MODEM_STAT and self.long_range:
            return self._stat
        if address == chip.REG_RSSI and self.long_range:
            return self._rssi()
        return self.register(address) if self.long_range else self._common[address]

    def _write(self, address: int, value: int) -> None:
        if address == chip.REG_FIFO:
            self._push_fifo(value)
        elif address == chip.REG_OP_MODE:
            self._set_mode(value)
        elif address == chip.REG_VERSION:
            self.violations.append("RegVersion was written")
        elif address not in _LORA_PAGE or not self.long_range:
            self._common[address] = value
        elif address == chip.REG_IRQ_FLAGS:
            self._lora[address] &= ~value & 0xFF
        else:
            if address in _STANDBY_ONLY and self.mode not in (chip.MODE_SLEEP, chip.MODE_STANDBY):
                self.violations.append(f"register 0x{address:02X} was written in mode {self.mode}")
            self._lora[address] = value

    def _pop_fifo(self) -> int:
        if self.mode == chip.MODE_SLEEP or not self.long_range:
            self.violations.append("the FIFO was read while asleep")
            return 0
        pointer = self._lora[chip.REG_FIFO_ADDR_PTR]
        self._lora[chip.REG_FIFO_ADDR_PTR] = (pointer + 1) % FIFO_SIZE
        return self._fifo[pointer]

    def _push_fifo(self, value: int) -> None:
        if self.mode != chip.MODE_STANDBY or not self.long_range:
            self.violations.append("the FIFO was written outside standby")
            return
        pointer = self._lora[chip.REG_FIFO_ADDR_PTR]
        self._lora[chip.REG_FIFO_ADDR_PTR] = (pointer + 1) % FIFO_SIZE
        self._fifo[pointer] = value

    # --- modes

    def _set_mode(self, value: int) -> None:
        before = self._common[chip.REG_OP_MODE]
        if (value ^ before) & chip.LONG_RANGE and self.mode != chip.MODE_SLEEP:
            # Data sheet page 108: the bit can be written in sleep only, and is ignored otherwise.
            self.violations.append("LongRangeMode was changed outside sleep")
            value = value & ~chip.LONG_RANGE | before & chip.LONG_RANGE
        self._era += 1
        self._common[chip.REG_OP_MODE] = value
        self._stat = 0x10
        self._ether.listen(self.antenna, None)
        if not self.long_range:
            return
        match self.mode:
            case chip.MODE_SLEEP:
                self._fifo = bytearray(FIFO_SIZE)
            case chip.MODE_SEND:
                self._later(SEND_US, self._send)
            case chip.MODE_RECEIVE:
                self._received_at = self._lora[chip.REG_FIFO_RX_BASE]
                self._ether.listen(self.antenna, self.modem())
            case chip.MODE_CAD:
                self._start_cad()
            case _:
                pass

    def _stand_by(self) -> None:
        self._common[chip.REG_OP_MODE] = self._common[chip.REG_OP_MODE] & ~chip.MODE_MASK | chip.MODE_STANDBY

    def modem(self) -> Modem:
        """Return the settings in the registers."""
        config_1, config_2 = self._lora[chip.REG_MODEM_CONFIG_1], self._lora[chip.REG_MODEM_CONFIG_2]
        frf = int.from_bytes(self._common[chip.REG_FRF : chip.REG_FRF + 3], "big")
        bandwidth_hz = BANDWIDTHS_HZ[min(config_1 >> 4, 9)]
        return Modem(
            frequency_hz=(frf * chip.CRYSTAL_HZ >> 19)
            - (0 if self.sending else self._shift_hz(bandwidth_hz)),
            bandwidth_hz=bandwidth_hz,
            spreading_factor=min(max(config_2 >> 4, 6), 12),
            coding_rate=4 + min(max(config_1 >> 1 & 7, 1), 4),
            preamble_symbols=self._lora[chip.REG_PREAMBLE] << 8 | self._lora[chip.REG_PREAMBLE + 1],
            sync_word=self._lora[chip.REG_SYNC_WORD],
            crc=bool(config_2 & 4),
            explicit_header=not config_1 & 1,
            payload_length=self._lora[chip.REG_PAYLOAD_LENGTH],
            inverted_iq=bool(self._lora[chip.REG_INVERT_IQ] & 0x40),
            low_data_rate=bool(self._lora[chip.REG_MODEM_CONFIG_3] & 8),
        )

    def _shift_hz(self, bandwidth_hz: int) -> int:
        """Return the distance from RegFrf when receiving with another intermediate frequency (errata 2.3)."""
        if_freq, shift_hz = chip.SPURIOUS_RECEPTION.get(bandwidth_hz, (0x40, 0))
        automatic = self._lora[chip.REG_DETECT_OPTIMIZE] & 0x80
        return shift_hz if not automatic and self._lora[chip.REG_IF_FREQ_2] == if_freq else 0

    def power_dbm(self) -> float:
        """Return the chip's power (data sheet 5.4.2, 5.4.3)."""
        config = self._common[chip.REG_PA_CONFIG]
        if config & chip.PA_BOOST:
            high = self._common[chip.REG_PA_DAC] == chip.PA_DAC_HIGH
            return (5 if high else 2) + (config & 0x0F)
        return 10.8 + 0.6 * (config >> 4 & 7) - (15 - (config & 0x0F))

    def _send(self) -> None:
        base, length = self._lora[chip.REG_FIFO_TX_BASE], self._lora[chip.REG_PAYLOAD_LENGTH]
        payload = bytes(self._fifo[(base + offset) % FIFO_SIZE] for offset in range(length))
        modem = self.modem()
        # InvertIQ's other bit inverts the chirps that are sent (data sheet page 115).
        modem.inverted_iq = not self._lora[chip.REG_INVERT_IQ] & 0x01
        signal = Signal(
            modem=modem,
            payload=payload,
            power_dbm=self.power_dbm() + self.antenna.gain_db(),
            start_us=self._timeline.now_us(),
        )
        self._ether.transmit(self.antenna, signal)
        self._later(signal.end_us - signal.start_us, self._sent)

    def _sent(self) -> None:
        self._stand_by()
        self._raise_flag(chip.IRQ_TX_DONE)

    def _start_cad(self) -> None:
        """Receive for (2**SF + 32) / BW, then compute for nearly a symbol (data sheet page 44)."""
        modem = self.modem()
        since_us = self._timeline.now_us()
        receiving_us = ((1 << modem.spreading_factor) + 32) * 1_000_000 // modem.bandwidth_hz
        found = False

        def listened() -> None:
            nonlocal found
            found = self._ether.activity(self.antenna, modem, since_us, in_data=False)

        def computed() -> None:
            self._stand_by()
            self._raise_flag(chip.IRQ_CAD_DONE | (chip.IRQ_CAD_DETECTED if found else 0))

        self._later(receiving_us, listened)
        self._later(receiving_us + symbols_us(modem, 3), computed)

    # --- the receiver

    def preamble_found(self) -> None:
        """See Listener."""
        self._stat |= chip.STAT_DETECTED

    def sync_found(self) -> None:
        """See Listener."""
        self._stat |= chip.STAT_SYNCHRONIZED

    def header_found(self, *, valid: bool) -> None:
        """See Listener. A bad header is not reported (data sheet 4.1.1.6)."""
        if valid:
            self._stat |= chip.STAT_HEADER_VALID | 0x04
            self._raise_flag(chip.IRQ_VALID_HEADER)
            self._update_lines()

    def signal_lost(self) -> None:
        """See Listener."""
        self._stat = 0x10

    def frame_found(self, heard: ReceivedSignal) -> None:
        """See Listener. Frames follow each other in the FIFO (data sheet 4.1.2.3)."""
        start = self._received_at
        for offset, byte in enumerate(heard.payload):
            self._fifo[(start + offset) % FIFO_SIZE] = byte
        self._received_at = (start + len(heard.payload)) % FIFO_SIZE
        self._lora[chip.REG_FIFO_RX_CURRENT] = start
        self._lora[chip.REG_RX_BYTES] = len(heard.payload)
        self._lora[chip.REG_PKT_SNR] = round(heard.snr_db * 4) & 0xFF
        # The inverse of the formulas of 5.5.5.
        above = heard.rssi_dbm - self._offset_dbm()
        strength = above * 15 / 16 if heard.snr_db >= 0 else above - heard.snr_db
        self._lora[chip.REG_PKT_RSSI] = min(max(round(strength), 0), 255)
        self._lora[chip.REG_HOP_CHANNEL] = 0x40 if heard.crc else 0
        self._stat = 0x10
        flags = chip.IRQ_RX_DONE
        if heard.crc and not heard.intact:
            flags |= chip.IRQ_CRC_ERROR
        self._raise_flag(flags)
        self._update_lines()

    def _offset_dbm(self) -> int:
        low = self.modem().frequency_hz < chip.BAND_EDGE_HZ
        return chip.RSSI_OFFSET_LOW_DBM if low else chip.RSSI_OFFSET_HIGH_DBM

    def _rssi(self) -> int:
        if self.antenna.tuning is None:
            return 0
        return min(max(round(self._ether.power_dbm(self.antenna) - self._offset_dbm()), 0), 255)

    # --- flags and lines

    def _raise_flag(self, flags: int) -> None:
        self._lora[chip.REG_IRQ_FLAGS] |= flags & ~self._lora[chip.REG_IRQ_MASK]

    def _states(self) -> dict[str, bool]:
        """See EmulatedChip. DIO0 and DIO1 (data sheet table 18, page 46)."""
        flags, mapping = self._lora[chip.REG_IRQ_FLAGS], self._common[chip.REG_DIO_MAPPING_1]
        on_dio0 = {0: chip.IRQ_RX_DONE, 1: chip.IRQ_TX_DONE, 2: chip.IRQ_CAD_DONE}.get(mapping >> 6, 0)
        on_dio1 = {0: chip.IRQ_RX_TIMEOUT, 2: chip.IRQ_CAD_DETECTED}.get(mapping >> 4 & 3, 0)
        return {
            "dio0": self.long_range and bool(flags & on_dio0),
            "dio1": self.long_range and bool(flags & on_dio1),
        }
