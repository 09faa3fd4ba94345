"""All partial tables together: however records are divided, they are what the oracle counts one by one."""

import math
from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.derive.sights import Unpacked, unpack_all
from spark_sink.partials.combine import SCHEMAS, combine
from spark_sink.partials.reduce import reduce
from spark_sink.serving.tables import FACTS
from tests.spark_sink.logs import Record, node_name
from tests.spark_sink.partials import odd, oracle
from tests.spark_sink.partials.blocks import block, keyed, read, records_of, reduced
from tinyssb_node.sim.faults import ClockJump, NodeCrash
from tinyssb_node.sim.options import CableOptions, ChannelOptions, SimulationOptions
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.traffic import PeriodicPostTraffic


def facts(tables: dict[str, pa.Table]) -> dict[str, oracle.Facts]:
    return {name: keyed(name, table) for name, table in tables.items() if name in oracle.TABLES}


def sights(tables: dict[str, pa.Table]) -> dict[oracle.Key, list[oracle.Row]]:
    """Return the packed sights, by node, boot and hour."""
    found: dict[oracle.Key, list[oracle.Row]] = defaultdict(list)
    for row in tables["sights"].to_pylist() if "sights" in tables else ():
        packed = unpack_all([row["rows"]])
        times_us = packed.columns["t_us"].tolist()
        assert (row["n"], row["low_us"], row["high_us"]) == (len(times_us), min(times_us), max(times_us))
        found[row["node"], row["boot"], row["hour_us"]] += _spelled(packed)
    return {key: sorted(rows, key=lambda row: row["offset"]) for key, rows in found.items()}


def _spelled(packed: Unpacked) -> list[oracle.Row]:
    names = [*SIGHT]
    columns = {name: packed.columns[name].tolist() for name in names}
    columns["face"] = [None if face == -1 else packed.faces[face] for face in columns["face"]]
    columns["snr_db"] = [None if math.isnan(snr_db) else snr_db for snr_db in columns["snr_db"]]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


SIGHT = (
    "kind", "face", "packet", "verdict", "offset", "t_us", "mono_us", "hash", "length", "airtime_us", "rssi_dbm",
    "snr_db", "feed", "seq", "chunk",
)  # fmt: skip


def cut(rows: list[oracle.Row]) -> list[oracle.Row]:
    """Names of faces as long as they can be packed."""
    return [
        row | {"face": row["face"] and row["face"].encode()[:255].decode(errors="ignore")} for row in rows
    ]


def check(some: list[Record], tables: dict[str, pa.Table]) -> None:
    assert facts(tables) == oracle.facts(some)
    assert sights(tables) == {key: cut(rows) for key, rows in oracle.sights(some).items()}
    for name, table in tables.items():
        assert table.schema.equals(SCHEMAS[name])
        assert len(table) > 0


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_odd_records_divided_in_any_way_are_what_the_oracle_counts(data: st.DataObject) -> None:
    some = data.draw(odd.records())
    tasks = data.draw(odd.divided(some))
    check(some, reduced([[block(rows) for rows in task] for task in tasks]))


SIMULATED = SimulationOptions(
    nodes=5,
    hours=0.5,
    stop=False,
    channel=ChannelOptions(loss=0.1, corrupt=0.01),
    streams=(CableOptions(left="n0", right="n4"),),
    traffic=(
        PeriodicPostTraffic(nodes=("n0-n4",), every_s=120, until_s=900),
        PeriodicPostTraffic(nodes=("n1",), every_s=300, until_s=900, size=400),
    ),
    faults=(NodeCrash(nodes=("n2",), at_s=300), ClockJump(nodes=("n3",), at_s=500, step_s=-7_000)),
)
"""A run with side chains, a cable, invalid packets, a restart and a jump of a clock."""


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> list[pa.RecordBatch]:
    folder = tmp_path_factory.mktemp("simulated") / "logs"
    run_scenario(SIMULATED, events=folder)
    return list(read(folder))


def test_logs_of_the_simulator_are_what_the_oracle_counts(simulated: list[pa.RecordBatch]) -> None:
    tables = reduced([simulated[::2], simulated[1::2]])
    check(records_of(simulated), tables)
    assert set(tables) == {table.name for table in FACTS}


def test_tables_are_given_by_parts_when_there_are_many_rows(
    simulated: list[pa.RecordBatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = reduced([simulated])
    monkeypatch.setattr(limits, "REDUCE_ROWS", 300)
    parts = list(reduce(iter(simulated)))
    assert len(parts) > 3 * len(whole)
    assert facts(combine(parts)) == facts(whole)
    assert combine(parts)["packets"] == whole["packets"]


def test_nothing_comes_of_nothing() -> None:
    assert list(reduce(iter(()))) == []
    assert list(reduce(iter([block([])]))) == []
    assert combine(()) == {}


def test_rows_that_are_no_records_are_kept_aside() -> None:
    bad = {"bad_path": "a/b", "bad_byte": 7, "bad_reason": "not JSON", "bad_text": "<"}
    good = {"node": node_name(0), "boot": 1, "offset": 0, "t_us": 5, "mono_us": 5, "kind": "mark"}
    tables = reduced([[block([bad, good]), block([bad | {"bad_byte": 9}])]])
    assert keyed("bad_lines", tables["bad_lines"]) == {
        ("a/b", 7): {"reason": "not JSON", "text": "<"},
        ("a/b", 9): {"reason": "not JSON", "text": "<"},
    }
    assert facts(tables) == oracle.facts([good])
    assert list(dict(reduce(iter([block([bad])])))) == ["bad_lines"]


def test_a_source_of_an_older_version_lacks_columns(simulated: list[pa.RecordBatch]) -> None:
    newer = "latitude", "longitude", "region", "sub_band", "limit_ppm", "window_us", "network_name"
    older = [
        batch.drop_columns([name for name in newer if name in batch.schema.names]) for batch in simulated
    ]
    without = [{k: v for k, v in record.items() if k not in newer} for record in records_of(simulated)]
    check(without, reduced([older]))
