"""Event logs of a simulation are like any node's, and the same wherever it is played."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark_sink import schema
from spark_sink.line_parser import Block, BlockPart, Projection, ReadPosition, parse_block
from tests.architecture.sources import ROOT
from tinyssb_node.daemon.eventlog_segments import read_resume_point, segments
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim import limits
from tinyssb_node.sim.eventfiles import digest
from tinyssb_node.sim.faults import ClockJump, NodeCrash
from tinyssb_node.sim.options import ChannelOptions, SimulationOptions
from tinyssb_node.sim.runner import Simulation, run_scenario
from tinyssb_node.sim.topology import FieldTopology
from tinyssb_node.sim.traffic import BacklogTraffic, PeriodicPostTraffic

OPTIONS = SimulationOptions(
    nodes=4,
    hours=0.5,
    channel=ChannelOptions(loss=0.1, corrupt=0.05, fading_db=2.0, bursts=0.02),
    traffic=(
        BacklogTraffic(nodes=("n0-n3",), entries=3),
        PeriodicPostTraffic(nodes=("n1",), every_s=60, until_s=300, size=300),
    ),
    faults=(
        NodeCrash(nodes=("n2",), at_s=60, down_s=20),
        ClockJump(nodes=("n3",), at_s=30),
    ),
)
ALL = Projection([field.name for field in schema.COLUMNS])


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Simulation, Path]:
    folder = tmp_path_factory.mktemp("sim") / "logs"
    simulation = Simulation(OPTIONS, events=folder)
    simulation.run()
    return simulation, folder


def rows(path: Path, node: str, boot: int) -> list[dict[str, object]]:
    """Return the rows that the Spark sink reads from a segment."""
    block = Block(path.read_bytes(), (BlockPart(0, path.name, 0, ReadPosition(node, boot, -1)),))
    return [row for batch in parse_block(block, ALL) for row in batch.to_pylist()]


def test_the_sink_reads_every_line(logs: tuple[Simulation, Path]) -> None:
    simulation, folder = logs
    assert len(list(folder.iterdir())) == 4
    for inhabitant in simulation.world.inhabitants.values():
        node = inhabitant.feed[:8].hex()
        found = segments(folder / node)
        assert [segment.boot for segment in found] == list(range(1, inhabitant.boot + 1))
        for segment in found:
            read = rows(segment.path, node, segment.boot)
            assert [row["bad_reason"] for row in read if row["bad_reason"]] == []
            assert [row["offset"] for row in read] == list(range(len(read)))
            assert [row["kind"] for row in read[:2]] == ["start", "mark"]
            assert read[0]["name"] == inhabitant.name


def test_every_append_has_its_record_in_order(logs: tuple[Simulation, Path]) -> None:
    simulation, folder = logs
    for inhabitant in simulation.world.inhabitants.values():
        node = inhabitant.feed[:8].hex()
        read = [row for segment in segments(folder / node) for row in rows(segment.path, node, segment.boot)]
        arrivals = [row["arrival"] for row in read if row["kind"] in {"entry", "chunk"}]
        assert arrivals == list(range(1, inhabitant.store.last_arrival() + 1))
        said = read_resume_point(folder / node, 0)
        assert (said.boot, said.arrival) == (inhabitant.boot, inhabitant.store.last_arrival())
        assert said.clean
        marks = [row["arrival"] for row in read if row["kind"] == "mark"]
        assert marks[0] == 0


def test_times_are_the_nodes_own(logs: tuple[Simulation, Path]) -> None:
    simulation, folder = logs
    clocks = {}
    for name in ("n2", "n3"):
        node = simulation.world.inhabitants[name].feed[:8].hex()
        clocks[name] = [rows(segment.path, node, segment.boot) for segment in segments(folder / node)]
    second_boot = clocks["n2"][1][0]
    assert second_boot["mono_us"] == 0
    assert second_boot["t_us"] == limits.EPOCH_US + 80_000_000
    steps = [row["t_us"] for row in clocks["n3"][0] if row["kind"] == "clock"]
    assert steps == [0]
    assert all(isinstance(row["mono_us"], int) and row["mono_us"] >= 0 for row in clocks["n3"][0])


def test_places_are_told_as_far_apart_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    simulation = Simulation(
        SimulationOptions(
            nodes=3, hours=0.01, topology=FieldTopology(width_m=300, height_m=300, reach_m=200)
        ),
        events=folder,
    )
    simulation.run()
    one, other = (simulation.world.inhabitants[name] for name in ("n0", "n1"))
    starts = []
    for node in (one, other):
        with segments(folder / node.feed[:8].hex())[0].path.open() as log:
            start = json.loads(log.readline())
        starts.append((start["latitude"], start["longitude"]))
    assert one.position_m is not None
    assert other.position_m is not None
    north = math.radians(starts[1][0] - starts[0][0]) * 6_371_000
    east = math.radians(starts[1][1] - starts[0][1]) * 6_371_000 * math.cos(math.radians(starts[0][0]))
    assert math.hypot(north, east) == pytest.approx(math.dist(one.position_m, other.position_m), rel=0.01)


def test_the_same_options_write_the_same_bytes_under_another_hash_seed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.sim.test_eventfiles import OPTIONS;"
        "from tinyssb_node.sim.runner import run_scenario; from tinyssb_node.sim.eventfiles import digest;"
        "folder = Path(sys.argv[1]); report = run_scenario(OPTIONS, events=folder);"
        "sys.stdout.write(report.history + ' ' + digest(folder))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / seed)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    report = run_scenario(OPTIONS, events=tmp_path / "here")
    assert said == [f"{report.history} {digest(tmp_path / 'here')}"] * 2


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(SimulationOptionError, match="cannot be made"):
        run_scenario(OPTIONS, events=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_logs_are_written_while_they_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tmp_path / "whole"
    run_scenario(OPTIONS, events=whole)
    monkeypatch.setattr(limits, "FLUSH_BYTES", 1_000)
    run_scenario(OPTIONS, events=tmp_path / "parts")
    assert digest(tmp_path / "parts") == digest(whole)
