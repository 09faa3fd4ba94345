"""Opening of map files of either format, and reading of tiles that are pictures."""

from pathlib import Path
from typing import Final

from tinyssb_node.maps.map_file import MapFile, MapFileError, MapLibraryError, Tile
from tinyssb_node.maps.tile_address import TileAddress

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"WEBP", 8, "image/webp"),
)


def open_map(path: Path) -> MapFile:
    """Open the map file at *path*, by its first bytes. Raises MapFileError."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise MapFileError(path, error.strerror or str(error)) from error
    if start.startswith(b"SQLite format 3\0"):
        from tinyssb_node.maps.mbtiles import MbTilesFile

        return MbTilesFile(path)
    if start.startswith(b"PMTiles"):
        try:
            from tinyssb_node.maps.pmtiles_file import PmTilesFile
        except ImportError as error:
            raise MapLibraryError(path, "it needs the library pmtiles, which is not installed") from error
        return PmTilesFile(path)
    raise MapFileError(path, "it is neither MBTiles nor PMTiles")


def read_tile(file: MapFile, address: TileAddress) -> Tile | None:
    """Return a tile; None if the file has none there, or something else than a PNG, JPEG or WebP picture.

    Raises MapFileError.
    """
    if not file.about.zoom_min <= address.zoom <= file.about.zoom_max:
        return None
    data = file.read(address)
    if data is None:
        return None
    for signature, offset, media_type in _SIGNATURES:
        if data.startswith(signature, offset):
            return Tile(media_type, data)
    return None
