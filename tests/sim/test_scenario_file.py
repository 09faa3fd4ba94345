"""Scenario files: everything that can be said is read, everything else is refused with its key and line."""

import contextlib
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firmware_bridge.regions import Region
from tests.docs.pages import read
from tinyssb_node.errors import ScenarioFileError
from tinyssb_node.sim import limits
from tinyssb_node.sim.absences import Absence, Sleep, Visits
from tinyssb_node.sim.faults import (
    BrownOut,
    Churn,
    ClockJump,
    Fault,
    LateStart,
    NodeCrash,
    Partition,
    RadioHang,
)
from tinyssb_node.sim.links import PathLoss
from tinyssb_node.sim.moves import NodeMove
from tinyssb_node.sim.options import (
    CableOptions,
    ChannelOptions,
    OtherRadioOptions,
    RadioOptions,
    SimulationOptions,
)
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenario_file import parse_scenario, read_scenario
from tinyssb_node.sim.topology import ExplicitTopology, IslandsTopology, Topology
from tinyssb_node.sim.traffic import BacklogTraffic, FeedIdTraffic, PeriodicPostTraffic, Traffic

PATH = Path("mine.toml")
EVERYTHING = """\
seed = 7
nodes = 4
hours = 2
happenings = 1000
stop = false
converge_s = 60
boards = ["n3"]
acquainted = true

[radio]
frequency_hz = 868_300_000
spreading_factor = 9
region = "EU868"
power_dbm = 10

[topology]
kind = "given"
positions_m = [["n0", 0, 0], ["n1", 10, 0.5], ["n2", 20, 0], ["n3", 30, 0]]

[channel]
path_loss = "oulu"
shadowing_db = 0
loss = 0.1

[[streams]]
left = "n0"
right = "n1"
jitter_ms = 5

[[traffic]]
kind = "backlog"
nodes = ["n0-n1"]
entries = 2

[[traffic]]
kind = "posts"
nodes = ["n2"]
every_s = 60
until_s = 600

[[traffic]]
kind = "ids"
nodes = ["n0"]
count = 3

[[faults]]
kind = "cut"
left = ["n0"]
right = ["n1-n3"]
at_s = 10
until_s = 20

[[faults]]
kind = "crash"
nodes = ["n1"]
at_s = 5
torn = true

[[faults]]
kind = "clock"
nodes = ["n2"]
at_s = 1

[[moves]]
node = "n2"
at_s = 1
until_s = 2
to_m = [3, 4]

[[absences]]
kind = "sleep"
nodes = ["n3"]
awake_s = 3
every_s = 60

[[absences]]
kind = "visits"
node = "n0"
places = ["n1-n2", "n3"]
stay_s = 40
every_s = 300
"""


def test_everything_that_can_be_said() -> None:
    assert parse_scenario(EVERYTHING, PATH) == SimulationOptions(
        scenario="mine.toml",
        seed=7,
        nodes=4,
        hours=2.0,
        happenings=1_000,
        stop=False,
        converge_s=60.0,
        boards=("n3",),
        acquainted=True,
        radio=RadioOptions(spreading_factor=9, region=Region.EU868, power_dbm=10.0),
        topology=ExplicitTopology(
            positions_m=(("n0", 0.0, 0.0), ("n1", 10.0, 0.5), ("n2", 20.0, 0.0), ("n3", 30.0, 0.0))
        ),
        channel=ChannelOptions(path_loss=PathLoss.OULU, shadowing_db=0.0, loss=0.1),
        streams=(CableOptions(left="n0", right="n1", jitter_ms=5),),
        traffic=(
            BacklogTraffic(nodes=("n0-n1",), entries=2),
            PeriodicPostTraffic(nodes=("n2",), every_s=60.0, until_s=600.0),
            FeedIdTraffic(nodes=("n0",), count=3),
        ),
        faults=(
            Partition(left=("n0",), right=("n1-n3",), at_s=10.0, until_s=20.0),
            NodeCrash(nodes=("n1",), at_s=5.0, torn=True),
            ClockJump(nodes=("n2",), at_s=1.0),
        ),
        moves=(NodeMove(node="n2", at_s=1.0, until_s=2.0, to_m=(3.0, 4.0)),),
        absences=(
            Sleep(nodes=("n3",), awake_s=3.0, every_s=60.0),
            Visits(node="n0", places=("n1-n2", "n3"), stay_s=40.0, every_s=300.0),
        ),
    )


def test_an_empty_file_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.write_text("")
    assert read_scenario(path) == SimulationOptions(scenario=str(path))


