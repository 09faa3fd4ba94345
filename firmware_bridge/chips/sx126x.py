"""Register driver of SX1261, SX1262, SX1268 and their modules (E22, RAK13300, Core1262). Runs in MicroPython, too.

Sources: "DS" is Semtech's data sheet DS.SX1261-2.W.APP, Rev. 2.2, December 2024: commands in section 13, known
limitations in section 15. AN1200.48 gives the parameters of channel activity detection.
"""

from firmware_bridge.chips.errors import ChipBusyError, ModemError, OscillatorError, WrongChipError
from firmware_bridge.chips.modem import (
    BANDWIDTHS_HZ,
    EVENT_CAD_BUSY,
    EVENT_CAD_DONE,
    EVENT_CRC_ERROR,
    EVENT_HEADER_ERROR,
    EVENT_RECEIVED,
    EVENT_SENT,
    EVENT_TIMEOUT,
    PATH_OFF,
    PATH_RECEIVE,
    PATH_SEND,
    PAYLOAD_MAX,
    Frame,
    RegisterMismatch,
    check_ranges,
    events_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from firmware_bridge.chips.modem import Modem
    from firmware_bridge.chips.port import ChipPort

NAME = "SX126x"
"""The chip's name in errors."""

CMD_CLEAR_IRQ = 0x02
CMD_CLEAR_DEVICE_ERRORS = 0x07
CMD_SET_DIO_IRQ = 0x08
CMD_WRITE_REGISTER = 0x0D
CMD_WRITE_BUFFER = 0x0E
CMD_GET_IRQ = 0x12
CMD_GET_RX_BUFFER = 0x13
CMD_GET_PACKET_STATUS = 0x14
CMD_GET_RSSI = 0x15
CMD_GET_DEVICE_ERRORS = 0x17
CMD_READ_REGISTER = 0x1D
CMD_READ_BUFFER = 0x1E
CMD_SET_STANDBY = 0x80
CMD_SET_RX = 0x82
CMD_SET_TX = 0x83
CMD_SET_SLEEP = 0x84
CMD_SET_FREQUENCY = 0x86
CMD_SET_CAD_PARAMS = 0x88
CMD_CALIBRATE = 0x89
CMD_SET_PACKET_TYPE = 0x8A
CMD_SET_MODULATION = 0x8B
CMD_SET_PACKET = 0x8C
CMD_SET_TX_PARAMS = 0x8E
CMD_SET_BUFFER_BASE = 0x8F
CMD_SET_FALLBACK = 0x93
CMD_SET_PA_CONFIG = 0x95
CMD_SET_REGULATOR = 0x96
CMD_SET_DIO3_TCXO = 0x97
CMD_CALIBRATE_IMAGE = 0x98
CMD_SET_DIO2_SWITCH = 0x9D
CMD_GET_STATUS = 0xC0
CMD_SET_CAD = 0xC5

REG_IQ_POLARITY = 0x0736
REG_SYNC_WORD = 0x0740
REG_TX_MODULATION = 0x0889
REG_RX_GAIN = 0x08AC
REG_TX_CLAMP = 0x08D8
REG_OCP = 0x08E7

REGISTER_NAMES = {
    REG_IQ_POLARITY: "IQ polarity setup",
    REG_SYNC_WORD: "LoRa sync word MSB",
    REG_SYNC_WORD + 1: "LoRa sync word LSB",
    REG_TX_MODULATION: "TX modulation",
    REG_RX_GAIN: "RX gain",
    REG_TX_CLAMP: "TX clamp configuration",
    REG_OCP: "OCP configuration",
}
"""Names of the registers that are checked (DS table 12-1)."""
RESET_VALUES = {REG_SYNC_WORD: 0x14, REG_SYNC_WORD + 1: 0x24, REG_RX_GAIN: 0x94}
"""Values of registers after a reset (DS table 12-1)."""

IRQ_TX_DONE = 0x0001
IRQ_RX_DONE = 0x0002
IRQ_PREAMBLE = 0x0004
IRQ_HEADER_VALID = 0x0010
IRQ_HEADER_ERROR = 0x0020
IRQ_CRC_ERROR = 0x0040
IRQ_CAD_DONE = 0x0080
IRQ_CAD_DETECTED = 0x0100
IRQ_TIMEOUT = 0x0200
MEANINGS = {
    IRQ_TX_DONE: EVENT_SENT,
    IRQ_RX_DONE: EVENT_RECEIVED,
    IRQ_CRC_ERROR: EVENT_CRC_ERROR,
    IRQ_HEADER_ERROR: EVENT_HEADER_ERROR,
    IRQ_CAD_DONE: EVENT_CAD_DONE,
    IRQ_CAD_DETECTED: EVENT_CAD_BUSY,
    IRQ_TIMEOUT: EVENT_TIMEOUT,
}
"""Events by interrupt flag."""
IRQ_ENDS = sum(MEANINGS)
"""Flags that signal the end of an operation (DS table 13-29); the others signal that a frame is coming in."""
IRQ_BEGINS = IRQ_PREAMBLE | IRQ_HEADER_VALID
"""Flags that signal that a frame is coming in."""

STANDBY_RC = 0
PACKET_LORA = 1
REGULATOR_DCDC = 1
RX_CONTINUOUS = b"\xff\xff\xff"
"""Timeout of SetRx: none, continuous reception (DS 13.1.5). Without timeouts, limitation 15.3 does not arise."""
NO_TIMEOUT = b"\x00\x00\x00"
FALLBACK_STANDBY = 0x20
"""SetRxTxFallbackMode: to STDBY_RC after a frame (DS 13.1.15)."""
RAMP_200_US = 0x04
"""SetTxParams (DS table 13-41)."""
CALIBRATE_ALL = 0x7F
"""Calibrate: all blocks (DS table 13-18)."""
ERROR_CLOCK = 0x0020
"""Device errors: XOSC_START_ERR. Always set at power-up where a TCXO must be powered first (DS 13.6.1, 13.3.6)."""
ERRORS_FATAL = 0x017F
"""Device errors of the calibrations, the clock, the PLL and the amplifier's ramp (DS table 13-86)."""
RX_GAIN_BOOSTED = 0x96
"""Most sensitive, for 0.6 mA more (DS 9.6)."""
TX_CLAMP_BITS = 0x1E
"""Limitation 15.2: prevents that a badly matched antenna lowers the power."""
TX_MODULATION_BIT = 0x04
"""Limitation 15.1: 0 at 500 kHz, else 1."""
IQ_POLARITY_BIT = 0x04
"""Limitation 15.4: 0 with inverted IQ, else 1."""

BANDWIDTH_CODES = (0x00, 0x08, 0x01, 0x09, 0x02, 0x0A, 0x03, 0x04, 0x05, 0x06)
"""Numbers of ``BANDWIDTHS_HZ`` in SetModulationParams (DS table 13-48)."""
# Bands and their image calibration (DS table 9-2).
_IMAGE_BANDS = (
    (430_000_000, 440_000_000, b"\x6b\x6f"),
    (470_000_000, 510_000_000, b"\x75\x81"),
    (779_000_000, 787_000_000, b"\xc1\xc5"),
    (863_000_000, 870_000_000, b"\xd7\xdb"),
    (902_000_000, 928_000_000, b"\xe1\xe9"),
)
TCXO_MV = (1_600, 1_700, 1_800, 2_200, 2_400, 2_700, 3_000, 3_300)
"""Voltages that DIO3 can give a TCXO (DS table 13-35)."""
# Number of symbols (as a power of two), peak and minimum of CAD by spreading factor (AN1200.48).
_CAD = {
    5: (1, 22, 10), 6: (1, 22, 10), 7: (1, 22, 10), 8: (1, 22, 10),
    9: (2, 23, 10), 10: (2, 24, 10), 11: (2, 25, 10), 12: (2, 28, 10),
}  # fmt: skip
CRYSTAL_HZ = 32_000_000
"""Crystal or TCXO; the synthesizer counts in 1/2**25 of it (DS 13.4.1)."""
FREQUENCY_MIN_HZ = 150_000_000
FREQUENCY_MAX_HZ = 960_000_000
"""Range of the synthesizer (DS table 3-5)."""
POWERS_DBM = {"sx1261": (-17, 14), "sx1262": (-9, 22), "sx1268": (-9, 22)}
"""Least and greatest power by chip (DS 13.4.4)."""
OCP_SX1261 = 0x18
OCP_SX1262 = 0x38
"""Limits of the amplifier's current, 60 and 140 mA in steps of 2.5 mA (DS 13.1.14, table 5-2)."""
BUSY_STEP_US = 50
BUSY_MAX_US = 20_000
"""Time between reads of BUSY, and its limit: calibration takes 3.5 ms (DS table 8-4), a TCXO up to 10."""
WAKE_UP_US = 600
"""From sleep to STDBY_RC: 340 us with settings kept, 3,500 without (DS table 8-4); BUSY covers the rest."""


def frequency_word(frequency_hz: int) -> bytes:
    """Encode a frequency for SetRfFrequency: steps of 0.95 Hz, rounded down (DS 13.4.1)."""
    return ((frequency_hz << 25) // CRYSTAL_HZ).to_bytes(4, "big")


def sync_word_registers(sync_word: int) -> bytes:
    """Return the two registers that match a SX127x with *sync_word*: 0x58 is 0x54 0x84, 0x12 is 0x14 0x24."""
    return bytes([sync_word & 0xF0 | 0x04, (sync_word & 0x0F) << 4 | 0x04])


class Sx126x:
    """The driver of one chip. Implements ``port.LoraChip``."""

    name = NAME

    def __init__(
        self,
        port: "ChipPort",
        chip: str = "sx1262",
        tcxo_mv: int = 0,
        tcxo_start_us: int = 5_000,
        dio2_switch: bool = False,
    ) -> None:
        """*chip*: a key of ``POWERS_DBM``. *tcxo_mv*: voltage of a TCXO on DIO3, 0 for a crystal. *dio2_switch*: DIO2
        controls the antenna switch. Raises ModemError for a voltage that DIO3 does not give."""
        if tcxo_mv and tcxo_mv not in TCXO_MV:
            raise ModemError(NAME, "tcxo_mv", tcxo_mv)
        self._port = port
        self._chip = chip
        self._tcxo_mv = tcxo_mv
        self._tcxo_start_us = tcxo_start_us
        self._dio2_switch = dio2_switch
        self._modem: Modem | None = None
        self._written: dict[int, int] = {}
        self._asleep = False

    # --- starting

    def begin(self) -> None:
        """See LoraChip. The order is that of DS 14.5; the clock must be chosen before anything needs it."""
        fresh = self._port.reset()
        self._asleep = not fresh
        self._wake()
        self._command(CMD_SET_STANDBY, bytes([STANDBY_RC]))
        self._identify(fresh)
        if self._tcxo_mv:
            delay = (self._tcxo_start_us * 64 // 1_000).to_bytes(3, "big")
            self._command(CMD_SET_DIO3_TCXO, bytes([TCXO_MV.index(self._tcxo_mv)]) + delay)
        # With a TCXO, the clock and the calibrations have failed at power-up (DS 13.3.6).
        self._command(CMD_CLEAR_DEVICE_ERRORS, b"\x00\x00")
        self._command(CMD_CALIBRATE, bytes([CALIBRATE_ALL]))
        self._command(CMD_SET_REGULATOR, bytes([REGULATOR_DCDC]))
        self._command(CMD_SET_DIO2_SWITCH, bytes([1 if self._dio2_switch else 0]))
        self._command(CMD_SET_PACKET_TYPE, bytes([PACKET_LORA]))
        self._command(CMD_SET_FALLBACK, bytes([FALLBACK_STANDBY]))
        errors = self.device_errors()
        if errors & ERRORS_FATAL:
            raise OscillatorError(NAME, errors)

    def after_reset(self) -> list[RegisterMismatch]:
        """See LoraChip."""
        if not self._port.reset():
            return []
        return self._compare(RESET_VALUES)

    def _identify(self, fresh: bool) -> None:
        """Identify the chip by its sync word: 0x1424 after a reset (DS table 12-1). There is no version register."""
        status = self.status()
        # Bits 6 to 4 are the mode: 2 is STDBY_RC (DS table 13-76). All ones or zeros: no chip answers.
        if status >> 4 & 7 != 2:
            raise WrongChipError(NAME, "status", status, 0x22)
        msb = self.read_register(REG_SYNC_WORD, 1)[0]
        if fresh and msb != RESET_VALUES[REG_SYNC_WORD]:
            raise WrongChipError(NAME, REGISTER_NAMES[REG_SYNC_WORD], msb, RESET_VALUES[REG_SYNC_WORD])

    def configure(self, modem: "Modem", power_dbm: int) -> None:
        """See LoraChip."""
        self._check(modem, power_dbm)
        self._port.switch(PATH_OFF)
        self._wake()
        self._command(CMD_SET_STANDBY, bytes([STANDBY_RC]))
        self._modem = modem
        self._written = {}
        self._command(CMD_SET_FREQUENCY, frequency_word(modem.frequency_hz))
        for low_hz, high_hz, codes in _IMAGE_BANDS:
            if low_hz <= modem.frequency_hz <= high_hz:
                self._command(CMD_CALIBRATE_IMAGE, codes)
        self._command(
            CMD_SET_MODULATION,
            bytes(
                [
                    modem.spreading_factor,
                    BANDWIDTH_CODES[BANDWIDTHS_HZ.index(modem.bandwidth_hz)],
                    modem.coding_rate - 4,
                    1 if modem.low_data_rate else 0,
                ]
            ),
        )
        self._set_packet(modem.payload_length)
        self._command(CMD_SET_BUFFER_BASE, b"\x00\x00")
        symbols, peak, least = _CAD[modem.spreading_factor]
        self._command(CMD_SET_CAD_PARAMS, bytes([symbols, peak, least, 0]) + NO_TIMEOUT)
        self._set_power(power_dbm)
        for offset, value in enumerate(sync_word_registers(modem.sync_word)):
            self._keep(REG_SYNC_WORD + offset, value)
        self._keep(REG_RX_GAIN, RX_GAIN_BOOSTED)
        self._set_limitations(modem)

    def _check(self, modem: "Modem", power_dbm: int) -> None:
        """Raise ModemError for a setting that the chip cannot have."""
        ranges = (
            ("frequency_hz", FREQUENCY_MIN_HZ, FREQUENCY_MAX_HZ),
            ("spreading_factor", 5, 12),
            ("preamble_symbols", 1, 0xFFFF),
        )
        check_ranges(NAME, modem, ranges)
        if modem.bandwidth_hz not in BANDWIDTHS_HZ:
            raise ModemError(NAME, "bandwidth_hz", modem.bandwidth_hz)
        low, high = POWERS_DBM[self._chip]
        if not low <= power_dbm <= high:
            raise ModemError(NAME, "power_dbm", power_dbm)

    def _set_packet(self, length: int) -> None:
        """Send SetPacketParams (DS 13.4.6). *length*: bytes to send, or the most to receive."""
        modem = self._modem
        assert modem is not None, "configure comes first"
        self._command(
            CMD_SET_PACKET,
            modem.preamble_symbols.to_bytes(2, "big")
            + bytes(
                [
                    0 if modem.explicit_header else 1,
                    length,
                    1 if modem.crc else 0,
                    1 if modem.inverted_iq else 0,
                ]
            ),
        )

    def _set_power(self, power_dbm: int) -> None:
        """Set amplifier and power, and then the current limit, which SetPaConfig resets (DS 13.1.14)."""
        low_power = self._chip == "sx1261"
        self._command(CMD_SET_PA_CONFIG, bytes([4, 0, 1, 1]) if low_power else bytes([4, 7, 0, 1]))
        self._command(CMD_SET_TX_PARAMS, bytes([power_dbm & 0xFF, RAMP_200_US]))
        self._keep(REG_OCP, OCP_SX1261 if low_power else OCP_SX1262)

    def _set_limitations(self, modem: "Modem") -> None:
        """Apply the workarounds of DS section 15: 15.1 (500 kHz), 15.2 (antenna), 15.4 (inverted IQ)."""
        wide = modem.bandwidth_hz == 500_000
        self._keep_bits(REG_TX_MODULATION, TX_MODULATION_BIT, not wide)
        if self._chip != "sx1261":
            self._keep_bits(REG_TX_CLAMP, TX_CLAMP_BITS, True)
        self._keep_bits(REG_IQ_POLARITY, IQ_POLARITY_BIT, not modem.inverted_iq)

    # --- sending and receiving

    def start_receive(self) -> None:
        """See LoraChip. DS 14.3."""
        self.standby()
        assert self._modem is not None, "configure comes first"
        self._set_packet(self._modem.payload_length)
        self._interrupt(IRQ_ENDS | IRQ_BEGINS, IRQ_RX_DONE)
        self._port.switch(PATH_RECEIVE)
        self._command(CMD_SET_RX, RX_CONTINUOUS)

    def start_send(self, frame: bytes) -> None:
        """See LoraChip. DS 14.2."""
        modem = self._modem
        assert modem is not None, "configure comes first"
        if not 1 <= len(frame) <= PAYLOAD_MAX or (
            not modem.explicit_header and len(frame) != modem.payload_length
        ):
            raise ModemError(NAME, "payload_length", len(frame))
        self.standby()
        self._set_packet(len(frame))
        self._command(CMD_WRITE_BUFFER, b"\x00" + frame)
        self._interrupt(IRQ_TX_DONE | IRQ_TIMEOUT, IRQ_TX_DONE | IRQ_TIMEOUT)
        self._port.switch(PATH_SEND)
        self._command(CMD_SET_TX, NO_TIMEOUT)

    def start_cad(self) -> None:
        """See LoraChip. DS 13.1.11 and 13.4.7."""
        self.standby()
        self._interrupt(IRQ_CAD_DONE | IRQ_CAD_DETECTED, IRQ_CAD_DONE)
        self._port.switch(PATH_RECEIVE)
        self._command(CMD_SET_CAD)

    def _interrupt(self, flags: int, on_dio1: int) -> None:
        """Clear all flags, then enable *flags*, and DIO1 for *on_dio1* (DS 13.3.1)."""
        self._command(CMD_CLEAR_IRQ, b"\xff\xff")
        self._command(
            CMD_SET_DIO_IRQ, flags.to_bytes(2, "big") + on_dio1.to_bytes(2, "big") + b"\x00\x00\x00\x00"
        )

    def take_events(self) -> int:
        """See LoraChip. The end of a frame also clears the flags of its beginning."""
        flags = int.from_bytes(self._query(CMD_GET_IRQ, 2), "big") & (IRQ_ENDS | IRQ_BEGINS)
        if not flags & IRQ_ENDS:
            return 0
        self._command(CMD_CLEAR_IRQ, flags.to_bytes(2, "big"))
        return events_of(flags, MEANINGS)

    def read_frame(self, events: int) -> Frame:
        """See LoraChip. DS 13.5.2, 13.2.4 and 13.5.3. Below the noise the RSSI is that of the signal alone."""
        length, start = self._query(CMD_GET_RX_BUFFER, 2)
        payload = self._query(CMD_READ_BUFFER, length, bytes([start]))
        strength, snr, signal = self._query(CMD_GET_PACKET_STATUS, 3)
        snr_db = (snr - 256 if snr > 127 else snr) / 4
        rssi_dbm = -round((strength if snr_db >= 0 else signal) / 2)
        return Frame(payload, rssi_dbm, snr_db, bool(events & EVENT_CRC_ERROR))

    def receiving(self) -> bool:
        """See LoraChip. A preamble alone may be noise: it counts once."""
        flags = int.from_bytes(self._query(CMD_GET_IRQ, 2), "big")
        if flags & IRQ_HEADER_VALID:
            return True
        if flags & IRQ_PREAMBLE:
            self._command(CMD_CLEAR_IRQ, IRQ_PREAMBLE.to_bytes(2, "big"))
            return True
        return False

    def rssi_dbm(self) -> int:
        """See LoraChip. DS 13.5.4."""
        return -round(self._query(CMD_GET_RSSI, 1)[0] / 2)

    def standby(self) -> None:
        """See LoraChip."""
        self._port.switch(PATH_OFF)
        self._command(CMD_SET_STANDBY, bytes([STANDBY_RC]))

    def sleep(self) -> None:
        """See LoraChip. A warm start: settings are kept (DS 13.1.1). BUSY stays high meanwhile."""
        self.standby()
        self._command(CMD_SET_SLEEP, b"\x04")
        self._asleep = True

    def _wake(self) -> None:
        """Wake the chip by selecting it; BUSY is not valid before (DS 8.2.2)."""
        if self._asleep:
            self._port.transfer(bytes([CMD_GET_STATUS, 0]))
            self._port.sleep_us(WAKE_UP_US)
            self._asleep = False

    # --- status

    def differences(self) -> list[RegisterMismatch]:
        """See LoraChip."""
        return self._compare(self._written)

    def _compare(self, wanted: dict[int, int]) -> list[RegisterMismatch]:
        found = []
        for register, expected in wanted.items():
            value = self.read_register(register, 1)[0]
            if value != expected:
                found.append(RegisterMismatch(REGISTER_NAMES[register], register, expected, value))
        return found

    def status(self) -> int:
        """Return the mode in bits 6 to 4, the last command's outcome in bits 3 to 1 (DS table 13-76)."""
        self._ready()
        return self._port.transfer(bytes([CMD_GET_STATUS, 0]))[1]

    def device_errors(self) -> int:
        """Return the device errors since they were last cleared (DS table 13-86)."""
        return int.from_bytes(self._query(CMD_GET_DEVICE_ERRORS, 2), "big")

    # --- the bus

    def read_register(self, register: int, count: int) -> bytes:
        """Read *count* registers from *register* on (DS 13.2.2)."""
        return self._query(CMD_READ_REGISTER, count, register.to_bytes(2, "big"))

    def _keep(self, register: int, value: int) -> None:
        """Write a register (DS 13.2.1), and remember the value for ``differences``."""
        self._command(CMD_WRITE_REGISTER, register.to_bytes(2, "big") + bytes([value]))
        self._written[register] = value

    def _keep_bits(self, register: int, bits: int, on: bool) -> None:
        """Set or clear *bits*, and keep the others, which the chip's maker has trimmed."""
        value = self.read_register(register, 1)[0]
        self._keep(register, value | bits if on else value & ~bits)

    def _command(self, opcode: int, parameters: bytes = b"") -> None:
        self._ready()
        self._port.transfer(bytes([opcode]) + parameters)

    def _query(self, opcode: int, count: int, parameters: bytes = b"") -> bytes:
        """Return *count* bytes of answer, after the status byte that precedes them."""
        self._ready()
        skipped = 2 + len(parameters)
        return self._port.transfer(bytes([opcode]) + parameters + bytes(1 + count))[skipped:]

    def _ready(self) -> None:
        """Wait until BUSY is low (DS 8.3.1)."""
        waited_us = 0
        while self._port.busy():
            if waited_us >= BUSY_MAX_US:
                raise ChipBusyError(NAME, waited_us)
            self._port.sleep_us(BUSY_STEP_US)
            waited_us += BUSY_STEP_US
