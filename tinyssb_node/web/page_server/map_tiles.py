"""Tiles of a map file as responses of a page, read by a thread of their own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tinyssb_node.maps import limits
from tinyssb_node.maps.map_file import MapDescription, MapFile, MapFileError, Tile
from tinyssb_node.maps.map_opener import open_map, read_tile
from tinyssb_node.maps.tile_address import TileAddress, parse_tile_address

TILE_PATH: Final = "/api/tile/{zoom}/{column}/{row}"
"""Address of a tile. A page adds the map's version, so that browsers may keep the tile for ever."""
_KEPT: Final = "private, max-age=31536000, immutable"
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ServedMap:
    """A map file that can be used."""

    about: MapDescription
    version: str
    """Changes with the file."""


class MapTiles:
    """Tiles of the map file at one path. No part of a request names a file: addresses are three bounded numbers."""

    def __init__(self, path: Path | None) -> None:
        """Without a *path* there are no tiles."""
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="map")
        self._waiting = 0
        self._open: tuple[MapFile, str] | None = None

    async def served(self) -> ServedMap | None:
        """Return the map as it is on the disk now; None if there is none, or it cannot be used: `doctor` says why."""
        return await self._do(self._look) if self._path is not None else None

    async def respond(self, request: Request) -> Response:
        """Return a tile: 204 where the map has none, 404 for what is no address of a tile, 503 for a map that cannot be
        read, or is asked for too much at once."""
        words = (request.path_params[name] for name in ("zoom", "column", "row"))
        address = parse_tile_address(*words)
        if address is None or self._path is None:
            return Response(status_code=404)
        if self._waiting >= limits.WAITING_MAX:
            return Response(status_code=503)
        try:
            tile = await self._do(lambda: self._tile(address))
        except MapFileError:
            return Response(status_code=503)
        if tile is None:
            return Response(status_code=204, headers={"cache-control": _KEPT})
        return Response(tile.data, media_type=tile.media_type, headers={"cache-control": _KEPT})

    def route(self) -> Route:
        """Return the route of the tiles."""
        return Route(TILE_PATH, self.respond)

    async def close(self) -> None:
        """Close the file, and end the thread."""
        await self._do(self._let_go)
        self._thread.shutdown()

    async def _do(self, work: Callable[[], Found]) -> Found:
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    def _look(self) -> ServedMap | None:
        try:
            file, version = self._current()
        except MapFileError:
            return None
        return ServedMap(file.about, version)

    def _tile(self, address: TileAddress) -> Tile | None:
        try:
            file, _ = self._open or self._current()
            return read_tile(file, address)
        except MapFileError:
            self._let_go()
            raise

    def _current(self) -> tuple[MapFile, str]:
        """Return the file with its version, opened anew if another one is at its path. Raises MapFileError."""
        assert self._path is not None
        try:
            version = _version_of(self._path)
        except OSError as error:
            self._let_go()
            raise MapFileError(self._path, error.strerror or str(error)) from error
        if self._open is None or self._open[1] != version:
            self._let_go()
            self._open = open_map(self._path), version
        return self._open

    def _let_go(self) -> None:
        held, self._open = self._open, None
        if held is not None:
            held[0].close()


def _version_of(path: Path) -> str:
    found = path.stat()
    return f"{found.st_mtime_ns:x}-{found.st_size:x}-{found.st_ino:x}"
