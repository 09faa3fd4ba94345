"""Landing without Spark: the planner, what tasks do, and the commit, with a machine that goes down at any step."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_sink.bronze.footer import KEY, BronzePiece, parse_footer
from spark_sink.bronze.manifests import BronzeFolder
from spark_sink.bronze.writer import FILES, whole_tasks, write_parts
from spark_sink.log_files import LocalLogFiles, LogFiles
from spark_sink.planner import Planner
from spark_sink.stream_offset import StreamOffset, parse_offset_text, serialize_offset_text


class CrashError(Exception):
    """The machine goes down."""


class Landing:
    """Streams into a bronze, by hand."""

    def __init__(self, logs: Path, bronze: Path, files: LogFiles | None = None) -> None:
        """*files*: where the logs are read; where they lie, unless that is given."""
        self.logs = logs
        self._files = files
        self.folder = BronzeFolder(bronze)
        self.done = 0
        """Batches committed."""

    def offset(self) -> StreamOffset:
        """How far each log is read, as the bronze has it."""
        last = self.folder.last()
        return {} if last is None else parse_offset_text(last.offset)

    def round(self, bytes_max: int | None = None, task_size: int = 10**9) -> None:
        """Start, land everything that is there, and end."""
        name = uuid4().hex
        with self.folder.writing():
            files = self._files or LocalLogFiles(str(self.logs))
            planner = Planner(files)
            planner.refresh()
            for number in count():
                before = self.offset()
                after = planner.advance(before, bytes_max)
                if after == before:
                    return
                parts = planner.parts(before, after)
                tasks = [
                    write_parts(files, task, self.folder.staging) for task in whole_tasks(parts, task_size)
                ]
                made = pa.concat_tables([FILES.empty_table(), *tasks])
                self.folder.commit(name, number, serialize_offset_text(after), made)
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
