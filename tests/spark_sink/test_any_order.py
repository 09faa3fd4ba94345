"""The whole way from logs to derived tables, without Spark: the same tables whatever arrives when, how often, in which
pieces, over which paths, and wherever batches are cut."""

import json
import threading
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from spark_sink import segment_reader
from spark_sink.line_parser import Projection
from spark_sink.partials.combine import combine
from spark_sink.partials.records import COLUMNS
from spark_sink.partials.reduce import reduce
from spark_sink.planner import Planner
from spark_sink.refresh import Refresh
from spark_sink.segments import pack_tasks
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.database import Database
from spark_sink.serving.merge import merge
from spark_sink.serving.names import NameNumbers
from spark_sink.stream_offset import gaps, parse_offset_text, serialize_offset_text
from tests.spark_sink import contents
from tests.spark_sink.memory_files import MemoryFiles
from tests.spark_sink.partials import oracle
from tests.spark_sink.partials.test_serving import batch
from tinyssb_node.sim.bulk import BulkOptions, BulkWriter

SHAPE = Projection(COLUMNS)
OPTIONS = BulkOptions(
    nodes=4, hours=4, seed=3, entries_per_hour=6, wrong_clocks=0.5, restarts_per_day=6, neighbours=3
)


@cache
def logs() -> dict[str, bytes]:
    """Four nodes' logs of four hours, two of them with clocks that are hours wrong, with restarts."""
    with TemporaryDirectory() as folder:
        BulkWriter(OPTIONS, Path(folder) / "logs").run()
        root = Path(folder)
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.jsonl"))}


class Stream:
    """The job, in this process."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.files = MemoryFiles()
        self.offset: Any = {}
        self.number = 0
        self.names = NameNumbers(database)
        self.planner = Planner(self.files)
        self.refresh = Refresh(database, threading.Lock(), lambda: self.number)

    def batch(self, bytes_max: int | None, task_size: int) -> bool:
        self.planner.refresh()
        end = self.planner.advance(self.offset, bytes_max)
        if end == self.offset:
            return False
        parts = self.planner.parts(self.offset, end)
        tasks = (segment_reader.read_parts(self.files, task, SHAPE) for task in pack_tasks(parts, task_size))
        made = combine(part for task in tasks for part in reduce(task))
        assert merge(self.database, self.names, batch(self.number, made))
        self.offset = parse_offset_text(serialize_offset_text(end))
        self.number += 1
        return True

    def finish(self) -> tuple[Any, ...]:
        while self.batch(None, 10**9):
            pass
        assert gaps(self.offset) == []
        self.refresh.run_to_end()
        return contents.facts(self.database), contents.derived(self.database), contents.told(self.database)


@cache
def at_once() -> tuple[Any, ...]:
    """The tables, if all is there from the beginning."""
    with TemporaryDirectory() as folder, open_for_writing(f"{folder}/db.sqlite") as database:
        stream = Stream(database)
        stream.files.data.update(logs())
        return stream.finish()


def test_the_tables_are_those_of_the_oracle() -> None:
    records = [json.loads(line) for data in logs().values() for line in data.splitlines()]
    facts, derived, _ = at_once()
    assert facts == oracle.facts(records)
    assert all(derived.values()), "every derived table has rows, else the other test would prove little"


@settings(deadline=None, max_examples=12, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.data())
def test_any_order_any_copies_and_any_pieces_make_the_same_tables(data: st.DataObject) -> None:
    copies = dict(logs())
    for name in data.draw(st.sets(st.sampled_from(sorted(copies)), max_size=8)):
        copies[name.replace("logs/", "other/")] = copies[name]
        if data.draw(st.booleans()):
            del copies[name]
    arrivals = [
        (name, cut)
        for name, text in copies.items()
        for cut in {data.draw(st.integers(0, len(text))), len(text)}
    ]
    arrivals = data.draw(st.permutations(arrivals))
    rounds = data.draw(st.sets(st.integers(0, len(arrivals) - 1), max_size=6))
    with TemporaryDirectory() as folder, open_for_writing(f"{folder}/db.sqlite") as database:
        stream = Stream(database)
        for place, (name, cut) in enumerate(arrivals):
            if cut >= len(stream.files.data.get(name, b"")):
                stream.files.data[name] = copies[name][:cut]
            if place in rounds:
                bytes_max = data.draw(st.one_of(st.none(), st.integers(1, 200_000)))
                stream.batch(bytes_max, data.draw(st.sampled_from([10_000, 10**9])))
                if data.draw(st.booleans()):
                    stream.refresh.run_pass()
        facts, derived, told = stream.finish()
    expected = at_once()
    assert facts == expected[0]
    for table, rows in derived.items():
        assert rows == expected[1][table], table
    assert told == expected[2]
