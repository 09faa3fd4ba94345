"""Pictures of the ground for the map, from a server that whoever runs the page names."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from spark_sink.errors import ConfigurationError

PLACES: Final = ("{z}", "{x}", "{y}")
"""What stands in an address for zoom, column and row, as map servers have it."""
_HOST: Final = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?")
"""Anything else could say something to the browser in the header that the origin becomes a part of."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Where a map's pictures come from."""

    url: str
    """With {z}, {x} and {y}."""
    by: str
    """Whom they are by, as the map says it."""

    @property
    def origin(self) -> str:
        """The server, as a policy names it."""
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
