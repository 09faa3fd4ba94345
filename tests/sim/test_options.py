"""Options that cannot be are refused, with the key at fault."""

from dataclasses import replace

import pytest

from firmware_bridge.regions import Region
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim import limits
from tinyssb_node.sim.faults import ClockJump, Partition
from tinyssb_node.sim.moves import NodeMove
from tinyssb_node.sim.options import (
    CableOptions,
    ChannelOptions,
    OtherRadioOptions,
    RadioOptions,
    SimulationOptions,
)
from tinyssb_node.sim.topology import ExplicitTopology, FieldTopology, LineTopology
from tinyssb_node.sim.traffic import BacklogTraffic, PeriodicPostTraffic

PLACED = ExplicitTopology(positions_m=tuple((f"n{number}", 10.0 * number, 0.0) for number in range(10)))
CUT = Partition(left=("n0",), right=("n1",), at_s=10, until_s=20)


def refused(key, make, *args, **kwargs):
    with pytest.raises(SimulationOptionError) as error:
        make(*args, **kwargs)
    assert error.value.key == key
    return error.value.reason


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nodes", 0),
        ("nodes", 201),
        ("hours", 0.0),
        ("hours", 9_000.0),
        ("happenings", 0),
        ("seed", -1),
        ("seed", 2**63),
        ("converge_s", 0.5),
    ],
)
def test_numbers_out_of_bounds(key, value):
    assert "it takes" in refused(key, SimulationOptions, **{key: value})


def test_the_bounds_themselves_are_possible():
    SimulationOptions(nodes=200, hours=limits.HOURS_MAX, seed=2**63 - 1)
    SimulationOptions(nodes=1, hours=0.001, seed=0, converge_s=1)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("loss", 1.1),
        ("loss", -0.1),
        ("duplicate", 2),
        ("corrupt", 2),
        ("false_alarm", 2),
        ("bursts", 0.6),
        ("burst_ms", 0),
        ("fading_db", -1),
        ("asymmetry_db", 31),
        ("shadowing_db", 31),
    ],
)
def test_channels_that_cannot_be(key, value):
    refused(key, ChannelOptions, **{key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spreading_factor", 6),
        ("bandwidth_hz", 126_000),
        ("frequency_hz", 1),
        ("coding_rate", 9),
        ("power_dbm", 40),
        ("duty", 0),
        ("duty", 1.5),
        ("turnaround_us", -1),
    ],
)
def test_radios_that_cannot_be(key, value):
    refused(key, RadioOptions, **{key: value})


def test_a_radio_whose_packets_are_longer_than_the_law_allows():
    reason = refused("dwell_ms", RadioOptions, spreading_factor=10, dwell_ms=400)
    assert "1190 ms" in reason
    assert RadioOptions(dwell_ms=400).longest_us == 400_000


def test_a_region_says_what_the_law_is():
    radio = RadioOptions(region=Region.EU868)
    assert radio.allowance is not None
    assert radio.allowance.limit_us == 36_000_000
    assert (
        RadioOptions(region=Region.AU915, frequency_hz=917_500_000, bandwidth_hz=500_000).longest_us
        == 400_000
    )
    assert "868.65" in refused("region", RadioOptions, region=Region.EU868, frequency_hz=868_650_000)
    refused("region", RadioOptions, region=Region.EU868, duty=0.1)


def test_a_duty_of_ones_own():
    allowance = RadioOptions(duty=0.05).allowance
    assert allowance is not None
    assert allowance.limit_us == 180_000_000
    assert RadioOptions().allowance is None
    assert RadioOptions().longest_us is None


@pytest.mark.parametrize(
    ("key", "made"),
    [
        ("traffic", {"traffic": (PeriodicPostTraffic(nodes=("n9", "n10"), every_s=1, until_s=2),)}),
        ("faults", {"faults": (CUT, Partition(left=("n10",), right=("n1",), until_s=20))}),
        ("streams", {"streams": (CableOptions(left="n0", right="n10"),)}),
        ("boards", {"boards": ("n10",)}),
        ("topology", {"topology": ExplicitTopology(links=(("n0", "n10", -80.0),))}),
    ],
)
def test_nodes_that_are_not_there(key, made):
    with pytest.raises(SimulationOptionError, match="no node n10; they are n0 to n9") as error:
        SimulationOptions(**made)
    assert error.value.key.startswith(key)


def test_the_same_sides_are_not_cut_twice_at_a_time():
    again = replace(CUT, left=("n1",), right=("n0",), at_s=19, until_s=30)
    assert "from 10 s to 20 s already" in refused(
        "faults[2].until_s", SimulationOptions, faults=(CUT, ClockJump(nodes=("n0",), at_s=1), again)
    )
    SimulationOptions(faults=(CUT, replace(again, at_s=20)))
    SimulationOptions(faults=(CUT, replace(again, left=("n2",))))


def test_only_nodes_with_places_move_and_each_one_way_at_a_time():
    move = NodeMove(node="n1", at_s=10, until_s=20, to_m=(5.0, 5.0))
    refused("moves", SimulationOptions, topology=LineTopology(), moves=(move,))
    refused(
        "moves", SimulationOptions, topology=ExplicitTopology(links=(("n0", "n1", -80.0),)), moves=(move,)
    )
    SimulationOptions(topology=FieldTopology(reach_m=100), moves=(move,))
    SimulationOptions(
        topology=PLACED, moves=(move, replace(move, node="n2"), replace(move, at_s=20, until_s=30))
    )
    assert "already" in refused(
        "moves[1].at_s", SimulationOptions, topology=PLACED, moves=(move, replace(move, at_s=19, until_s=30))
    )


def test_calm_is_when_all_is_over():
    posts = PeriodicPostTraffic(nodes=("n0",), every_s=1, until_s=30)
    assert SimulationOptions().calm_us == 0
    assert SimulationOptions(faults=(CUT,)).calm_us == 20_000_000
    assert SimulationOptions(faults=(CUT,), traffic=(posts,)).calm_us == 30_000_000


def test_a_node_has_one_radio():
    slow = OtherRadioOptions(nodes=("n1-n2",), radio=RadioOptions(spreading_factor=9))
    options = SimulationOptions(nodes=3, radios=(slow,))
    assert [radio.spreading_factor for radio in options.radio_by_node.values()] == [7, 9, 9]
    assert "n2 has another radio" in refused(
        "radios[1].nodes", SimulationOptions, radios=(slow, replace(slow, nodes=("n2",)))
    )
    refused("radios[0]", SimulationOptions, nodes=2, radios=(slow,))


def test_there_is_no_more_to_be_said_than_memory_holds():
    backlog = BacklogTraffic(nodes=("n0-n9",), entries=25_000)
    SimulationOptions(traffic=(backlog, backlog))
    refused("traffic", SimulationOptions, traffic=(backlog, replace(backlog, size=200)))
    posts = PeriodicPostTraffic(nodes=("n0-n9",), every_s=1, until_s=15_000)
    assert posts.packets == 10 * 30_000 * 2
    refused("traffic", SimulationOptions, traffic=(posts, posts))


def test_as_many_cuts_as_the_channel_holds():
    cuts = tuple(replace(CUT, at_s=number, until_s=number + 1) for number in range(101))
    SimulationOptions(faults=cuts[1:])
    refused("faults", SimulationOptions, faults=cuts)
