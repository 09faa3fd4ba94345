"""What a LoRa chip is set to and what it tells, as plain objects. Runs in MicroPython, too."""

EVENT_SENT = 1
"""The frame is on the air to its end."""
EVENT_RECEIVED = 2
"""A frame can be read."""
EVENT_CRC_ERROR = 4
"""Comes with EVENT_RECEIVED: the chip's own CRC says the frame is damaged."""
EVENT_CAD_DONE = 8
"""Listening for activity is over."""
EVENT_CAD_BUSY = 16
"""Comes with EVENT_CAD_DONE: there was activity."""
EVENT_HEADER_ERROR = 32
"""A frame began whose header is damaged."""
EVENT_TIMEOUT = 64
"""The chip gave up what it was told to do."""


def events_of(flags: int, meanings: "dict[int, int]") -> int:
    """The events that a chip's interrupt *flags* tell of, by what each of its flags means."""
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
LOW_DATA_RATE_US = 16_000
"""Symbols this long or longer need the low data rate optimisation (SX1276 data sheet 4.1.1.6)."""


class Modem:
    """All that two modems must agree on to hear each other."""

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
        """Such as 125,000."""
        self.spreading_factor = spreading_factor
        """5 or 6 (by chip) to 12."""
        self.coding_rate = coding_rate
        """Denominator of the coding rate: 5 for 4/5 to 8 for 4/8."""
        self.preamble_symbols = preamble_symbols
        """Programmed length of the preamble."""
        self.sync_word = sync_word
        """One byte, as SX127x count it."""
        self.crc = crc
        """Whether the chip puts a CRC of its own behind a frame."""
        self.explicit_header = explicit_header
        """Whether each frame says its own length, coding rate and CRC."""
        self.payload_length = payload_length
        """Bytes of every frame where there is no header; else the most that are received."""
        self.inverted_iq = inverted_iq
        """Whether chirps go the other way."""
        if low_data_rate is None:
            low_data_rate = self.symbols_us(4) >= LOW_DATA_RATE_US
        self.low_data_rate = low_data_rate
        """Low data rate optimisation; if not given, on for symbols of 16 ms or more, as all but RNode do it."""

    def symbols_us(self, quarters: int) -> int:
        """Microseconds that so many quarters of a symbol take, rounded up."""
        chips = quarters << self.spreading_factor
        return -(-chips * 1_000_000 // (4 * self.bandwidth_hz))

    def preamble_quarters(self) -> int:
        """Quarters of a symbol before the header: preamble, sync word and start of frame.

        4.25 symbols behind the preamble, 6.25 at SF5 and SF6 (SX1261/2 data sheet 6.1.4).
        """
        return 4 * self.preamble_symbols + (25 if self.spreading_factor < 7 else 17)

    def header_quarters(self) -> int:
        """Quarters of a symbol until the header has been sent: it fills the first block of 8 symbols."""
        return self.preamble_quarters() + 32

    def airtime_us(self, length: int) -> int:
        """Microseconds a frame of *length* bytes is on the air, rounded up (SX1261/2 data sheet 6.1.4, AN1200.13)."""
        short = self.spreading_factor < 7
        bits = 8 * length - 4 * self.spreading_factor + (0 if short else 8)
        bits += (16 if self.crc else 0) + (20 if self.explicit_header else 0)
        per_block = 4 * (self.spreading_factor - (2 if self.low_data_rate else 0))
        blocks = max(-(-bits // per_block), 0)
        return self.symbols_us(self.preamble_quarters() + 4 * (8 + blocks * self.coding_rate))


class Frame:
    """What a chip received."""

    def __init__(self, payload: bytes, rssi_dbm: int, snr_db: float, damaged: bool) -> None:
        self.payload = payload
        """Its bytes, 0 to 255."""
        self.rssi_dbm = rssi_dbm
        """Strength of the signal; below the noise where *snr_db* is negative."""
        self.snr_db = snr_db
        """Signal to noise ratio, in quarters of a dB."""
        self.damaged = damaged
        """The chip's own CRC failed. False also where the sender put none."""


class Difference:
    """A register that does not hold what was written to it."""

    def __init__(self, name: str, address: int, expected: int, found: int) -> None:
        self.name = name
        """As the data sheet calls it."""
        self.address = address
        """Where it is."""
        self.expected = expected
        """What was written, or what it holds after a reset."""
        self.found = found
        """What was read."""
