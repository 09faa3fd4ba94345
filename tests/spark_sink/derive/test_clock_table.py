"""Rows of `clocks`, from logs of nodes whose clocks are hours wrong: the same in any order, right within 20 ms."""

import random
from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import pytest

from spark_sink.derive.clock_table import ClockRecords, clock_rows, unpack_records
from spark_sink.derive.mesh_time import corrections
from spark_sink.derive.sights import DTYPES, pack
from tests.spark_sink.clocks.skewed import Sighting, Skew, play
from tinyssb_node.sim.options import ChannelOptions, SimulationOptions
from tinyssb_node.sim.topology import LineTopology
from tinyssb_node.sim.traffic import PeriodicPostTraffic

WITHIN_US = 20_000


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> list[Sighting]:
    posts = PeriodicPostTraffic(nodes=("n0-n4",), every_s=300, until_s=4_000)
    options = SimulationOptions(
        nodes=5, hours=1.5, topology=LineTopology(), channel=ChannelOptions(loss=0.1), traffic=(posts,)
    )
    return play(options, tmp_path_factory.mktemp("line") / "logs")


def as_records(log: Sequence[Sighting], numbers: dict[str, int]) -> ClockRecords:
    rows = [
        (
            numbers[one.node],
            one.boot,
            int(one.direction == "tx"),
            int.from_bytes(sha256(one.hash.encode()).digest()[:8], "big", signed=True),
            1,
            one.t_us,
            one.mono_us,
        )
        for one in log
    ]
    return ClockRecords(*np.array(rows, np.int64).reshape(-1, 7).T)


def test_offsets_are_within_20_ms_of_the_truth(line: list[Sighting]) -> None:
    skew = Skew(jitter_us=2_000)
    log = skew.over(line)
    numbers = {node: place for place, node in enumerate(sorted({one.node for one in log}))}
    found = corrections(
        clock_rows(lambda: [as_records(log, numbers)], {no: node for node, no in numbers.items()})
    )
    assert len(set(found.mesh.tolist())) == 1
    assert found.mesh[0] > 2**35  # no node's number
    right_us = np.array([one.t_us for one in line])
    node_no, boot, t_us, mono_us = (
        np.array(column)
        for column in zip(*((numbers[o.node], o.boot, o.t_us, o.mono_us) for o in log), strict=True)
    )
    off_us = found.mesh_us(node_no, boot, t_us, mono_us)[0] - right_us
    drift_us = 60e-6 * (right_us.max() - right_us.min())  # of the reference
    assert np.ptp(off_us) < WITHIN_US + drift_us
    together: dict[tuple[str, int], list[int]] = {}
    for one, us in zip(line, off_us.tolist(), strict=True):
        together.setdefault((one.hash, one.t_us), []).append(us)
    assert max(max(some) - min(some) for some in together.values()) < WITHIN_US


def test_the_same_in_any_order_and_number(line: list[Sighting]) -> None:
    """Order of reading, parts, duplicates, and numbers of nodes make no difference but for the numbers."""
    log = Skew(jitter_us=2_000).over(line)
    nodes = sorted({one.node for one in log})
    chance = random.Random(3)
    plain = {node: place for place, node in enumerate(nodes)}
    mixed = {node: 2 * place for place, node in enumerate(chance.sample(nodes, len(nodes)))}
    parts = [[one for one in log if one.node in some] for some in (nodes[3:], nodes[:1], nodes[1:3])]
    parts = [chance.sample(part + part[::2], len(part + part[::2])) for part in parts]
    one = clock_rows(lambda: [as_records(log, plain)], {no: node for node, no in plain.items()})
    other = clock_rows(
        lambda: [as_records(p, mixed) for p in parts], {no: node for node, no in mixed.items()}
    )
    columns = [name for name in one.column_names if name not in {"node_no", "mesh"}]
    assert one.select(columns).equals(other.select(columns))
    assert [mixed[nodes[no]] for no in one["node_no"].to_pylist()] == other["node_no"].to_pylist()


def test_a_clock_that_met_nobody_is_a_mesh_of_its_own() -> None:
    found = clock_rows(lambda: [as_records([Sighting("a", "n", 3, "tx", 5_000, 1_000)], {"n": 7})], {7: "n"})
    row = found.to_pylist()[0]
    assert (row["node_no"], row["boot"], row["mesh"], row["base_us"], row["from_mono_us"]) == (
        7,
        3,
        7,
        4_000,
        1_000,
    )
    assert (row["offset_us"], row["matches"]) == (0, 0)
    assert clock_rows(lambda: [as_records([], {})], {}).num_rows == 0


def test_packed_rows_are_read_and_what_is_written_again_tells_no_clock() -> None:
    columns = {name: np.zeros(3, dtype) for name, dtype in DTYPES.items()}
    columns["kind"][:] = [0, 2, 2]
    columns["t_us"][:] = [2_000_000_000, 5, 2_000_000_007]
    columns["mono_us"][:] = [1, 0, 8]
    found = unpack_records([1, 2], [3, 4], [pack(columns, ())] * 2)
    assert found.node_no.tolist() == [1] * 3 + [2] * 3
    assert found.boot.tolist() == [3] * 3 + [4] * 3
    rows = clock_rows(lambda: [found], {1: "a", 2: "b"})
    assert rows["base_us"].to_pylist() == [1_999_999_999] * 2