@pytest.mark.parametrize(
    ("text", "line", "key", "reason"),
    [
        ("nodes = 4\nnoodles = 5\n", 2, "noodles", "did you mean nodes?"),
        ("xyzzy = 1", 1, "xyzzy", "there are absences, acquainted, boards, "),
        ("scenario = 'x'", 1, "scenario", "there is no such key"),
        ("[radio]\n\nspreading_factor = 13", 3, "radio.spreading_factor", "is 13; possible: 7 to 12"),
        ("[radio]\nbandwith_hz = 1", 2, "radio.bandwith_hz", "did you mean bandwidth_hz?"),
        ("[radio]\nregion = 'EU869'", 2, "radio.region", "it takes one of EU868"),
        ("[radio]\nregion = 'EU868'\nfrequency_hz = 915_000_000", 2, "radio.region", "nearest legal choice"),
        ("nodes = 'many'", 1, "nodes", "it takes a whole number"),
        ("nodes = true", 1, "nodes", "it takes a whole number"),
        ("hours = '2'", 1, "hours", "it takes a number"),
        (f"nodes = 2\nhours = 1{400 * '0'}", 2, "hours", "a number of fewer digits"),
        (
            "[[radios]]\nnodes = ['n1']\nradio = { spreading_factor = 13 }",
            3,
            "radios[0].radio.spreading_factor",
            "possible: 7 to 12",
        ),
        ("[[radios]]\nnodes = ['n1']", 1, "radios[0].radio", "it is missing"),
        (
            "[[faults]]\nkind = 'lying_disk'\nnodes = ['n1']\nat_s = 5\nuntil_s = 4",
            5,
            "faults[0].until_s",
            "before it begins",
        ),
        ("stop = 1", 1, "stop", "it takes true or false"),
        ("radio = 3", 1, "radio", "it takes a table"),
        ("topology = 3", 1, "topology", "it takes a table"),
        ("[topology]\ncount = 3", 1, "topology.kind", "it takes one of domain, line"),
        ("[topology]\nkind = 'islnds'", 2, "topology.kind", "it takes one of domain, line"),
        ("[topology]\nkind = 'line'\ncount = 3", 3, "topology.count", "there is no such key"),
        ("[topology]\nkind = 'field'", 1, "topology.reach_m", "it is missing"),
        ("[topology]\nkind='given'\nlinks=[['n0','n1']]", 3, "topology.links[0]", "it takes 3 values"),
        ("[topology]\nkind='given'\nlinks=[['n0','n1','x']]", 3, "topology.links[0]", "it takes a number"),
        ("faults = 3", 1, "faults", "it takes a list"),
        ("nodes=2\n[[faults]]\nkind='late'\nnodes='n0'\nat_s=1", 4, "faults[0].nodes", "it takes a list"),
        ("[[faults]]\nkind = 'meteor'", 2, "faults[0].kind", "it takes one of cut, crash"),
        (
            EVERYTHING.replace('right = ["n1-n3"]', 'right = ["n0-n3"]'),
            49,
            "faults[0].right",
            "n0 cannot be on both sides of a cut",
        ),
        (
            EVERYTHING + "[[faults]]\nkind='cut'\nright=['n0']\nleft=['n1-n3']\nuntil_s=11\n",
            86,
            "faults[3].until_s",
            "the same sides are cut from 10 s to 20 s already",
        ),
        (EVERYTHING.replace('node = "n2"', 'node = "n4"'), 64, "moves[0]", "there is no node n4"),
        ("nodes = 4\nnodes = 5\n", 2, "", "it is not TOML"),
    ],
)
def test_what_cannot_be_is_refused_with_key_and_line(text: str, line: int, key: str, reason: str) -> None:
    with pytest.raises(ScenarioFileError) as error:
        parse_scenario(text, PATH)
    assert (error.value.line, error.value.key) == (line, key)
    assert reason in error.value.reason
    message = str(error.value)
    assert f"The scenario mine.toml, line {line} cannot be played: {key}" in message
    assert "docs/reference/sim.md" in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileError, match="No such file"):
        read_scenario(tmp_path / "nowhere.toml")
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(ScenarioFileError, match="UTF-8"):
        read_scenario(path)
    path.write_bytes(b"#" * (limits.FILE_MAX + 1))
    with pytest.raises(ScenarioFileError, match="longer than"):
        read_scenario(path)


words = st.sampled_from(
    [
        "nodes", "seed", "radio", "topology", "kind", "faults", "traffic", "channel", "at_s", "left", "right", "cut",
        "line", "field", "posts", "loss", "n0", "n0-n3", "until_s", "moves", "links", "duty", "region", "EU868",
    ]
)  # fmt: skip
values = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=True)
    | words
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=10,
)


def as_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {as_toml(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return (
            '"' + "".join(f"\\U{ord(char):08x}" for char in value if not 0xD800 <= ord(char) < 0xE000) + '"'
        )
    return str(value)


@given(st.dictionaries(words, values, max_size=5))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_file_is_read_or_refused(document: dict[str, object]) -> None:
    text = "".join(f"{key} = {as_toml(value)}\n" for key, value in document.items() if "-" not in key)
    with contextlib.suppress(ScenarioFileError):
        assert parse_scenario(text, PATH).scenario == "mine.toml"


def test_the_example_of_the_page_can_be_played(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", read("docs/reference/sim.md"), re.DOTALL)
    options = parse_scenario(example, PATH)
    assert isinstance(options.topology, IslandsTopology)
    assert run_scenario(options).converged


def test_every_key_and_kind_is_on_the_page() -> None:
    page = read("docs/reference/sim.md")
    records = [
        SimulationOptions,
        RadioOptions,
        OtherRadioOptions,
        ChannelOptions,
        CableOptions,
        NodeMove,
        *get_args(Topology),
        *get_args(Traffic),
        *get_args(Fault),
        *get_args(Absence),
    ]
    missing = [
        f"{record.__name__}.{field.name}"
        for record in records
        for field in fields(record)
        if field.name != "scenario" and f"`{field.name}`" not in page and f"[{field.name}]" not in page
    ]
    kinds = [record.KIND for record in records if hasattr(record, "KIND")]
    assert missing + [kind for kind in kinds if f"`{kind}`" not in page] == []
    assert {BrownOut.KIND, Churn.KIND, RadioHang.KIND, LateStart.KIND} <= set(kinds)
