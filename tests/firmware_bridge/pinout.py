"""Drawings and pages of boards' wiring, made from their profiles: python -m tests.firmware_bridge.pinout hw/wiring."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from firmware_bridge.boards import RESERVED_GPIOS, BoardProfile, board_names, load_board

HEADER: Final[tuple[int | str, ...]] = (
    "3V3", "5V", 2, "5V", 3, "GND", 4, 14, "GND", 15, 17, 18, 27, "GND", 22, 23, "3V3", 24, 10, "GND",
    9, 25, 11, 8, "GND", 7, "ID", "ID", 5, "GND", 6, 12, 13, "GND", 19, 16, 26, 20, "GND", 21,
)  # fmt: skip
"""Pins 1 to 40 of a Raspberry Pi's header: BCM numbers, or names (Raspberry Pi documentation)."""
ROW: Final = 24
"""Height of a row of two pins."""
TOP: Final = 84
"""Height of the first row."""
MIDDLE: Final = 380
"""Position of the header's middle."""
WIDTH: Final = 2 * MIDDLE
"""Width of a drawing."""
COLOURS: Final[Mapping[str, str]] = {
    "supply": "#c0392b",
    "ground": "#4a4a4a",
    "used": "#1f6f43",
    "free": "#c9ced3",
}
"""Fill of a pin."""


def signals(profile: BoardProfile) -> dict[int, str]:
    """Return the use of each GPIO by the board."""
    used = {number: _SIGNALS.get(name, name) for name, number in profile.pins.used().items()}
    if not profile.is_spi:
        return {14: "TXD to the board", 15: "RXD from the board"} | used
    bus = dict(RESERVED_GPIOS)
    if profile.pins.cs is None:
        bus[8 if profile.bus.device.endswith(".0") else 7] = "chip select (by the SPI controller)"
    return bus | used


_SIGNALS: Final[Mapping[str, str]] = {
    "cs": "chip select (by the driver)",
    "irq": "interrupt",
    "reset": "reset",
    "busy": "BUSY",
    "tx_enable": "high while sending",
    "rx_enable": "high while receiving",
    "enable 1": "always high",
    "enable 2": "always high",
}


def draw_svg(profile: BoardProfile) -> str:
    """Draw the header with the board's lines, pin 1 at the top left as on a Pi with its ports to the right."""
    height = TOP + 20 * ROW + 30
    used = signals(profile)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'font-family="sans-serif" font-size="13">'
        ),
        f"<title>{escape(profile.title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{MIDDLE}" y="30" text-anchor="middle" font-size="17">{escape(profile.title)}</text>',
        (
            f'<text x="{MIDDLE}" y="52" text-anchor="middle" fill="#4a4a4a">'
            f"{profile.chip.upper()} on {escape(profile.bus.device)}</text>"
        ),
        f'<rect x="{MIDDLE - 30}" y="{TOP - 14}" width="60" height="{20 * ROW + 4}" rx="6" fill="#e9ecef"/>',
    ]
    for index, what in enumerate(HEADER):
        parts += _pin(index + 1, what, used)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _pin(number: int, what: int | str, used: dict[int, str]) -> list[str]:
    """Draw one pin with its name and use."""
    left = number % 2 == 1
    sign = -1 if left else 1
    y = TOP + (number - 1) // 2 * ROW
    signal = used.get(what) if isinstance(what, int) else None
    name = f"GPIO {what}" if isinstance(what, int) else what
    if isinstance(what, int):
        kind = "free" if signal is None else "used"
    else:
        kind = {"3V3": "supply", "5V": "supply", "GND": "ground"}.get(what, "free")
    anchor = "end" if left else "start"
    colour = "#111111" if signal else "#8a9096"
    text = f"{name}: {signal}" if signal else name
    shown = "#ffffff" if kind != "free" else "#111111"
    return [
        f'<circle cx="{MIDDLE + sign * 15}" cy="{y}" r="10" fill="{COLOURS[kind]}"/>',
        (
            f'<text x="{MIDDLE + sign * 15}" y="{y + 4}" text-anchor="middle" font-size="10" fill="{shown}">'
            f"{number}</text>"
        ),
        f'<text x="{MIDDLE + sign * 40}" y="{y + 4}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>',
    ]


