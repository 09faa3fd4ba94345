"""The folder of a bronze, and the manifest by which a batch of files becomes part of it (docs/formats/bronze.md).

A manifest is the commit: it names the files of a batch, and how far each log is read with them. Files are named into
their days after it, and what was not named when the power went is named at the next start.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from spark_sink import limits
from spark_sink.bronze.writer import sync
from spark_sink.errors import BusyError, ConfigurationError
from spark_sink.settings import LANDING

_NAME: Final = re.compile(r"[0-9]{12}\.json\Z")
_DAY: Final = re.compile(r"day=([0-9]{4}-[0-9]{2}-[0-9]{2})\Z")
_DAY_S: Final = 24 * 3_600


@dataclass(frozen=True, slots=True)
class Manifest:
    """A batch that is landed."""

    number: int
    """Counts the manifests of a bronze, from 1."""
    offset: str
    """How far each log is read with it, by `stream_offset.serialize_offset_text`."""
    files: tuple[tuple[str, str], ...]
    """Name when it was written, and final name, both below the folder of the bronze."""
    rows: int
    """Rows in these files."""


class BronzeFolder:
    """A bronze in a folder of this machine, or of a disk that all machines share."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._own = self.root / LANDING
        self.staging = self._own / "staged"
        """Where tasks write."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the folder for one program that writes; finish what the one before left. Raises BusyError; OSError."""
        self.staging.mkdir(parents=True, exist_ok=True)
        with (self._own / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BusyError(
                    f"Another tinyssb-sink lands logs in {self.root}; nothing was done. Wait for it, then repeat."
                ) from error
            if (last := self.last()) is not None:
                self._name(last)
            self.clean()
            yield

    def last(self) -> Manifest | None:
        """Return the newest manifest; None before the first. Raises ConfigurationError; OSError."""
        names = self._manifests()
        return _parse((self._own / names[-1]).read_text(), self._own / names[-1]) if names else None

    def commit(self, offset: str, files: pa.Table) -> None:
        """Make *files* (`writer.FILES`) part of the bronze. Durable when this returns.

        Raises OSError: the batch is committed or not, never a part of it.
        """
        last = self.last()
        found = tuple(
            (str(Path(str(row["staged"])).relative_to(self.root)), str(row["name"]))
            for row in files.to_pylist()
        )
        rows = sum(files.column("rows").to_pylist())
        manifest = Manifest(1 if last is None else last.number + 1, offset, found, rows)
        self._write(manifest)
        self._name(manifest)
        for name in self._manifests()[: -limits.MANIFESTS_KEPT]:
            (self._own / name).unlink()

    def _manifests(self) -> list[str]:
        if not self._own.is_dir():
            return []
        return sorted(path.name for path in self._own.iterdir() if _NAME.match(path.name))

    def _write(self, manifest: Manifest) -> None:
        """Raises OSError."""
        fields = {name: getattr(manifest, name) for name in Manifest.__slots__}
        torn = self._own / "manifest.new"
        torn.write_text(json.dumps({"version": limits.BRONZE_VERSION, **fields}))
        sync(torn)
        sync(self.staging)
        torn.replace(self._own / f"{manifest.number:012d}.json")
        sync(self._own)

    def _name(self, manifest: Manifest) -> None:
        """Give the files of the last batch their names, those that have none yet. Raises OSError."""
        folders = set()
        for staged, name in manifest.files:
            old, new = self.root / staged, self.root / name
            if old.exists():
                new.parent.mkdir(exist_ok=True)
                old.replace(new)
                folders.add(new.parent)
        for folder in folders:
            sync(folder)
        if folders:
            sync(self.root)

    def clean(self) -> None:
        """Delete what tasks wrote and was not committed; no task may be at work. Raises OSError."""
        for path in self.staging.iterdir():
            path.unlink()

    def files(self) -> Iterator[tuple[int, int]]:
        """Yield for each file when it was written (ns since 1970) and its bytes."""
        for day in self.days():
            with os.scandir(day) as entries:
                for entry in entries:
                    if entry.name.endswith(".parquet"):
                        found = entry.stat()
                        yield found.st_mtime_ns, found.st_size

    def days(self) -> list[Path]:
        """Return the folders of days. Raises OSError."""
        return sorted(path for path in self.root.iterdir() if _DAY.match(path.name))

    def forget(self, days: int, now_s: float) -> int:
        """Delete days that are longer ago than *days*, by the nodes' clocks and by when they were landed; returns how
        many. Raises OSError."""
        since_s = now_s - days * _DAY_S
        since = datetime.fromtimestamp(since_s, UTC).date()
        count = 0
        for folder in self.days():
            found = list(folder.iterdir())
            if _day_of(folder) < since and all(path.stat().st_mtime < since_s for path in found):
                for path in found:
                    path.unlink()
                folder.rmdir()
                count += 1
        return count


def _day_of(folder: Path) -> date:
    try:
        return date.fromisoformat(folder.name.partition("=")[2])
    except ValueError:
        return date.max


def _parse(text: str, path: Path) -> Manifest:
    """Raises ConfigurationError."""
    try:
        found: dict[str, Any] = json.loads(text)
        if found.pop("version") != limits.BRONZE_VERSION:
            raise ConfigurationError(
                f"{path} was written by another version of tinyssb-sink; nothing was done. Land into a new folder."
            )
        found["files"] = tuple((str(staged), str(name)) for staged, name in found["files"])
        return Manifest(**{name: found[name] for name in Manifest.__slots__})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigurationError(
            f"{path} is damaged; nothing was done. Land into a new folder, or restore this file."
        ) from error
