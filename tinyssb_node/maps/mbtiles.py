"""Map files in the format MBTiles 1.3, a database of SQLite (https://github.com/mapbox/mbtiles-spec)."""

import sqlite3
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tinyssb_node.maps import limits
from tinyssb_node.maps.map_file import MapDescription, MapFileError, bounds_of, text_of_markup
from tinyssb_node.maps.tile_address import TileAddress

_ALLOWED: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})
"""Actions that a statement may take: `tiles` is a view in many files, which may hide anything. Not recursion, which
needs memory without end."""
_KEYS: Final = ("format", "minzoom", "maxzoom", "bounds", "attribution")
_STEPS: Final = 10_000
"""Instructions of SQLite between two looks at the clock: less than a millisecond."""
_VECTOR: Final = "pbf"


class MbTilesFile:
    """An open MBTiles file. Nothing is written beside it, and no other program is kept from it."""

    def __init__(self, path: Path) -> None:
        """Open it. Raises MapFileError."""
        self._path = path
        self._until_s = 0.0
        with ExitStack() as undo:
            try:
                self._connection = _connected(path)
                undo.callback(self._connection.close)
                _defend(self._connection)
            except sqlite3.Error as error:
                raise MapFileError(path, str(error)) from error
            self._connection.set_progress_handler(self._is_late, _STEPS)
            self.about = self._describe()
            undo.pop_all()

    def read(self, address: TileAddress) -> bytes | None:
        """Return the bytes of a tile; None if there is none. Raises MapFileError."""
        rows = self._ask(
            "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ? LIMIT 1",
            # Rows are counted from the south (TMS).
            (address.zoom, address.column, (1 << address.zoom) - 1 - address.row),
        )
        return rows[0][0] if rows and isinstance(rows[0][0], bytes) else None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _is_late(self) -> bool:
        return time.monotonic() > self._until_s

    def _ask(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        self._until_s = time.monotonic() + limits.QUERY_S
        try:
            return self._connection.execute(statement, values).fetchall()
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:  # the last: an error's own words
            raise MapFileError(self._path, f"its database cannot be read ({error})") from error

    def _describe(self) -> MapDescription:
        marks = ",".join("?" * len(_KEYS))
        rows = self._ask(f"SELECT name, value FROM metadata WHERE name IN ({marks}) LIMIT 16", _KEYS)  # noqa: S608 - marks
        said = {str(name): value for name, value in rows}
        if said.get("format") == _VECTOR:
            raise MapFileError(self._path, "it has vector tiles, and the page draws pictures only")
        try:
            return MapDescription(
                zoom_min=self._zoom(said.get("minzoom"), "min"),
                zoom_max=min(self._zoom(said.get("maxzoom"), "max"), limits.ZOOM_MAX),
                attribution=text_of_markup(said.get("attribution")),
                bounds=_bounds(said.get("bounds")),
            )
        except ValueError as error:
            raise MapFileError(self._path, str(error)) from error

    def _zoom(self, said: object, which: str) -> int:
        """Return the zoom that is said, or found among the tiles. Raises ValueError, MapFileError."""
        if isinstance(said, int) or (
            isinstance(said, str) and said.isascii() and said.isdigit() and len(said) < 4
        ):
            return int(said)
        found = self._ask(f"SELECT {which}(zoom_level) FROM tiles")[0][0]  # noqa: S608 - a word of ours
        if not isinstance(found, int):
            raise ValueError("it has no tiles")  # noqa: TRY004 - an empty file, not a mistake of ours
        return found


def _connected(path: Path) -> sqlite3.Connection:
    """Connect without locks and files beside it, also on a disk that cannot be written. Raises sqlite3.Error."""
    return sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True)


def _defend(connection: sqlite3.Connection) -> None:
    """Prepare for a file of a stranger (https://sqlite.org/security.html). Raises sqlite3.Error."""
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.TILE_SIZE_MAX)
    for rule in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "query_only = ON"):
        connection.execute(f"PRAGMA {rule}")
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
    )


def _bounds(said: object) -> tuple[float, float, float, float] | None:
    """Parse `west,south,east,north`; None if it is not that."""
    words = said.split(",") if isinstance(said, str) else []
    try:
        west, south, east, north = map(float, words)
    except ValueError:
        return None
    return bounds_of(west, south, east, north)
