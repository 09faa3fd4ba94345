"""Board profiles: the wiring of LoRa boards to a Raspberry Pi, in TOML. Pure except for reading the files.

The profiles are in ``hw/boards`` (what their keys mean: ``hw/boards/README.md``) and are installed beside this module.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct, ValidationError, convert

from firmware_bridge.chips.sx126x import TCXO_MV

RESERVED_GPIOS: Final = {9: "SPI0 MISO", 10: "SPI0 MOSI", 11: "SPI0 SCLK"}
"""Lines of the bus itself."""
CHIPS: Final = ("sx1276", "sx1278", "sx1261", "sx1262", "sx1268", "e22-uart")
"""Chips of boards. ``e22-uart``: a chip behind a microcontroller with a serial port."""

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


Gpio: TypeAlias = Annotated[int, Meta(ge=0, le=27)]
"""The BCM number of a line on the 40-pin header of a Raspberry Pi."""
Frequency: TypeAlias = Annotated[int, Meta(ge=137_000_000, le=1_020_000_000)]
"""A frequency of the chips, in Hz."""


class Bus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The bus of a board."""

    device: str
    """The device: ``/dev/spidev0.0`` or a serial port."""
    # SX127x take up to 10 MHz, SX126x 16 (data sheets, electrical specifications).
    speed_hz: Annotated[int, Meta(ge=100_000, le=10_000_000)] = 2_000_000
    """Clock of the SPI bus."""


class Pins(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The lines of a board, by BCM number; None for a missing line."""

    cs: Gpio | None = None
    """Chip select that the driver controls; None: the SPI controller's own."""
    irq: Gpio | None = None
    """DIO0 of a SX127x, DIO1 of a SX126x."""
    reset: Gpio | None = None
    """Reset, active low."""
    busy: Gpio | None = None
    """BUSY of a SX126x."""
    tx_enable: Gpio | None = None
    """High while sending."""
    rx_enable: Gpio | None = None
    """High while receiving."""
    enable: tuple[Gpio, ...] = ()
    """Lines that are always high: supplies and antenna switches."""

    def used(self) -> dict[str, int]:
        """Return the lines that are wired, by name."""
        named = {name: getattr(self, name) for name in _PIN_NAMES}
        lines = {name: number for name, number in named.items() if number is not None}
        return lines | {f"enable {index}": number for index, number in enumerate(self.enable, 1)}


class Radio(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The chip of a board, and what is around it."""

    bands_hz: Annotated[tuple[tuple[Frequency, Frequency], ...], Meta(min_length=1)]
    """Bands of the board's filters, the lower edge first."""
    power_max_dbm: Annotated[int, Meta(ge=-17, le=22)]
    """Greatest power of the chip on this board."""
    amplifier_db: Annotated[int, Meta(ge=0, le=30)] = 0
    """Greatest gain of an amplifier behind the chip."""
    boost: bool = True
    """SX127x: whether the antenna is on PA_BOOST."""
    tcxo_mv: Annotated[int, Meta(ge=0, le=TCXO_MV[-1])] = 0
    """SX126x: voltage of a TCXO at DIO3; 0 for a crystal."""
    tcxo_start_us: Annotated[int, Meta(ge=0, le=100_000)] = 5_000
    """Start-up time of the TCXO."""
    dio2_switch: bool = False
    """SX126x: whether DIO2 controls the antenna switch."""


class BoardProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One board."""

    name: str
    """The name in commands, and of the file."""
    title: str
    """The name for people."""
    chip: str
    """One of ``CHIPS``."""
    bus: Bus
    pins: Pins = Pins()
    radio: Radio
    tried: str = ""
    """Date and machine of a test on real hardware; empty: not tested."""
    config_txt: tuple[str, ...] = ()
    """Lines that /boot/firmware/config.txt needs."""
    notes: tuple[str, ...] = ()
    """Further facts for people."""
    sources: dict[str, Annotated[str, Meta(min_length=1)]] = {}
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
            return 2 if self.radio.boost else -4
        return -17 if self.chip == "sx1261" else -9

    def covers(self, frequency_hz: int) -> bool:
        """Return whether the board's filters pass *frequency_hz*."""
        return any(low <= frequency_hz <= high for low, high in self.radio.bands_hz)


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


def parse_board(name: str, document: dict[str, object]) -> BoardProfile:
    """Make a profile of a parsed TOML *document*. Raises BoardError."""
    if "name" in document:
        raise BoardError(name, "a profile has the name of its file", "Leave out 'name'.")
    try:
        profile = convert({**document, "name": name}, BoardProfile)
    except ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        place = f"in {place.rstrip('`')}, " if place else ""
        raise BoardError(name, f"{place}{what[0].lower()}{what[1:]}", "See hw/boards/README.md.") from error
    _check(profile)
    return profile


def _check(profile: BoardProfile) -> None:
    """Check that the facts are consistent. Raises BoardError."""
    if profile.chip not in CHIPS:
        raise BoardError(
            profile.name, f"its chip '{profile.chip}' is not known", f"There are: {', '.join(CHIPS)}."
        )
    if any(low >= high for low, high in profile.radio.bands_hz):
        raise BoardError(profile.name, "in radio.bands_hz, the lower edge is not first", "Swap the two.")
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
        if number in RESERVED_GPIOS:
            raise BoardError(
                profile.name, f"{line} is GPIO {number}, which is {RESERVED_GPIOS[number]}", "Correct pins."
            )
        wired[number] = line


def _check_chip(profile: BoardProfile) -> None:
    highest = 20 if profile.is_sx127x else 14 if profile.chip == "sx1261" else 22
    radio, wrong = profile.radio, None
    if profile.pins.irq is None:
        wrong = "it has no irq line", "Give pins.irq: the chip signals frames by it."
    elif not profile.is_sx127x and profile.pins.busy is None:
        wrong = "a SX126x needs its busy line", "Give pins.busy."
    elif profile.is_sx127x and (radio.tcxo_mv or radio.dio2_switch):
        wrong = "tcxo_mv and dio2_switch are for SX126x", "Leave them out."
    elif radio.tcxo_mv and radio.tcxo_mv not in TCXO_MV:
        wrong = f"no chip gives {radio.tcxo_mv} mV to a TCXO", f"Give 0 for a crystal, or one of {TCXO_MV}."
    elif radio.power_max_dbm > highest:
        wrong = f"its chip sends with up to {highest} dBm", "Lower radio.power_max_dbm."
    if wrong is not None:
        raise BoardError(profile.name, *wrong)
