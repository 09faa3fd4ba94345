"""A map file, whatever its format: what it says of itself, its tiles, and why it cannot be used."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Protocol

from tinyssb_node.maps import limits
from tinyssb_node.maps.tile_address import TileAddress


class MapFileError(Exception):
    """A map file that is missing, damaged, hostile, or of a kind that the page cannot draw."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"The map {path} cannot be used: {reason}.")
        self.reason = reason


class MapLibraryError(MapFileError):
    """The library for the format of a map file is not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapDescription:
    """The description of a map file by its author."""

    zoom_min: int
    zoom_max: int
    attribution: str
    """Text of the file's author, without markup; it must be made safe before it is shown."""
    bounds: tuple[float, float, float, float] | None = None
    """Degrees: west, south, east, north; None: not stated."""

    def __post_init__(self) -> None:
        """Raises ValueError: such a file has no tile."""
        if not 0 <= self.zoom_min <= self.zoom_max <= limits.ZOOM_MAX:
            raise ValueError(f"it has no zoom from 0 to {limits.ZOOM_MAX}")


@dataclass(frozen=True, slots=True)
class Tile:
    """A picture of the ground."""

    media_type: str
    data: bytes


class MapFile(Protocol):
    """An open map file. All of it is used in one thread."""

    @property
    def about(self) -> MapDescription:
        """The description of the file by its author."""
        ...

    def read(self, address: TileAddress) -> bytes | None:
        """Return the bytes of a tile within its zooms; None if there is none. Raises MapFileError."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def bounds_of(
    west: float, south: float, east: float, north: float
) -> tuple[float, float, float, float] | None:
    """Return the four as bounds; None if they are none."""
    if -180 <= west < east <= 180 and -90 <= south < north <= 90:
        return west, south, east, north
    return None


class _TextOfMarkup(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def text_of_markup(markup: object) -> str:
    """Return the text of an attribution, which often is a piece of HTML: one bounded line
    without characters that nobody sees. Empty if it is none."""
    if not isinstance(markup, str):
        return ""
    parser = _TextOfMarkup()
    parser.feed(markup[: limits.MARKUP_SIZE_MAX])
    parser.close()
    words = " ".join("".join(parser.parts).split())
    return "".join(filter(str.isprintable, words))[: limits.ATTRIBUTION_MAX]
