"""Landing without Spark: the planner, what tasks do, and the commit, with a machine that goes down at any step."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from spark_sink import limits
from spark_sink.bronze.footer import KEY, BronzePiece, parse_footer
from spark_sink.bronze.land import LandJob, LandSettings
from spark_sink.bronze.manifests import BronzeFolder
from spark_sink.stream_offset import StreamOffset, parse_offset_text


class CrashError(Exception):
    """The machine goes down."""


class Here:
    """Executors that are this process."""

    tell = staticmethod(print)

    at_a_time = 1

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        return map(function, items)


class Landing:
    """Rounds into a bronze, in this process."""

    def __init__(self, logs: Path, bronze: Path, **settings: Any) -> None:
        self.logs = logs
        self._settings = {"logs": str(logs), "bronze": bronze, **settings}
        self.folder = BronzeFolder(bronze)
        self.done = 0
        """Batches committed."""

    def offset(self) -> StreamOffset:
        """How far each log is read, as the bronze has it."""
        last = self.folder.last()
        return {} if last is None else parse_offset_text(last.offset)

    def round(self, bytes_max: int = 10**9, task_size: int = 10**9) -> None:
        """Start, land everything that is there, and end."""
        settings = LandSettings(**self._settings, bytes_per_batch=bytes_max)
        with pytest.MonkeyPatch.context() as patch, self.folder.writing():
            patch.setattr(limits, "TASK_SIZE", task_size)
            LandJob(Here(), settings, self.folder).run(counted=self._count)

    def _count(self) -> None:
        self.done += 1


@contextmanager
def dying(patch: pytest.MonkeyPatch, steps: int) -> Iterator[Callable[[], bool]]:
    """Let the machine go down after so many steps on the disk; yields whether it did."""
    left = [steps]

    def counted(real: Any) -> Any:
        def step(*args: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise CrashError
            return real(*args, **more)

        return step

    with patch.context() as inner:
        for name in ("replace", "unlink", "write_text"):
            inner.setattr(Path, name, counted(getattr(Path, name)))
        for name in ("spark_sink.bronze.manifests.sync", "spark_sink.bronze.writer.sync"):
            inner.setattr(name, counted(lambda _path: None))
        yield lambda: left[0] < 0


def files_of(bronze: Path) -> list[Path]:
    return sorted(bronze.glob("day=*/*.parquet"))


def rows_of(bronze: Path) -> list[dict[str, Any]]:
    """All rows, with the day in whose folder they lie."""
    found = []
    for path in files_of(bronze):
        found += [
            {**row, "day": path.parent.name} for row in pq.read_table(path, partitioning=None).to_pylist()
        ]
    return found


def pieces_of(bronze: Path) -> list[BronzePiece]:
    return [
        piece
        for path in files_of(bronze)
        for piece in parse_footer((pq.read_metadata(path).metadata or {}).get(KEY))
    ]


def records_in(bronze: Path) -> Counter[tuple[str, int, int]]:
    """How often each record is there."""
    return Counter(
        (row["node"], row["boot"], row["offset"]) for row in rows_of(bronze) if row["bad_path"] is None
    )


def records_of(logs: Path) -> Counter[tuple[str, int, int]]:
    """The records of the logs, each once."""
    found = {
        (record["node"], record["boot"], record["offset"])
        for path in logs.rglob("*.jsonl")
        for record in map(json.loads, path.read_bytes().splitlines())
    }
    return Counter(found)


def cut_of(chance: random.Random, data: bytes) -> bytes:
    """A part of a file, as a transfer under way has it."""
    return data[: chance.choice([0, len(data) // 3, len(data) // 2, len(data)])]
