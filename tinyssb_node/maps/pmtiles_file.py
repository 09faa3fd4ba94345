"""Map files in the format PMTiles 3 (https://github.com/protomaps/PMTiles), read with its own library."""

import json
import os
import re
import zlib
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Final

from pmtiles.tile import (
    Compression,
    Entry,
    HeaderDict,
    MagicNumberNotFound,
    SpecVersionUnsupported,
    TileType,
    deserialize_directory,
    deserialize_header,
    find_tile,
    zxy_to_tileid,
)

from tinyssb_node.maps import limits
from tinyssb_node.maps.map_file import MapDescription, MapFileError, bounds_of, text_of_markup
from tinyssb_node.maps.tile_address import TileAddress

_HEADER_SIZE: Final = 127
_DEPTH_MAX: Final = 4
"""Directories from the root to a tile, as in the library's own reader."""
_LONG_NUMBER: Final = re.compile(rb"[\x80-\xff]{%d}" % limits.VARINT_SIZE_MAX)
"""A varint of more than 64 bits, with which a small file could keep a processor busy for minutes."""
_PICTURES: Final = (TileType.PNG, TileType.JPEG, TileType.WEBP, TileType.UNKNOWN)
_DEGREE: Final = 10_000_000
_DAMAGE: Final = (
    OSError, ValueError, OverflowError, EOFError, IndexError, RecursionError, zlib.error, MagicNumberNotFound,
    SpecVersionUnsupported,
)  # fmt: skip
"""Errors that the library, and ours, raise for bytes that are no such file."""


class PmTilesFile:
    """An open PMTiles file. It is read, not mapped: a mapped file that gets shorter would end the process."""

    def __init__(self, path: Path) -> None:
        """Open it. Raises MapFileError."""
        self._path = path
        self._directory = lru_cache(maxsize=limits.DIRECTORIES_KEPT)(self._read_directory)
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise MapFileError(path, error.strerror or str(error)) from error
        with ExitStack() as undo:
            undo.callback(self._file.close)
            try:
                self._header: HeaderDict = deserialize_header(self._bytes(0, _HEADER_SIZE, _HEADER_SIZE))
                self.about = self._describe()
            except _DAMAGE as error:
                raise self._damaged(error) from error
            undo.pop_all()

    def read(self, address: TileAddress) -> bytes | None:
        """Return the bytes of a tile; None if there is none. Raises MapFileError."""
        tile = zxy_to_tileid(address.zoom, address.column, address.row)
        header = self._header
        offset, length = header["root_offset"], header["root_length"]
        try:
            for _ in range(_DEPTH_MAX):
                entry = find_tile(self._directory(offset, length), tile)
                if entry is None:
                    return None
                if entry.run_length:
                    return self._bytes(
                        header["tile_data_offset"] + entry.offset, entry.length, limits.TILE_SIZE_MAX
                    )
                offset, length = header["leaf_directory_offset"] + entry.offset, entry.length
        except _DAMAGE as error:
            raise self._damaged(error) from error
        return None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _damaged(self, error: BaseException) -> MapFileError:
        said = f" ({error})" if str(error) else ""
        return MapFileError(self._path, f"it is damaged, or not PMTiles version 3{said}")

    def _bytes(self, offset: int, length: int, most: int) -> bytes:
        """Read a part of the file. Raises ValueError, OSError, OverflowError."""
        if length > most:
            raise ValueError(f"a part has {length} bytes, more than {most}")
        data = os.pread(self._file.fileno(), length, offset)
        if len(data) != length:
            raise ValueError("a part is beyond its end")
        return data

    def _read_directory(self, offset: int, length: int) -> list[Entry]:
        packed = self._bytes(offset, length, limits.DIRECTORY_PACKED_MAX)
        if _LONG_NUMBER.search(_unpacked(packed, limits.DIRECTORY_SIZE_MAX)):
            raise ValueError("a number is too long")
        return deserialize_directory(packed)

    def _describe(self) -> MapDescription:
        header = self._header
        if header["tile_type"] not in _PICTURES:
            raise MapFileError(self._path, "it has vector tiles, and the page draws pictures only")
        if header["internal_compression"] is not Compression.GZIP:
            raise MapFileError(self._path, "its directories are not compressed with gzip")
        metadata = json.loads(
            _unpacked(
                self._bytes(header["metadata_offset"], header["metadata_length"], limits.METADATA_SIZE_MAX),
                limits.METADATA_SIZE_MAX,
            )
        )
        return MapDescription(
            zoom_min=header["min_zoom"],
            zoom_max=min(header["max_zoom"], limits.ZOOM_MAX),
            attribution=text_of_markup(metadata.get("attribution") if isinstance(metadata, dict) else None),
            bounds=bounds_of(
                header["min_lon_e7"] / _DEGREE,
                header["min_lat_e7"] / _DEGREE,
                header["max_lon_e7"] / _DEGREE,
                header["max_lat_e7"] / _DEGREE,
            ),
        )


def _unpacked(packed: bytes, most: int) -> bytes:
    """Return what gzip packed, in one member of at most so many bytes (a gzip bomb). Raises ValueError, zlib.error."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    data = unpacker.decompress(packed, most)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("a part is cut off, or too large")
    return data
