"""Spec strings of LoRa boards on this machine's SPI bus: lora:BOARD. Grammar: docs/reference/faces.md."""

import re
from dataclasses import dataclass

from firmware_bridge.boards import BoardError, board_names, load_board
from tinyssb_node.faces.radio import RadioChoice
from tinyssb_node.faces.radio_options import RADIO_OPTIONS, read_radio
from tinyssb_node.faces.spec_reader import SpecReader, matching
from tinyssb_node.ids import FaceName

_BOARD = re.compile(r"[a-z0-9][a-z0-9-]{0,63}|/[A-Za-z0-9._/-]{1,200}\.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSpec:
    """A board whose chip we drive ourselves."""

    board: str
    """Name of its profile, or path of a file with one."""
    radio: RadioChoice
    """The chip's settings, and the law it is under."""
    crc: bool = False
    """True if the chip adds a CRC of its own: deployed boards read frames either way, and send none."""
    emulated: bool = False
    """True if the chip is emulated, on an ether that all emulated boards of this process share."""
    name: str | None = None
    """The face's name; None: ``lora``."""

    @property
    def face_name(self) -> FaceName:
        """``lora``."""
        return FaceName(self.name or "lora")


def parse_lora(reader: SpecReader) -> LoraSpec | None:
    """Read the spec string of a board; None if it is none. Raises FaceSpecError."""
    if not reader.skip("lora:"):
        return None
    allowed = f"{', '.join(board_names())}, or the path of a profile that ends in .toml"
    board = reader.rest(matching(_BOARD), allowed)
    radio = read_radio(reader)
    if radio is None:
        reader.fail("it names no region", "&region= and the region whose law is to be kept")
    if radio.wanted is None:
        reader.fail("it has no settings for the radio", "&plan=, or &frequency= in MHz")
    spec = LoraSpec(
        board=board,
        radio=radio,
        crc=reader.switch("crc", default=False),
        emulated=reader.switch("emulated", default=False),
        name=reader.name(),
    )
    reader.end(f"{RADIO_OPTIONS}, crc, emulated, name")
    try:
        load_board(board)
    except BoardError as error:
        reader.fail(error.what, error.remedy)
    return spec