def write_page(profile: BoardProfile) -> str:
    """Write the board's page: drawing, table of wires, set-up, sources."""
    used = signals(profile)
    rows = "\n".join(
        f"| {number} | GPIO {what} | {used[what]} |"
        for number, what in enumerate(HEADER, 1)
        if isinstance(what, int) and what in used
    )
    bands = ", ".join(f"{low / 1e6:g} to {high / 1e6:g}" for low, high in profile.radio.bands_hz)
    amplifier = (
        f", and an amplifier adds up to {profile.radio.amplifier_db} dB" if profile.radio.amplifier_db else ""
    )
    lines = "\n".join(profile.config_txt)
    setup = (
        f"In `/boot/firmware/config.txt`, followed by a restart:\n\n```\n{lines}\n```\n\n"
        f"Then check the board with `tinyssb radio probe --board {profile.name}`.\n"
        if profile.config_txt
        else "The chip is not on SPI: `tinyssb radio probe` cannot check it.\n"
    )
    notes = "".join(f"- {note}\n" for note in profile.notes)
    sources = "".join(f"- {fact}: {source}\n" for fact, source in profile.sources.items())
    tried = profile.tried or "not yet; all facts come from the sources below"
    return (
        f"# {profile.title}\n\n"
        f"![The header with the lines of {profile.title}]({profile.name}.svg)\n\n"
        f"Chip: {profile.chip.upper()} on `{profile.bus.device}`. Made for {bands} MHz.\n"
        f"The chip sends with {profile.radio.power_max_dbm} dBm at most{amplifier}.\n"
        f"Tried: {tried}.\n\n"
        f"| pin | line | use |\n| --- | --- | --- |\n{rows}\n\n"
        "A board on the header needs no wires. A board on loose wires also needs 3.3 V (pin 1 or 17) and ground\n"
        "(pin 6, 9 or others). Two mistakes destroy a module: 5 V on a pin made for 3.3 V, and sending without an\n"
        "antenna.\n\n"
        f"{setup}\n"
        + (f"{notes}\n" if notes else "")
        + f"Sources:\n\n{sources}\n"
        + f"Made from [`{profile.name}.toml`](../boards/{profile.name}.toml) by "
        + "`python -m tests.firmware_bridge.pinout`.\n"
    )


def write_index() -> str:
    """Write the list of all boards."""
    rows = "\n".join(
        f"| [{profile.title}]({profile.name}.md) | `{profile.name}` | {profile.chip.upper()} "
        f"| {profile.tried or 'no'} |"
        for profile in map(load_board, board_names())
    )
    return (
        "# Wiring\n\n"
        "The wiring of LoRa boards to a Raspberry Pi's header. Each page has a drawing, the lines for `config.txt`,\n"
        "and its sources. `tinyssb radio probe` checks the board itself.\n\n"
        f"| board | name | chip | tried |\n| --- | --- | --- | --- |\n{rows}\n\n"
        "Pages and drawings are made from the [profiles](../boards/README.md) by\n"
        "`python -m tests.firmware_bridge.pinout hw/wiring`; a test compares them.\n"
    )


def render_all() -> dict[str, str]:
    """Render every file of the folder, by name."""
    files = {"README.md": write_index()}
    for profile in map(load_board, board_names()):
        files[f"{profile.name}.svg"] = draw_svg(profile)
        files[f"{profile.name}.md"] = write_page(profile)
    return files


def main(folder: str) -> None:
    """Write all files into *folder*."""
    Path(folder).mkdir(exist_ok=True)
    for name, text in render_all().items():
        (Path(folder) / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
