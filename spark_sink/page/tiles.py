"""Map tiles, from a server that the operator of the page names."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from spark_sink.errors import ConfigurationError

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
