"""Receptions: against trying all pairs, and against the truth of the simulator."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.derive.clock_table import clock_rows
from spark_sink.derive.facts import RX, TX
from spark_sink.derive.mesh_time import corrections
from spark_sink.derive.transmissions import transmissions
from tests.spark_sink.clocks.skewed import Skew, play
from tests.spark_sink.derive.facts_of import sights_of
from tests.spark_sink.derive.handmade import SINCE_US
from tests.spark_sink.derive.oracle_a import sending_of
from tests.spark_sink.derive.test_clock_table import as_records
from tinyssb_node.sim.options import ChannelOptions, SimulationOptions
from tinyssb_node.sim.topology import IslandsTopology, LineTopology, Topology
from tinyssb_node.sim.traffic import PeriodicPostTraffic

MESH = 2**40
SECOND_US = 1_000_000

PACKET = st.fixed_dictionaries(
    {
        "node_no": st.integers(1, 4),
        "kind": st.sampled_from([RX, TX]),
        "hash": st.integers(0, 1),
        "airtime_us": st.sampled_from([0, 100, 100]),
        "mesh": st.sampled_from([MESH, MESH, MESH + 1, 0]),
        "mesh_us": st.one_of(
            st.integers(0, 4).map(lambda s: SINCE_US + s * SECOND_US),
            st.integers(SINCE_US, SINCE_US + 99 * SECOND_US),
        ),
    }
)
PACKETS = st.lists(PACKET, max_size=14).map(
    lambda rows: [
        {**row, "offset": place, "mesh": row["mesh"] or row["node_no"]} for place, row in enumerate(rows)
    ]
)


@settings(max_examples=200, deadline=None)
@given(PACKETS, st.randoms(use_true_random=False))
def test_as_trying_all_pairs_in_whatever_order(rows: list[dict[str, Any]], chance: random.Random) -> None:
    sights = sights_of(chance.sample(rows, len(rows)))
    found = transmissions(sights)
    for place in range(len(sights)):
        row = rows[int(sights.offset[place])]
        sent = [{"boot": 1, **one} for one in rows if one["kind"] == TX and one["hash"] == row["hash"]]
        sending = sending_of({"boot": 1, **row}, sent) if row["kind"] == RX else None
        wanted = sending["offset"] if sending else None
        tx = int(found.tx[place])
        assert (int(sights.offset[tx]) if tx >= 0 else None) == wanted
        assert found.sender[place] == (rows[wanted]["node_no"] if wanted is not None else -1)


def test_a_packet_sent_over_and_over_by_its_hearer_costs_no_more() -> None:
    """Nor does it hide who else sent it."""
    own = [{"node_no": 1, "kind": TX, "hash": 5, "mesh": MESH, "mesh_us": SINCE_US + t} for t in range(2_000)]
    heard = [{**row, "kind": RX} for row in own]
    other = {"node_no": 2, "kind": TX, "hash": 5, "mesh": MESH, "mesh_us": SINCE_US - 9}
    found = transmissions(sights_of([other, *own, *heard]))
    assert Counter(found.sender.tolist()) == {-1: 2_001, 2: 2_000}


def test_nothing_is_nothing() -> None:
    assert len(transmissions(sights_of([])).tx) == 0
    assert transmissions(sights_of([{"kind": RX, "node_no": 1, "mesh_us": 0}])).sender.tolist() == [-1]


@pytest.mark.parametrize("topology", [LineTopology(), IslandsTopology(count=3)], ids=["line", "islands"])
def test_by_clocks_hours_wrong_all_is_put_down_to_who_truly_sent_it(
    topology: Topology, tmp_path: Path
) -> None:
    posts = PeriodicPostTraffic(nodes=("n0-n11",), every_s=400, until_s=3_000)
    options = SimulationOptions(
        nodes=12, hours=1.2, topology=topology, channel=ChannelOptions(loss=0.1), traffic=(posts,)
    )
    right = play(options, tmp_path / "logs")
    truth = {(one.hash, one.t_us): one.node for one in right if one.direction == "tx"}
    log = Skew(jitter_us=5_000).over(right)
    names = sorted({one.node for one in log})
    written = as_records(log, {node: place for place, node in enumerate(names)})
    clocks = corrections(clock_rows(lambda: [written], dict(enumerate(names))))
    mesh_us, mesh = clocks.mesh_us(written.node_no, written.boot, written.t_us, written.mono_us)
    columns = ("node_no", "boot", "kind", "hash", "airtime_us", "t_us", "mono_us")
    rows = [
        {**dict(zip(columns, row, strict=True)), "offset": place}
        for place, row in enumerate(zip(*(getattr(written, name).tolist() for name in columns), strict=True))
    ]
    rows = [
        {**row, "mesh_us": int(mesh_us[place]), "mesh": int(mesh[place])} for place, row in enumerate(rows)
    ]
    sights = sights_of(rows)
    found = transmissions(sights)
    heard = np.flatnonzero(sights.kind == RX)
    wanted = [truth[right[place].hash, right[place].t_us] for place in sights.offset[heard].tolist()]
    names.append("nobody")
    right_ones = sum(names[number] == node for number, node in zip(found.sender[heard], wanted, strict=True))
    assert len(heard) > 1_000
    assert right_ones >= 0.99 * len(heard)


@pytest.mark.parametrize(("before_us", "after_us", "sender"), [(500, 400, 3), (400, 500, 2), (400, 400, 2)])
def test_the_nearest_sending_is_taken(before_us: int, after_us: int, sender: int) -> None:
    times = {1: 0, 2: -before_us, 3: after_us}
    rows = [
        {
            "node_no": node,
            "kind": RX if node == 1 else TX,
            "hash": 5,
            "mesh": MESH,
            "mesh_us": SINCE_US + t_us,
        }
        for node, t_us in times.items()
    ]
    assert sender in transmissions(sights_of(rows)).sender
    alone = [{**row, "mesh": row["node_no"]} for row in rows]
    assert 2 in transmissions(sights_of(alone)).sender
