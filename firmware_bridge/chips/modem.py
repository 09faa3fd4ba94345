"""Settings, events and frames of LoRa chips, and time on air, as plain objects. Runs in MicroPython, too."""

from firmware_bridge.chips.errors import ModemError

EVENT_SENT = 1
"""The frame has been sent."""
EVENT_RECEIVED = 2
"""A frame has been received and can be read."""
EVENT_CRC_ERROR = 4
"""Comes with EVENT_RECEIVED: the chip's own CRC failed."""
EVENT_CAD_DONE = 8
"""Channel activity detection (CAD) has ended."""
EVENT_CAD_BUSY = 16
"""Comes with EVENT_CAD_DONE: the channel was busy."""
EVENT_HEADER_ERROR = 32
"""A frame with a damaged header arrived."""
EVENT_TIMEOUT = 64
"""The chip gave up its last command."""


def events_of(flags: int, meanings: "dict[int, int]") -> int:
    """Translate a chip's interrupt *flags* to events, by the *meanings* of its flags."""
    events = 0
    for flag, event in meanings.items():
        if flags & flag:
            events |= event
    return events


PATH_OFF = 0
"""Antenna switch: neither receiver nor transmitter."""
PATH_RECEIVE = 1
"""Antenna switch: to the receiver."""
PATH_SEND = 2
"""Antenna switch: to the transmitter."""

PAYLOAD_MAX = 255
"""Most bytes of a frame: its header counts in one byte."""
BANDWIDTHS_HZ = (7_800, 10_400, 15_600, 20_800, 31_250, 41_700, 62_500, 125_000, 250_000, 500_000)
"""Bandwidths of SX127x and SX126x, by the number that RegModemConfig1 of SX127x gives them (data sheet page 112)."""
LOW_DATA_RATE_US = 16_000
"""Symbols this long or longer need the low data rate optimisation (SX1276 data sheet 4.1.1.6)."""
RESET_LOW_US = 200
"""Length of a reset pulse: twice what SX127x and SX126x ask for (data sheets 7.2.2 and 8.1)."""
RESET_WAIT_US = 6_000
"""Wait after a reset: SX127x need 5 ms (data sheet 7.2.2)."""
EVENTS_IN_A_ROW = 8
"""Reads of events at one interrupt: more than a chip can have, so that a stuck line cannot hold the driver."""
RECEIVING_FRAMES = 2
"""A receiver that reports an incoming frame for longer than this many longest frames is restarted."""


def symbols_us(settings: "Modem", quarters: int) -> int:
    """Return the microseconds of so many quarters of a symbol, rounded up."""
    chips = quarters << settings.spreading_factor
    return -(-chips * 1_000_000 // (4 * settings.bandwidth_hz))


def preamble_quarters(settings: "Modem") -> int:
    """Return the quarters of a symbol before the header: preamble, sync word and start of frame.

    4.25 symbols follow the preamble, 6.25 at SF5 and SF6 (SX1261/2 data sheet 6.1.4).
    """
    return 4 * settings.preamble_symbols + (25 if settings.spreading_factor < 7 else 17)


def check_ranges(chip: str, modem: "Modem", ranges: "tuple[tuple[str, int, int], ...]") -> None:
    """Raise ModemError for the first setting of *modem* outside its range: name, lowest and highest value."""
    common = (("coding_rate", 5, 8), ("sync_word", 0, 0xFF), ("payload_length", 1, PAYLOAD_MAX))
    for field, low, high in ranges + common:
        value = getattr(modem, field)
        if not low <= value <= high:
            raise ModemError(chip, field, value)


class Modem:
    """The settings that two modems must share to hear each other."""

    def __init__(
        self,
        *,
        frequency_hz: int,
        bandwidth_hz: int = 125_000,
        spreading_factor: int = 7,
        coding_rate: int = 5,
        preamble_symbols: int = 8,
        sync_word: int = 0x12,
        crc: bool = False,
        explicit_header: bool = True,
        payload_length: int = PAYLOAD_MAX,
        inverted_iq: bool = False,
        low_data_rate: "bool | None" = None,
    ) -> None:
        self.frequency_hz = frequency_hz
        """Centre frequency."""
        self.bandwidth_hz = bandwidth_hz
        """Bandwidth, for example 125,000."""
        self.spreading_factor = spreading_factor
        """Spreading factor: 5 or 6 (by chip) to 12."""
        self.coding_rate = coding_rate
        """Denominator of the coding rate: 5 for 4/5 to 8 for 4/8."""
        self.preamble_symbols = preamble_symbols
        """Programmed length of the preamble."""
        self.sync_word = sync_word
        """Sync word, one byte, as SX127x write it."""
        self.crc = crc
        """True if the chip appends a CRC of its own to a frame."""
        self.explicit_header = explicit_header
        """True if each frame has a header with its length, coding rate and CRC."""
        self.payload_length = payload_length
        """Bytes of every frame if there is no header; else the most that are received."""
        self.inverted_iq = inverted_iq
        """True if the chirps are inverted."""
        if low_data_rate is None:
            low_data_rate = symbols_us(self, 4) >= LOW_DATA_RATE_US
        self.low_data_rate = low_data_rate
        """Low data rate optimisation. Default: on for symbols of 16 ms or more, as in all firmware but RNode's."""

    def airtime_us(self, length: int) -> int:
        """Return the time on air of a frame of *length* bytes, rounded up (SX1261/2 data sheet 6.1.4, AN1200.13)."""
        bits = 8 * length - 4 * self.spreading_factor + (0 if self.spreading_factor < 7 else 8)
        bits += (16 if self.crc else 0) + (20 if self.explicit_header else 0)
        per_block = 4 * (self.spreading_factor - (2 if self.low_data_rate else 0))
        blocks = max(-(-bits // per_block), 0)
        return symbols_us(self, preamble_quarters(self) + 4 * (8 + blocks * self.coding_rate))


class Frame:
    """A received frame."""

    def __init__(self, payload: bytes, rssi_dbm: int, snr_db: float, damaged: bool) -> None:
        self.payload = payload
        """The 0 to 255 bytes."""
        self.rssi_dbm = rssi_dbm
        """Signal strength; below the noise if *snr_db* is negative."""
        self.snr_db = snr_db
        """Signal-to-noise ratio, in steps of a quarter."""
        self.damaged = damaged
        """True if the chip's own CRC failed; False if it did not or the frame has none."""


class RegisterMismatch:
    """A register whose value is not the expected one."""

    def __init__(self, name: str, address: int, expected: int, found: int) -> None:
        self.name = name
        """The name in the data sheet."""
        self.address = address
        """The register's address."""
        self.expected = expected
        """The value that was written, or that a reset gives."""
        self.found = found
        """The value that was read."""
