"""Profiles of boards: those there are, and what is wrong with those that are no use."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from firmware_bridge import boards
from firmware_bridge.boards import BoardError, board_names, load_board, parse_board
from tests.architecture.sources import ROOT, pyproject
from tests.firmware_bridge import pinout

GOOD = """
title = "Good"
chip = "sx1262"
config_txt = ["dtparam=spi=on"]
[bus]
device = "/dev/spidev0.0"
[pins]
cs = 21
irq = 16
reset = 18
busy = 20
enable = [6]
[radio]
bands_hz = [[863_000_000, 870_000_000]]
power_max_dbm = 22
tcxo_mv = 1_800
[sources]
pins = "a page"
radio = "another"
config_txt = "a third"
"""


BANDS = "[[863_000_000, 870_000_000]]"


def document(text: str = GOOD) -> dict[str, Any]:
    return tomllib.loads(text)


@pytest.mark.parametrize("name", board_names())
def test_every_profile_can_be_read_and_says_where_its_facts_are_from(name: str) -> None:
    profile = load_board(name)
    assert profile.name == name
    assert set(profile.sources) >= {"pins", "radio"}


def test_the_boards_that_people_have_are_there() -> None:
    assert set(board_names()) == {
        "adafruit-lora-bonnet", "dragino-lora-gps-hat", "loraham-pi-433", "loraham-pi-868", "meshadv-mini",
        "meshadv-pi", "nebrahat-1w", "rak6421-rak13300-slot1", "uputronics-lora-ce0", "uputronics-lora-ce1",
        "waveshare-lora-uart-hat", "waveshare-sx1262-lorawan-hat", "zebrahat-1w",
    }  # fmt: skip


def test_profiles_are_installed_with_the_package() -> None:
    included = pyproject()["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included["hw/boards"] == "firmware_bridge/board_profiles"
    assert boards.FOLDERS[0] == Path(boards.__file__).parent / "board_profiles"


def test_a_good_one() -> None:
    profile = parse_board("good", document())
    assert profile.pins.used() == {"cs": 21, "irq": 16, "reset": 18, "busy": 20, "enable 1": 6}
    assert (profile.radio.tcxo_mv, profile.bus.speed_hz, profile.is_sx127x) == (1_800, 2_000_000, False)
    assert profile.covers(868_300_000)
    assert not profile.covers(433_300_000)


@pytest.mark.parametrize(
    ("was", "made", "words"),
    [
        ('title = "Good"', "title = 7", "in title, expected `str`"),
        ('chip = "sx1262"', 'chip = "sx9999"', "its chip 'sx9999' is not known"),
        ("irq = 16", "irq = 21", "irq and cs are both GPIO 21"),
        ("irq = 16", "irq = 28", "in pins.irq, expected `int` <= 27"),
        ("irq = 16", "irq = true", "in pins.irq, expected `int | null`, got `bool`"),
        ("irq = 16", "irq = 10", "irq is GPIO 10, which is SPI0 MOSI"),
        ("irq = 16\n", "", "it has no irq line"),
        ("busy = 20\n", "", "a SX126x needs its busy line"),
        ("enable = [6]", "enable = 6", "in pins.enable, expected `array`"),
        ("tcxo_mv = 1_800", "tcxo_mv = 1_801", "no chip gives 1801 mV to a TCXO"),
        ("tcxo_mv = 1_800", "dio2_switch = 1", "in radio.dio2_switch, expected `bool`"),
        ("power_max_dbm = 22", "power_max_dbm = 30", "in radio.power_max_dbm, expected `int` <= 22"),
        (BANDS, "[[870_000_000, 863_000_000]]", "in radio.bands_hz, the lower edge is not first"),
        (BANDS, "[]", "in radio.bands_hz, expected `array` of length >= 1"),
        (BANDS, '[["a", "b"]]', "in radio.bands_hz[0][0], expected `int`"),
        ("[pins]\n", "colour = 1\n[pins]\n", "in bus, object contains unknown field `colour`"),
        ('radio = "another"\n', "", "[sources] has nothing for radio"),
        ('pins = "a page"', 'pins = ""', "in sources[...], expected `str` of length >= 1"),
        ('config_txt = ["dtparam=spi=on"]', "config_txt = 1", "in config_txt, expected `array`"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(was: str, made: str, words: str) -> None:
    assert was in GOOD
    with pytest.raises(BoardError) as caught:
        parse_board("good", document(GOOD.replace(was, made, 1)))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"chip": "sx1276"}, "tcxo_mv and dio2_switch are for SX126x"),
        ({"chip": "sx1261"}, "its chip sends with up to 14 dBm"),
        ({"pins": 7}, "in pins, expected `object`"),
    ],
)
def test_what_does_not_go_together_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BoardError) as caught:
        parse_board("good", document() | change)
    assert words in str(caught.value)


def test_a_file_that_is_no_profile(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="cannot be read"):
        load_board(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text("= 7")
    with pytest.raises(BoardError, match="it is not TOML"):
        load_board(str(tmp_path / "bad.toml"))
    with pytest.raises(BoardError, match="no such profile"):
        load_board("none")


def test_drawings_and_pages_are_those_of_the_profiles() -> None:
    folder = ROOT / "hw" / "wiring"
    drawn = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert drawn == pinout.render_all(), "run: python -m tests.firmware_bridge.pinout hw/wiring"


def test_drawings_are_written(tmp_path: Path) -> None:
    pinout.main(str(tmp_path / "wiring"))
    assert (tmp_path / "wiring" / "README.md").read_text() == pinout.write_index()


@pytest.mark.parametrize("name", board_names())
def test_a_drawing_has_every_line_at_its_pin(name: str) -> None:
    drawing = pinout.draw_svg(load_board(name))
    for number, signal in pinout.signals(load_board(name)).items():
        assert f">GPIO {number}: {signal}</text>" in drawing
    assert drawing.count("<circle") == 40


def test_pins_are_those_of_a_raspberry_pi() -> None:
    # Pin 40 is GPIO 21, pin 7 GPIO 4: two that every pinout shows.
    assert pinout.HEADER[40 - 1] == 21
    assert pinout.HEADER[7 - 1] == 4
    assert sorted(pin for pin in pinout.HEADER if isinstance(pin, int)) == list(range(2, 28))
    assert pinout.HEADER.count("GND") == 8
