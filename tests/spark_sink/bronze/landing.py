"""Landing without Spark: the planner, what tasks do, and the commit, with a machine that goes down at any step."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_sink.bronze.footer import KEY, BronzePiece, parse_footer
from spark_sink.bronze.manifests import BronzeFolder
from spark_sink.bronze.writer import FILES, whole_tasks, write_parts
from spark_sink.log_files import LocalLogFiles
from spark_sink.planner import Planner
from spark_sink.stream_offset import parse_missing, parse_offset, serialize_offset, still_counted, without


class CrashError(Exception):
    """The machine goes down."""


class Landing:
    """A stream into a bronze, by hand; *offsets* is the checkpoint."""

    def __init__(self, logs: Path, bronze: Path) -> None:
        self.logs = logs
        self.folder = BronzeFolder(bronze)
        self.offsets: list[str] = []
        self.done = 0

    def round(self, bytes_max: int | None = None, task_size: int = 10**9) -> None:
        """Start, land everything that is there, and end."""
        with self.folder.writing():
            files = LocalLogFiles(str(self.logs))
            planner = Planner(files)
            planner.refresh()
            while self._batch(files, planner, bytes_max, task_size):
                pass

    def _batch(self, files: LocalLogFiles, planner: Planner, bytes_max: int | None, task_size: int) -> bool:
        start = self.offsets[self.done - 1] if self.done else json.dumps(serialize_offset({}))
        before = parse_offset(json.loads(start))
        if self.done == len(self.offsets):
            last = self.folder.last()
            missing = still_counted([] if last is None else parse_missing(last.missing), before)
            after = without(before, missing) if missing else planner.advance(before, bytes_max)
            if after == before:
                return False
            self.offsets.append(json.dumps(serialize_offset(after)))
        end = self.offsets[self.done]
        parts, missing = planner.parts(before, parse_offset(json.loads(end)))
        tasks = [write_parts(files, task, self.folder.staging) for task in whole_tasks(parts, task_size)]
        self.folder.commit("query", self.done, end, missing, pa.concat_tables([FILES.empty_table(), *tasks]))
        self.done += 1
        return True


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
