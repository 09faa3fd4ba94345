"""Map tiles, from a server or a file that the operator of the page names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from spark_sink.errors import ConfigurationError
from tinyssb_node.maps.map_file import MapFileError
from tinyssb_node.maps.map_opener import open_map
from tinyssb_node.web.page_server.map_tiles import TILE_PATH, ServedMap

PLACES: Final = ("{z}", "{x}", "{y}")
"""Placeholders for zoom, column and row, as tile servers use them."""
_HOST: Final = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?")
"""Other characters could add directives to the security header that contains the origin."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """A tile server."""

    url: str
    """With {z}, {x} and {y}."""
    by: str
    """Attribution, shown on the map."""

    @property
    def origin(self) -> str:
        """Return the origin of the server, for the security policy."""
        found = urlsplit(self.url)
        return f"{found.scheme}://{found.netloc}"


def _bad_tiles(url: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"The address of the map's pictures, {url}, {reason}; nothing was served. It looks like "
        "https://tiles.example.org/{z}/{x}/{y}.png. Without --tiles the map has no pictures."
    )


def parse_tiles(url: str, by: str | None) -> Tiles:
    """Parse the address of a tile server; without *by* its host is named as the source. Raises ConfigurationError."""
    try:
        found = urlsplit(url)
    except ValueError as error:
        raise _bad_tiles(url, "is not an address") from error
    if found.scheme not in ("http", "https") or not _HOST.fullmatch(found.netloc):
        raise _bad_tiles(url, "does not begin with http:// or https:// and a server's name")
    if not all(place in found.path + found.query for place in PLACES):
        raise _bad_tiles(url, f"lacks one of {', '.join(PLACES)}")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise _bad_tiles(url, "has characters that an address cannot have")
    return Tiles(url, by or found.netloc)


def asked_tiles(tiles: Tiles | None) -> Mapping[str, object] | None:
    """Return what the page needs to ask a tile server; None without one."""
    return None if tiles is None else {"url": tiles.url, "by": tiles.by}


def served_tiles(served: ServedMap) -> Mapping[str, object]:
    """Return what the page needs to ask its own server for tiles of a file."""
    path = TILE_PATH.format(zoom="{z}", column="{x}", row="{y}")
    return {
        "url": f"{path}?v={served.version}",
        "by": served.about.attribution,
        "zoom_min": served.about.zoom_min,
        "zoom_max": served.about.zoom_max,
        "bounds": served.about.bounds,
    }


def check_map(path: Path) -> Path:
    """Return the *path* of a map file that can be used. Raises ConfigurationError."""
    try:
        open_map(path).close()
    except MapFileError as error:
        raise ConfigurationError(f"{error} Nothing was served.") from error
    return path
