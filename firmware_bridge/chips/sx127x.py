"""Register driver of SX1276, SX1277, SX1278, SX1279 and their modules (RFM95 to RFM98). Runs in MicroPython, too.

Sources: "DS" is Semtech's data sheet SX1276/77/78/79, Rev. 4, March 2015 (registers of the LoRa mode: section 6.4,
pages 108 to 115); "errata" is the SX1276/77/78 Errata Note, Rev. 1.
"""

from firmware_bridge.chips.errors import ModemError, WrongChipError
from firmware_bridge.chips.modem import (
    BANDWIDTHS_HZ,
    EVENT_CAD_BUSY,
    EVENT_CAD_DONE,
    EVENT_CRC_ERROR,
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

NAME = "SX127x"
"""The chip's name in errors."""

REG_FIFO = 0x00
REG_OP_MODE = 0x01
REG_FRF = 0x06
REG_PA_CONFIG = 0x09
REG_OCP = 0x0B
REG_LNA = 0x0C
REG_FIFO_ADDR_PTR = 0x0D
REG_FIFO_TX_BASE = 0x0E
REG_FIFO_RX_BASE = 0x0F
REG_FIFO_RX_CURRENT = 0x10
REG_IRQ_MASK = 0x11
REG_IRQ_FLAGS = 0x12
REG_RX_BYTES = 0x13
REG_MODEM_STAT = 0x18
REG_PKT_SNR = 0x19
REG_PKT_RSSI = 0x1A
REG_RSSI = 0x1B
REG_HOP_CHANNEL = 0x1C
REG_MODEM_CONFIG_1 = 0x1D
REG_MODEM_CONFIG_2 = 0x1E
REG_SYMB_TIMEOUT = 0x1F
REG_PREAMBLE = 0x20
REG_PAYLOAD_LENGTH = 0x22
REG_MAX_PAYLOAD = 0x23
REG_HOP_PERIOD = 0x24
REG_MODEM_CONFIG_3 = 0x26
REG_IF_FREQ_2 = 0x2F
REG_IF_FREQ_1 = 0x30
REG_DETECT_OPTIMIZE = 0x31
REG_INVERT_IQ = 0x33
REG_HIGH_BW_1 = 0x36
REG_DETECTION_THRESHOLD = 0x37
REG_SYNC_WORD = 0x39
REG_HIGH_BW_2 = 0x3A
REG_INVERT_IQ_2 = 0x3B
REG_DIO_MAPPING_1 = 0x40
REG_VERSION = 0x42
REG_PA_DAC = 0x4D

REGISTER_NAMES = {
    REG_OP_MODE: "RegOpMode",
    REG_FRF: "RegFrfMsb",
    REG_FRF + 1: "RegFrfMid",
    REG_FRF + 2: "RegFrfLsb",
    REG_PA_CONFIG: "RegPaConfig",
    REG_OCP: "RegOcp",
    REG_LNA: "RegLna",
    REG_FIFO_TX_BASE: "RegFifoTxBaseAddr",
    REG_FIFO_RX_BASE: "RegFifoRxBaseAddr",
    REG_IRQ_MASK: "RegIrqFlagsMask",
    REG_MODEM_CONFIG_1: "RegModemConfig1",
    REG_MODEM_CONFIG_2: "RegModemConfig2",
    REG_SYMB_TIMEOUT: "RegSymbTimeoutLsb",
    REG_PREAMBLE: "RegPreambleMsb",
    REG_PREAMBLE + 1: "RegPreambleLsb",
    REG_PAYLOAD_LENGTH: "RegPayloadLength",
    REG_MAX_PAYLOAD: "RegMaxPayloadLength",
    REG_HOP_PERIOD: "RegHopPeriod",
    REG_MODEM_CONFIG_3: "RegModemConfig3",
    REG_IF_FREQ_2: "RegIfFreq2",
    REG_IF_FREQ_1: "RegIfFreq1",
    REG_DETECT_OPTIMIZE: "RegDetectOptimize",
    REG_INVERT_IQ: "RegInvertIQ",
    REG_HIGH_BW_1: "RegHighBWOptimize1",
    REG_DETECTION_THRESHOLD: "RegDetectionThreshold",
    REG_SYNC_WORD: "RegSyncWord",
    REG_HIGH_BW_2: "RegHighBWOptimize2",
    REG_INVERT_IQ_2: "RegInvertIQ2",
    REG_VERSION: "RegVersion",
    REG_PA_DAC: "RegPaDac",
}
"""Names of the registers that are checked, as in the data sheet."""

RESET_VALUES = {
    REG_OP_MODE: 0x09,
    REG_FRF: 0x6C,
    REG_FRF + 1: 0x80,
    REG_FRF + 2: 0x00,
    REG_PA_CONFIG: 0x4F,
    REG_OCP: 0x2B,
    REG_LNA: 0x20,
    REG_VERSION: 0x12,
    REG_PA_DAC: 0x84,
}
"""Values of registers after a reset, in any modem mode (DS table 41, page 90)."""

VERSION = 0x12
"""RegVersion of every SX1276/77/78/79 (DS page 106)."""
LONG_RANGE = 0x80
"""RegOpMode: LoRa; written in sleep only (DS page 108)."""
LOW_FREQUENCY = 0x08
"""RegOpMode: access the registers of the low bands (DS page 108)."""
MODE_SLEEP = 0
MODE_STANDBY = 1
MODE_SEND = 3
MODE_RECEIVE = 5
MODE_CAD = 7
MODE_MASK = 0x07

IRQ_RX_TIMEOUT = 0x80
IRQ_RX_DONE = 0x40
IRQ_CRC_ERROR = 0x20
IRQ_VALID_HEADER = 0x10
IRQ_TX_DONE = 0x08
IRQ_CAD_DONE = 0x04
IRQ_CAD_DETECTED = 0x01
MEANINGS = {
    IRQ_TX_DONE: EVENT_SENT,
    IRQ_RX_DONE: EVENT_RECEIVED,
    IRQ_CRC_ERROR: EVENT_CRC_ERROR,
    IRQ_CAD_DONE: EVENT_CAD_DONE,
    IRQ_CAD_DETECTED: EVENT_CAD_BUSY,
    IRQ_RX_TIMEOUT: EVENT_TIMEOUT,
}
"""Events by interrupt flag."""
IRQ_USED = sum(MEANINGS)
"""Flags that are used (DS page 111). The header's own is not: RegModemStat shows it."""

DIO0_RX_DONE = 0x00
DIO0_TX_DONE = 0x40
DIO0_CAD_DONE = 0x80

STAT_HEADER_VALID = 0x08
STAT_SYNCHRONIZED = 0x02
STAT_DETECTED = 0x01
STAT_RECEIVING = STAT_HEADER_VALID | STAT_SYNCHRONIZED | STAT_DETECTED
"""RegModemStat: a frame is coming in (DS page 111)."""

CRYSTAL_HZ = 32_000_000
"""Every module's crystal; the synthesizer counts in 1/2**19 of it (DS 4.1.4)."""
BAND_EDGE_HZ = 525_000_000
"""Border between the low bands and the high band (DS table 32)."""
FREQUENCY_RANGES_HZ = ((137_000_000, 175_000_000), (410_000_000, 525_000_000), (862_000_000, 1_020_000_000))
"""Ranges of the synthesizer (DS table 32)."""
RSSI_OFFSET_HIGH_DBM = -157
RSSI_OFFSET_LOW_DBM = -164
"""Offsets of RegPktRssiValue and RegRssiValue (DS page 112, 5.5.5)."""

PA_BOOST = 0x80
PA_DAC_NORMAL = 0x84
PA_DAC_HIGH = 0x87
"""RegPaDac: up to 17 dBm and up to 20 dBm on PA_BOOST (DS 5.4.3, page 83)."""
BOOST_MIN_DBM = 2
BOOST_NORMAL_DBM = 17
BOOST_MAX_DBM = 20
"""Powers of the PA_BOOST pin. Above 17 dBm the data sheet allows a duty cycle of 1 % only (DS 5.4.3)."""
RFO_MIN_DBM = -4
RFO_MAX_DBM = 14
"""Powers of the RFO pins (DS page 109)."""
OCP_ON = 0x20
OCP_HIGH_MA = 140
OCP_NORMAL_MA = 100
OCP_RFO_MA = 60
"""Limits of the amplifier's current: above the 120, 87 and 29 mA that it draws at 20, 17 and 13 dBm (DS table 10)."""
LNA_MAX_BOOST = 0x23
"""Greatest gain, and 150 % of current in the high band (DS page 110). The AGC overrides the gain."""
MAX_TRIES = 3
"""Reads of the version before the chip counts as another one: a cold module may answer late."""

SPURIOUS_RECEPTION = {
    7_800: (0x48, 7_810),
    10_400: (0x44, 10_420),
    15_600: (0x44, 15_620),
    20_800: (0x44, 20_830),
    31_250: (0x44, 31_250),
    41_700: (0x44, 41_670),
}
"""RegIfFreq2 against spurious reception, and the shift of RegFrf to receive with it, by bandwidth (errata 2.3)."""


def frequency_registers(frequency_hz: int) -> bytes:
    """Encode a frequency for RegFrf: steps of 61.035 Hz, rounded down (DS 4.1.4)."""
    return ((frequency_hz << 19) // CRYSTAL_HZ).to_bytes(3, "big")


def current_limit(limit_ma: int) -> int:
    """Encode a limit of 45 to 240 mA for RegOcp, rounded down (DS 5.4.4, table 37, page 85)."""
    trim = (limit_ma - 45) // 5 if limit_ma < 130 else (limit_ma + 30) // 10
    return OCP_ON | min(max(trim, 0), 27)


class Sx127x:
    """The driver of one chip. Implements ``port.LoraChip``."""

    name = NAME

    def __init__(self, port: "ChipPort", boost: bool = True) -> None:
        """*boost*: the antenna is on the pin PA_BOOST, as in RFM95 and nearly every module, and not on RFO."""
        self._port = port
        self._boost = boost
        self._base = LONG_RANGE
        self._written: dict[int, int] = {}
        self._rssi_offset_dbm = RSSI_OFFSET_HIGH_DBM
        self._payload_length = PAYLOAD_MAX
        self._explicit = True
        self._frf_send = self._frf_receive = b""

    def begin(self) -> None:
        """See LoraChip. Without a reset line, sleep mode suffices: ``configure`` writes all registers that matter."""
        self._port.reset()
        found = 0
        for _ in range(MAX_TRIES):
            found = self.read(REG_VERSION)
            if found == VERSION:
                break
            self._port.sleep_us(5_000)
        else:
            raise WrongChipError(NAME, "RegVersion", found, VERSION)
        self._enter_lora(LONG_RANGE)

    def after_reset(self) -> list[RegisterMismatch]:
        """See LoraChip."""
        if not self._port.reset():
            return []
        return self._compare(RESET_VALUES)

    def _enter_lora(self, base: int) -> None:
        """Go to sleep in the present mode, then to LoRa mode, which is possible in sleep only (DS page 108)."""
        self._base = base
        self._write(REG_OP_MODE, self.read(REG_OP_MODE) & ~MODE_MASK)
        self._write(REG_OP_MODE, base | MODE_SLEEP)

    def configure(self, modem: "Modem", power_dbm: int) -> None:
        """See LoraChip."""
        self._check(modem, power_dbm)
        low = modem.frequency_hz < BAND_EDGE_HZ
        self._rssi_offset_dbm = RSSI_OFFSET_LOW_DBM if low else RSSI_OFFSET_HIGH_DBM
        self._explicit = modem.explicit_header
        self._payload_length = modem.payload_length
        self._written = {}
        self._port.switch(PATH_OFF)
        self._enter_lora(LONG_RANGE | (LOW_FREQUENCY if low else 0))
        self._write(REG_OP_MODE, self._base | MODE_STANDBY)
        self._set_modem(modem)
        self._set_errata(modem)
        self._set_power(power_dbm)
        for register, value in (
            (REG_LNA, LNA_MAX_BOOST),
            (REG_FIFO_TX_BASE, 0),
            (REG_FIFO_RX_BASE, 0),
            (REG_IRQ_MASK, ~IRQ_USED & 0xFF),
            (REG_HOP_PERIOD, 0),
            (REG_MAX_PAYLOAD, PAYLOAD_MAX),
        ):
            self._keep(register, value)

    def _check(self, modem: "Modem", power_dbm: int) -> None:
        """Raise ModemError for a setting that the chip cannot have."""
        if not any(low <= modem.frequency_hz <= high for low, high in FREQUENCY_RANGES_HZ):
            raise ModemError(NAME, "frequency_hz", modem.frequency_hz)
        if modem.bandwidth_hz not in BANDWIDTHS_HZ:
            raise ModemError(NAME, "bandwidth_hz", modem.bandwidth_hz)
        # SF6 exists without a header only (DS 4.1.1.2).
        shortest = 7 if modem.explicit_header else 6
        check_ranges(NAME, modem, (("spreading_factor", shortest, 12), ("preamble_symbols", 6, 0xFFFF)))
        low, high = (BOOST_MIN_DBM, BOOST_MAX_DBM) if self._boost else (RFO_MIN_DBM, RFO_MAX_DBM)
        if not low <= power_dbm <= high:
            raise ModemError(NAME, "power_dbm", power_dbm)

    def _set_modem(self, modem: "Modem") -> None:
        short = modem.spreading_factor == 6
        config_1 = BANDWIDTHS_HZ.index(modem.bandwidth_hz) << 4 | (modem.coding_rate - 4) << 1
        self._keep(REG_MODEM_CONFIG_1, config_1 | (0 if modem.explicit_header else 1))
        # The upper bits of the symbol timeout stay 0: it is for RXSINGLE, which is not used.
        self._keep(REG_MODEM_CONFIG_2, modem.spreading_factor << 4 | (4 if modem.crc else 0))
        self._keep(REG_MODEM_CONFIG_3, (8 if modem.low_data_rate else 0) | 4)
        self._keep(REG_PREAMBLE, modem.preamble_symbols >> 8)
        self._keep(REG_PREAMBLE + 1, modem.preamble_symbols & 0xFF)
        self._write(REG_PAYLOAD_LENGTH, modem.payload_length)
        self._keep(REG_DETECTION_THRESHOLD, 0x0C if short else 0x0A)
        self._keep(REG_SYNC_WORD, modem.sync_word)
        self._keep(REG_INVERT_IQ, 0x66 if modem.inverted_iq else 0x27)
        self._keep(REG_INVERT_IQ_2, 0x19 if modem.inverted_iq else 0x1D)

    def _set_errata(self, modem: "Modem") -> None:
        """Set the frequency, and apply errata 2.1 (500 kHz) and 2.3 (spurious reception below it)."""
        wide = modem.bandwidth_hz == 500_000
        optimize = 0x05 if modem.spreading_factor == 6 else 0x03
        shift_hz = 0
        if wide:
            self._keep(REG_DETECT_OPTIMIZE, 0xC0 | optimize)
        else:
            if_freq, shift_hz = SPURIOUS_RECEPTION.get(modem.bandwidth_hz, (0x40, 0))
            self._keep(REG_DETECT_OPTIMIZE, 0x40 | optimize)
            self._keep(REG_IF_FREQ_2, if_freq)
            self._keep(REG_IF_FREQ_1, 0)
        if wide and modem.frequency_hz >= FREQUENCY_RANGES_HZ[2][0]:
            self._keep(REG_HIGH_BW_1, 0x02)
            self._keep(REG_HIGH_BW_2, 0x64)
        elif wide and modem.frequency_hz >= FREQUENCY_RANGES_HZ[1][0]:
            self._keep(REG_HIGH_BW_1, 0x02)
            self._keep(REG_HIGH_BW_2, 0x7F)
        else:
            self._keep(REG_HIGH_BW_1, 0x03)
        self._frf_send = frequency_registers(modem.frequency_hz)
        self._frf_receive = frequency_registers(modem.frequency_hz + shift_hz)
        self._tune(self._frf_receive)

    def _tune(self, frf: bytes) -> None:
        for offset, value in enumerate(frf):
            if self._written.get(REG_FRF + offset) != value:
                self._keep(REG_FRF + offset, value)

    def _set_power(self, power_dbm: int) -> None:
        """Set the amplifier, its current limit, and the high power setting (DS 5.4.2 to 5.4.4, pages 82 to 85)."""
        high = self._boost and power_dbm > BOOST_NORMAL_DBM
        if self._boost:
            # With the high power setting 15 means 20 dBm, without it 17 dBm.
            config = PA_BOOST | 0x70 | (power_dbm - (5 if high else 2))
            limit_ma = OCP_HIGH_MA if high else OCP_NORMAL_MA
        else:
            # Pout = 10.8 + 0.6 * MaxPower - (15 - OutputPower): MaxPower 7 reaches 0 to 15 dBm, 0 from -4 dBm.
            config = 0x70 | power_dbm if power_dbm > 0 else power_dbm + 4
            limit_ma = OCP_RFO_MA
        self._keep(REG_OCP, current_limit(limit_ma))
        self._keep(REG_PA_DAC, PA_DAC_HIGH if high else PA_DAC_NORMAL)
        self._keep(REG_PA_CONFIG, config)

    def start_receive(self) -> None:
        """See LoraChip. RXCONTINUOUS: DS 4.1.6, page 41."""
        self.standby()
        self._write(REG_DIO_MAPPING_1, DIO0_RX_DONE)
        self._write(REG_PAYLOAD_LENGTH, self._payload_length)
        self._write(REG_IRQ_FLAGS, 0xFF)
        self._write(REG_FIFO_ADDR_PTR, 0)
        self._tune(self._frf_receive)
        self._port.switch(PATH_RECEIVE)
        self._write(REG_OP_MODE, self._base | MODE_RECEIVE)

    def start_send(self, frame: bytes) -> None:
        """See LoraChip. DS 4.1.6, page 38."""
        if not 1 <= len(frame) <= PAYLOAD_MAX:
            raise ModemError(NAME, "payload_length", len(frame))
        if not self._explicit and len(frame) != self._payload_length:
            raise ModemError(NAME, "payload_length", len(frame))
        self.standby()
        self._write(REG_DIO_MAPPING_1, DIO0_TX_DONE)
        self._write(REG_IRQ_FLAGS, 0xFF)
        self._write(REG_FIFO_ADDR_PTR, 0)
        self._port.transfer(bytes([REG_FIFO | 0x80]) + frame)
        self._write(REG_PAYLOAD_LENGTH, len(frame))
        self._tune(self._frf_send)
        self._port.switch(PATH_SEND)
        self._write(REG_OP_MODE, self._base | MODE_SEND)

    def start_cad(self) -> None:
        """See LoraChip. CAD takes a little less than two symbols (DS page 44)."""
        self.standby()
        self._write(REG_DIO_MAPPING_1, DIO0_CAD_DONE)
        self._write(REG_IRQ_FLAGS, 0xFF)
        self._tune(self._frf_receive)
        self._port.switch(PATH_RECEIVE)
        self._write(REG_OP_MODE, self._base | MODE_CAD)

    def take_events(self) -> int:
        """See LoraChip. Writing ones clears flags (DS page 111): only those that were read."""
        flags = self.read(REG_IRQ_FLAGS) & IRQ_USED
        if not flags:
            return 0
        self._write(REG_IRQ_FLAGS, flags)
        return events_of(flags, MEANINGS)

    def read_frame(self, events: int) -> Frame:
        """See LoraChip. DS 4.1.6, page 42; signal strength: DS 5.5.5, page 87."""
        length = self.read(REG_RX_BYTES) if self._explicit else self._payload_length
        self._write(REG_FIFO_ADDR_PTR, self.read(REG_FIFO_RX_CURRENT))
        payload = self._port.transfer(bytes([REG_FIFO]) + bytes(length))[1:]
        snr = self.read(REG_PKT_SNR)
        snr_db = (snr - 256 if snr > 127 else snr) / 4
        strength = self.read(REG_PKT_RSSI)
        # Above the noise the register's slope is off by 16/15; below it, the signal is weaker than the measured power.
        rssi_dbm = self._rssi_offset_dbm + (strength * 16 / 15 if snr_db >= 0 else strength + snr_db)
        return Frame(payload, round(rssi_dbm), snr_db, bool(events & EVENT_CRC_ERROR))

    def receiving(self) -> bool:
        """See LoraChip."""
        return bool(self.read(REG_MODEM_STAT) & STAT_RECEIVING)

    def rssi_dbm(self) -> int:
        """See LoraChip."""
        return self._rssi_offset_dbm + self.read(REG_RSSI)

    def standby(self) -> None:
        """See LoraChip."""
        self._port.switch(PATH_OFF)
        self._write(REG_OP_MODE, self._base | MODE_STANDBY)

    def sleep(self) -> None:
        """See LoraChip. The content of the FIFO is lost."""
        self._port.switch(PATH_OFF)
        self._write(REG_OP_MODE, self._base | MODE_SLEEP)

    def differences(self) -> list[RegisterMismatch]:
        """See LoraChip."""
        found = self._compare(self._written)
        mode = self.read(REG_OP_MODE)
        if mode & ~MODE_MASK != self._base:
            found.append(RegisterMismatch("RegOpMode", REG_OP_MODE, self._base, mode))
        return found

    def _compare(self, wanted: dict[int, int]) -> list[RegisterMismatch]:
        found = []
        for register, expected in wanted.items():
            value = self.read(register)
            if register == REG_LNA:
                # The AGC changes the gain, and nothing else in this register.
                value = value & 0x1F | expected & 0xE0
            if value != expected:
                found.append(RegisterMismatch(REGISTER_NAMES[register], register, expected, value))
        return found

    def read(self, register: int) -> int:
        """Read *register*."""
        return self._port.transfer(bytes([register, 0]))[1]

    def _write(self, register: int, value: int) -> None:
        self._port.transfer(bytes([register | 0x80, value]))

    def _keep(self, register: int, value: int) -> None:
        """Write a register, and remember the value for ``differences``."""
        self._write(register, value)
        self._written[register] = value
