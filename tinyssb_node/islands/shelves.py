"""The shelf of a network on the disk (docs/decisions/0048): opened when it is needed, which in most nodes is never."""

from pathlib import Path
from typing import TYPE_CHECKING

from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.errors import StoreFailedError, StoreFullError, StoreLockedError, StoreTooNewError
from tinyssb_node.replication import limits

if TYPE_CHECKING:
    from tinyssb_node.islands.shelf import Shelf
    from tinyssb_node.islands.sqlite_shelf import SqliteShelf


class LazyShelfFile:
    """The file of one shelf, which stays open once it was opened."""

    def __init__(self, path: Path, network: Network, *, budget_bytes: int, logger: Logger) -> None:
        """The shelf at *path*, in a folder of its own, which may take *budget_bytes* of the disk; 0: there is none."""
        self._path = path
        self._network = network
        self._packets_max = budget_bytes // limits.SHELF_PACKET_BYTES
        self._logger = logger
        self._store: SqliteShelf | None = None
        self._refused = False

    def open(self, make: bool) -> "Shelf | None":
        """The shelf, made if there is none and *make* says so. None: there is none, or it cannot be read.

        Raises StoreFullError.
        """
        if not self._packets_max or self._refused or not (make or self._path.exists()):
            return None
        from tinyssb_node.islands.shelf import Shelf  # noqa: PLC0415 - most nodes do without
        from tinyssb_node.islands.sqlite_shelf import SqliteShelf  # noqa: PLC0415 - most nodes do without

        if self._store is None:
            try:
                self._path.parent.mkdir(mode=0o700, exist_ok=True)
                self._store = SqliteShelf.open(self._path)
            except (StoreFailedError, StoreTooNewError, StoreLockedError) as error:
                self._refused = True  # What is on it can be fetched again: no reason to end.
                self._logger.warning(
                    "the shelf cannot be used; move it away", path=self._path, error=str(error)
                )
                return None
            except OSError as error:
                raise StoreFullError(
                    f"The folder {self._path.parent} cannot be made: {error.strerror}."
                ) from error
        return Shelf(self._store, self._network, packets_max=self._packets_max)

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._store is not None:
            self._store.close()
            self._store = None
