"""Hours of logs that are known: the same whether they came bit by bit or are read at once."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import corrections
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.ddl import ARROW_TYPES
from spark_sink.serving.tables import TABLES
from spark_sink.sighted_hours import KEY, SightedHours, hours_table

Key = tuple[int, int, int]
KEYS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(0, 6)), max_size=8)
CLOCKS = pa.Table.from_pylist(
    [
        {column.name: 1 for column in TABLES["clocks"].columns} | {"node_no": 2, "offset_us": 3 * HOUR_US},
        {column.name: 1 for column in TABLES["clocks"].columns} | {"node_no": 3, "boot": 2, "offset_us": 5},
    ],
    pa.schema([(column.name, ARROW_TYPES[column.type]) for column in TABLES["clocks"].columns]),
)


def marked(keys: list[Key]) -> pa.Table:
    rows = [(node_no, boot, hour * HOUR_US) for node_no, boot, hour in keys]
    return hours_table(np.array(rows, np.int64).reshape(-1, 3))


def sights(keys: list[Key], n: int) -> pa.Table:
    found = marked(keys)
    count = len(found)
    for name in ("batch", "part", "n", "low_us", "high_us"):
        values = range(count) if name == "part" else [n] * count
        found = found.append_column(name, pa.array(values, pa.int64()))
    return found.append_column("rows", pa.array([b"x"] * count, pa.binary()))


def reached(hours: SightedHours) -> set[tuple[int, ...]]:
    found = hours.reach(corrections(CLOCKS))
    columns = (getattr(found, name).tolist() for name in (*KEY, "low_us", "high_us"))
    return {*zip(*columns, strict=True)}


@settings(deadline=None, max_examples=40)
@given(st.lists(KEYS, min_size=1, max_size=4))
def test_hours_that_come_are_added_once(
    tmp_path_factory: pytest.TempPathFactory, deliveries: list[list[Key]]
) -> None:
    clocks = corrections(CLOCKS)
    with open_for_writing(str(tmp_path_factory.getbasetemp() / "hours.sqlite")) as database:
        database.execute("DELETE FROM sights")
        bit_by_bit = SightedHours(database)
        bit_by_bit.reach(clocks)
        for number, keys in enumerate(deliveries):
            database.insert("sights", sights(keys, number))
            bit_by_bit.add(marked(keys))
        at_once = SightedHours(database)
        wanted = {*(tuple(key) for keys in deliveries for key in keys)}
        assert len(bit_by_bit) == len(at_once) == len(wanted)
        assert {*map(tuple, bit_by_bit.keys.tolist())} == {(a, b, hour * HOUR_US) for a, b, hour in wanted}
        assert bit_by_bit.reach(clocks) is bit_by_bit.reach(clocks)
        assert reached(bit_by_bit) == reached(at_once)


def test_an_hour_has_as_many_sights_as_those_looked_at(tmp_path: Path) -> None:
    with open_for_writing(str(tmp_path / "db.sqlite")) as database:
        assert SightedHours(database).sights_an_hour() == 0
        database.insert("sights", sights([(1, 1, hour) for hour in range(3_000)], 7))
        assert SightedHours(database).sights_an_hour() == 7
