"""Batches to merge: single ones by hand, and any that Hypothesis thinks of."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from spark_sink.serving.ddl import ARROW_TYPES
from spark_sink.serving.merge import MicroBatch
from spark_sink.serving.tables import TABLES, Column, ColumnType
from tests.spark_sink.serving.merge_oracle import KEYS, LAW, SUMS, Fact, combined

NODES = tuple(f"{digit}" * 16 for digit in "b3a")
FEEDS = tuple(f"{digit}" * 64 for digit in "c1")
NAMES = {"node_no": "node", "feed_no": "feed", "publisher": "publisher"}
GIVEN = ("place", "batch", "part")


def name_columns(table: str) -> list[str]:
    """Columns of a part, where names have the place of numbers."""
    return [
        NAMES.get(column.name, column.name) for column in TABLES[table].columns if column.name not in GIVEN
    ]


def part(table: str, facts: Sequence[Fact]) -> pa.Table:
    """Facts as a part of a batch; columns that they do not have are left out."""
    columns = {
        NAMES.get(column.name, column.name): pa.string() if column.name in NAMES else ARROW_TYPES[column.type]
        for column in TABLES[table].columns
    }
    present = {name: type_ for name, type_ in columns.items() if any(name in fact for fact in facts)}
    return pa.table(
        {name: pa.array([fact.get(name) for fact in facts], type_) for name, type_ in present.items()}
    )


def batch(batch_id: int, facts: Mapping[str, Sequence[Fact]], **changes: Any) -> MicroBatch:
    """A batch with these facts."""
    values: dict[str, Any] = {
        "query": "q",
        "batch_id": batch_id,
        "parts": {table: part(table, rows) for table, rows in facts.items()},
        "bad_lines": None,
        "gaps": None,
        "oddities": None,
        "offsets": "{}",
        "now_us": batch_id + 1,
        "read_us": 0,
        "bytes": 0,
        "behind_bytes": 0,
    }
    return MicroBatch(**(values | changes))


def _value(column: Column, chance: random.Random) -> Any:
    if column.name in NAMES:
        return chance.choice(FEEDS if column.name == "feed_no" else NODES)
    if column.optional and chance.random() < 0.3:
        return None
    if column.type is ColumnType.TEXT:
        return chance.choice(["", "own", "Ä", "z", 'a"b,\\', "\n", "'"])
    if column.type is ColumnType.REAL:
        return chance.choice([-1.5, 0.0, 47.25])
    return chance.choice([0, 1, 2, 3, 2**61, 2**62])


@st.composite
def fact_of(draw: st.DrawFn, table: str) -> Fact:
    """A row that one record could be; what a record says depends on which record it is."""
    key = {
        "node": draw(st.sampled_from(NODES)),
        "feed": draw(st.sampled_from(FEEDS)),
        "boot": draw(st.integers(1, 2)),
        "offset": draw(st.integers(0, 4)),
        "seq": draw(st.integers(1, 2)),
        "face": draw(st.sampled_from(["lora", "udp"])),
    }
    record = {name: key[name] for name in (*KEYS[table], "boot", "offset") if name in key}
    chance = random.Random(repr(sorted(record.items())) + table)
    columns = [column for column in TABLES[table].columns if column.name not in GIVEN]
    fact = {NAMES.get(column.name, column.name): _value(column, chance) for column in columns}
    fact |= {name: value for name, value in record.items() if name in fact}
    if table == "entries":
        own = draw(st.booleans())
        fact |= {name: chance.choice([0, 1]) for name in ("type", "size", "chunks")}
        fact["publisher"] = draw(st.sampled_from(NODES)) if own else None
        fact |= {name: chance.choice([0, 1]) if own else None for name in ("boot", "t_us", "mono_us")}
    if table in SUMS:
        constant = {name: 0 if name.endswith("_us") else "x" for name in KEYS[table]}
        fact |= constant | {name: key[name] for name in ("node", "face") if name in fact}
    if table == "boots":
        fact |= {"first_offset": key["offset"], "last_offset": key["offset"], "records": 1}
        fact["feed"] = chance.choice([*FEEDS, None])
    for name in {"frontiers": ["seq"], "side_chains": ["held"]}.get(table, []):
        fact[name] = chance.choice([1, 2, 2**32])  # the most that a record may say; they are summed up
    if table == "faces":
        fact["up"] = chance.choice([0, 1])
        told = {"law_boot": key["boot"], "law_offset": key["offset"]}
        fact |= told if fact["up"] else dict.fromkeys(LAW)
    if table == "incidents":
        fact["feed"] = chance.choice([*FEEDS, None])
    return fact


def deliveries(table: str) -> st.SearchStrategy[list[list[Fact]]]:
    """Draw batches for a table, one fact a key in each; most keys come again."""
    facts = st.lists(fact_of(table), min_size=4, max_size=12).map(lambda some: combined(table, some))
    return st.lists(facts, min_size=2, max_size=4)
