"""Small real map files: MBTiles by sqlite3, PMTiles by its own library, with pictures of one colour."""

import math
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import write

from tinyssb_node.maps.tile_address import TileAddress

ATTRIBUTION = '© <a href="https://www.openstreetmap.org/copyright">OpenStreetMap contributors</a>'
SIDE = 16
"""Pixels of a tile's side."""


def png(red: int, green: int, blue: int) -> bytes:
    """A picture of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes((red, green, blue)) * SIDE) * SIDE
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def picture(address: TileAddress) -> bytes:
    """A picture that tells its address by its colour."""
    return png(100 + 8 * address.zoom, (address.column * 37) % 256, (address.row * 91) % 256)


def whole_world(zoom_max: int) -> Iterator[TileAddress]:
    """All tiles of the first zooms."""
    for zoom in range(zoom_max + 1):
        for column in range(1 << zoom):
            for row in range(1 << zoom):
                yield TileAddress(zoom, column, row)


def _place(latitude: float, longitude: float, zoom: int) -> tuple[float, float]:
    """Column and row of a place, with their fractions."""
    north = math.asinh(math.tan(math.radians(latitude)))
    return (longitude / 360 + 0.5) * 2**zoom, (0.5 - north / (2 * math.pi)) * 2**zoom


def tile_at(latitude: float, longitude: float, zoom: int) -> TileAddress:
    column, row = _place(latitude, longitude, zoom)
    return TileAddress(zoom, int(column), int(row))


def within_tile(latitude: float, longitude: float, zoom: int) -> tuple[float, float]:
    """Where in its tile a place is, from the north-west, as parts of its side."""
    column, row = _place(latitude, longitude, zoom)
    return column % 1, row % 1


def around(latitude: float, longitude: float, zoom: int) -> Iterator[TileAddress]:
    """Tiles around a place, six in each direction."""
    centre = tile_at(latitude, longitude, zoom)
    for column in range(centre.column - 6, centre.column + 7):
        for row in range(centre.row - 6, centre.row + 7):
            yield TileAddress(zoom, column, row)


def tiles_of(zoom_max: int) -> dict[TileAddress, bytes]:
    return {address: picture(address) for address in whole_world(zoom_max)}


def make_mbtiles(path: Path, tiles: Mapping[TileAddress, Any], **metadata: object) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE metadata (name text, value text)")
        database.execute(
            "CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob)"
        )
        database.execute("CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row)")
        database.executemany("INSERT INTO metadata VALUES (?, ?)", metadata.items())
        database.executemany(
            "INSERT INTO tiles VALUES (?, ?, ?, ?)",
            ((at.zoom, at.column, 2**at.zoom - 1 - at.row, data) for at, data in tiles.items()),
        )
        database.commit()
    return path


def make_pmtiles(
    path: Path, tiles: Mapping[TileAddress, bytes], *, attribution: object = "", **header: Any
) -> Path:
    zooms = [address.zoom for address in tiles]
    with write(str(path)) as writer:
        for at in sorted(tiles, key=lambda at: zxy_to_tileid(at.zoom, at.column, at.row)):
            writer.write_tile(zxy_to_tileid(at.zoom, at.column, at.row), tiles[at])
        writer.finalize(
            {
                "tile_type": TileType.PNG,
                "tile_compression": Compression.NONE,
                "min_zoom": min(zooms),
                "max_zoom": max(zooms),
                "min_lon_e7": -1_800_000_000,
                "min_lat_e7": -850_000_000,
                "max_lon_e7": 1_800_000_000,
                "max_lat_e7": 850_000_000,
                "center_zoom": 0,
                "center_lon_e7": 0,
                "center_lat_e7": 0,
                **header,
            },
            {"attribution": attribution},
        )
    return path
