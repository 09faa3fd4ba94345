"""Board profiles: the wiring of LoRa boards to a Raspberry Pi, in TOML. Pure except for reading the files.

The profiles are in ``hw/boards`` (what their keys mean: ``hw/boards/README.md``) and are installed beside this module.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeGuard

from firmware_bridge.chips.sx126x import TCXO_MV

GPIO_MAX: Final = 27
"""Highest BCM number on the 40-pin header of a Raspberry Pi."""
RESERVED_GPIOS: Final = {9: "SPI0 MISO", 10: "SPI0 MOSI", 11: "SPI0 SCLK"}
"""Lines of the bus itself."""
CHIPS: Final = ("sx1276", "sx1278", "sx1261", "sx1262", "sx1268", "e22-uart")
"""Chips of boards. ``e22-uart``: a chip behind a microcontroller with a serial port."""
SPI_SPEED_RANGE_HZ: Final = (100_000, 10_000_000)
"""SX127x take up to 10 MHz, SX126x 16 (data sheets, electrical specifications)."""
START_RANGE_US: Final = (0, 100_000)
"""Start-up time of a TCXO."""
POWER_RANGE_DBM: Final = (-17, 22)
"""Powers of the chips."""
AMPLIFIER_RANGE_DB: Final = (0, 30)
"""Gain of an amplifier behind the chip."""
BAND_RANGE_HZ: Final = (137_000_000, 1_020_000_000)
"""Frequencies of the chips."""

FOLDERS: Final = (Path(__file__).parent / "board_profiles", Path(__file__).parents[1] / "hw" / "boards")
"""Folders of profiles: in an installed wheel, and in the repository."""
_PIN_NAMES: Final = ("cs", "irq", "reset", "busy", "tx_enable", "rx_enable")


class BoardError(ValueError):
    """An unusable profile."""

    def __init__(self, board: str, what: str, remedy: str) -> None:
        super().__init__(f"The board '{board}' cannot be used: {what}. {remedy}")
        self.board = board
        """The profile's name or file."""
        self.what = what
        """The fault."""
        self.remedy = remedy
        """The next step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """The lines of a board, by BCM number; None for a missing line."""

    cs: int | None
    """Chip select that the driver controls; None: the SPI controller's own."""
    irq: int | None
    """DIO0 of a SX127x, DIO1 of a SX126x."""
    reset: int | None
    """Reset, active low."""
    busy: int | None
    """BUSY of a SX126x."""
    tx_enable: int | None
    """High while sending."""
    rx_enable: int | None
    """High while receiving."""
    enable: tuple[int, ...]
    """Lines that are always high: supplies and antenna switches."""

    def used(self) -> dict[str, int]:
        """Return the lines that are wired, by name."""
        named = {name: getattr(self, name) for name in _PIN_NAMES}
        lines = {name: number for name, number in named.items() if number is not None}
        return lines | {f"enable {index}": number for index, number in enumerate(self.enable, 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardProfile:
    """One board. *sources* names the source of each fact."""

    name: str
    """The name in commands, and of the file."""
    title: str
    """The name for people."""
    chip: str
    """One of ``CHIPS``."""
    tried: str
    """Date and machine of a test on real hardware; empty: not tested."""
    device: str
    """The device: ``/dev/spidev0.0`` or a serial port."""
    speed_hz: int
    """Clock of the SPI bus."""
    pins: Pins
    bands_hz: tuple[tuple[int, int], ...]
    """Bands of the board's filters."""
    power_max_dbm: int
    """Greatest power of the chip on this board."""
    amplifier_db: int
    """Greatest gain of an amplifier behind the chip."""
    boost: bool
    """SX127x: whether the antenna is on PA_BOOST."""
    tcxo_mv: int
    """SX126x: voltage of a TCXO at DIO3; 0 for a crystal."""
    tcxo_start_us: int
    """Start-up time of the TCXO."""
    dio2_switch: bool
    """SX126x: whether DIO2 controls the antenna switch."""
    config_txt: tuple[str, ...]
    """Lines that /boot/firmware/config.txt needs."""
    notes: tuple[str, ...]
    """Further facts for people."""
    sources: dict[str, str]
    """Sources by fact."""

    @property
    def is_spi(self) -> bool:
        """True if the chip is on SPI."""
        return self.chip != "e22-uart"

    @property
    def is_sx127x(self) -> bool:
        """True if the chip is of the family SX127x."""
        return self.chip in ("sx1276", "sx1278")

    @property
    def power_min_dbm(self) -> int:
        """Least power of the chip."""
        if self.is_sx127x:
            return 2 if self.boost else -4
        return -17 if self.chip == "sx1261" else -9

    def covers(self, frequency_hz: int) -> bool:
        """Return whether the board's filters pass *frequency_hz*."""
        return any(low <= frequency_hz <= high for low, high in self.bands_hz)


def board_names() -> list[str]:
    """Return the names of all profiles, sorted."""
    return sorted({path.stem for folder in FOLDERS for path in folder.glob("*.toml")})


def load_board(name: str) -> BoardProfile:
    """Load the profile *name*, or the file *name* if it contains a slash. Raises BoardError."""
    if "/" in name:
        return _read(Path(name))
    for folder in FOLDERS:
        path = folder / f"{name}.toml"
        if path.is_file():
            return _read(path)
    raise BoardError(name, "there is no such profile", f"There are: {', '.join(board_names())}.")


def _read(path: Path) -> BoardProfile:
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BoardError(
            str(path), f"its file cannot be read ({error.strerror})", "Check the path."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BoardError(str(path), f"it is not TOML ({error})", "Correct the file.") from error
    return parse_board(path.stem, document)


class _Table:
    """One table of a profile; keys that were not read are errors."""

    def __init__(self, board: str, name: str, values: object) -> None:
        self._board = board
        self._name = name
        if not isinstance(values, dict):
            raise BoardError(board, f"[{name}] is not a table", "See hw/boards/README.md.")
        self._values: dict[str, object] = dict(values)

    def fail(self, key: str, allowed: str) -> BoardError:
        place = f"{self._name}.{key}" if self._name else key
        return BoardError(self._board, f"{place} has to be {allowed}", "See hw/boards/README.md.")

    def take(self, key: str, default: object = None) -> object:
        return self._values.pop(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.take(key, default)
        if not isinstance(value, str):
            raise self.fail(key, "text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.take(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fail(key, "a list of texts")
        return tuple(value)

    def number(self, key: str, limits: tuple[int, int], default: int | None = None) -> int:
        value = self.take(key, default)
        if not _is_whole(value) or not limits[0] <= value <= limits[1]:
            raise self.fail(key, f"a whole number from {limits[0]:,} to {limits[1]:,}")
        return value

    def switch(self, key: str, *, default: bool) -> bool:
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, "true or false")
        return value

    def gpio(self, key: str) -> int | None:
        return None if key not in self._values else self._gpio(key, self.take(key))

    def gpios(self, key: str) -> tuple[int, ...]:
        value = self.take(key, [])
        if not isinstance(value, list):
            raise self.fail(key, "a list of numbers of GPIO lines")
        return tuple(self._gpio(key, item) for item in value)

    def _gpio(self, key: str, value: object) -> int:
        if not _is_whole(value) or not 0 <= value <= GPIO_MAX:
            raise self.fail(key, f"the number of a GPIO line, 0 to {GPIO_MAX}")
        if value in RESERVED_GPIOS:
            raise self.fail(key, f"another line: {value} is {RESERVED_GPIOS[value]}")
        return value

    def end(self) -> None:
        for key in self._values:
            raise self.fail(key, "left out: there is no such key")


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def parse_board(name: str, document: dict[str, object]) -> BoardProfile:
    """Make a profile of a parsed TOML *document*. Raises BoardError."""
    top = _Table(name, "", document)
    bus = _Table(name, "bus", top.take("bus", {}))
    pins = _Table(name, "pins", top.take("pins", {}))
    radio = _Table(name, "radio", top.take("radio", {}))
    sources = top.take("sources", {})
    profile = BoardProfile(
        name=name,
        title=top.text("title"),
        chip=top.text("chip"),
        tried=top.text("tried", ""),
        notes=top.texts("notes"),
        config_txt=top.texts("config_txt"),
        device=bus.text("device"),
        speed_hz=bus.number("speed_hz", SPI_SPEED_RANGE_HZ, 2_000_000),
        pins=Pins(
            cs=pins.gpio("cs"),
            irq=pins.gpio("irq"),
            reset=pins.gpio("reset"),
            busy=pins.gpio("busy"),
            tx_enable=pins.gpio("tx_enable"),
            rx_enable=pins.gpio("rx_enable"),
            enable=pins.gpios("enable"),
        ),
        bands_hz=_bands(radio),
        power_max_dbm=radio.number("power_max_dbm", POWER_RANGE_DBM),
        amplifier_db=radio.number("amplifier_db", AMPLIFIER_RANGE_DB, 0),
        boost=radio.switch("boost", default=True),
        tcxo_mv=radio.number("tcxo_mv", (0, TCXO_MV[-1]), 0),
        tcxo_start_us=radio.number("tcxo_start_us", START_RANGE_US, 5_000),
        dio2_switch=radio.switch("dio2_switch", default=False),
        sources=_sources(name, sources),
    )
    for table in (top, bus, pins, radio):
        table.end()
    _check(profile)
    return profile


def _bands(radio: _Table) -> tuple[tuple[int, int], ...]:
    value = radio.take("bands_hz")
    allowed = "a list of pairs of frequencies in Hz, the lower first"
    if not isinstance(value, list) or not value:
        raise radio.fail("bands_hz", allowed)
    bands = []
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2 or not all(_is_whole(edge) for edge in pair):
            raise radio.fail("bands_hz", allowed)
        low, high = pair
        if not BAND_RANGE_HZ[0] <= low < high <= BAND_RANGE_HZ[1]:
            raise radio.fail("bands_hz", allowed)
        bands.append((low, high))
    return tuple(bands)


def _sources(board: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) and text for text in value.values()):
        raise BoardError(board, "[sources] has to name a source for each fact", "See hw/boards/README.md.")
    return dict(value)


def _check(profile: BoardProfile) -> None:
    """Check that the facts are consistent. Raises BoardError."""
    if profile.chip not in CHIPS:
        raise BoardError(
            profile.name, f"its chip '{profile.chip}' is not known", f"There are: {', '.join(CHIPS)}."
        )
    _check_lines(profile)
    if profile.is_spi:
        _check_chip(profile)
    facts = {"pins", "radio", *(["config_txt"] if profile.config_txt else [])}
    if missing := sorted(facts - set(profile.sources)):
        raise BoardError(profile.name, f"[sources] has nothing for {', '.join(missing)}", "Name the source.")


def _check_lines(profile: BoardProfile) -> None:
    wired: dict[int, str] = {}
    for line, number in profile.pins.used().items():
        if number in wired:
            raise BoardError(
                profile.name, f"{line} and {wired[number]} are both GPIO {number}", "Give each line one use."
            )
        wired[number] = line


def _check_chip(profile: BoardProfile) -> None:
    highest = 20 if profile.is_sx127x else 14 if profile.chip == "sx1261" else 22
    wrong = None
    if profile.pins.irq is None:
        wrong = "it has no irq line", "Give pins.irq: the chip signals frames by it."
    elif not profile.is_sx127x and profile.pins.busy is None:
        wrong = "a SX126x needs its busy line", "Give pins.busy."
    elif profile.is_sx127x and (profile.tcxo_mv or profile.dio2_switch):
        wrong = "tcxo_mv and dio2_switch are for SX126x", "Leave them out."
    elif profile.tcxo_mv and profile.tcxo_mv not in TCXO_MV:
        wrong = f"no chip gives {profile.tcxo_mv} mV to a TCXO", f"Give 0 for a crystal, or one of {TCXO_MV}."
    elif profile.power_max_dbm > highest:
        wrong = f"its chip sends with up to {highest} dBm", "Lower radio.power_max_dbm."
    if wrong is not None:
        raise BoardError(profile.name, *wrong)
