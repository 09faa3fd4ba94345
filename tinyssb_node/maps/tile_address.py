"""Addresses of tiles: zoom, column and row, as tile servers name them (XYZ, row 0 in the north)."""

import re
from dataclasses import dataclass
from typing import Final

from tinyssb_node.maps import limits

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,7}")


@dataclass(frozen=True, slots=True)
class TileAddress:
    """One tile. At zoom z the world has 2^z columns and rows."""

    zoom: int
    column: int
    row: int

    def __post_init__(self) -> None:
        """Raises ValueError: there is no such tile."""
        side = 1 << self.zoom if 0 <= self.zoom <= limits.ZOOM_MAX else 0
        if not (0 <= self.column < side and 0 <= self.row < side):
            raise ValueError(f"{self.zoom}/{self.column}/{self.row}")


def parse_tile_address(zoom: str, column: str, row: str) -> TileAddress | None:
    """Parse the words of an address; None if there is no such tile. Each tile has one address. Never raises."""
    words = (zoom, column, row)
    if not all(_NUMBER.fullmatch(word) for word in words):
        return None
    try:
        return TileAddress(*map(int, words))
    except ValueError:
        return None


def serialize_tile_address(address: TileAddress) -> tuple[str, str, str]:
    """Return the words that `parse_tile_address` reads."""
    return str(address.zoom), str(address.column), str(address.row)
