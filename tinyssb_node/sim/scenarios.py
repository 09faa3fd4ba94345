"""The built-in scenarios, by name: each makes its options from a seed and a number of nodes."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from firmware_bridge.regions import Region
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.ids import Dialect
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.absences import Sleep, Visits
from tinyssb_node.sim.bound import expected_sends
from tinyssb_node.sim.faults import (
    BrownOut,
    Churn,
    ClockJump,
    Fault,
    LateStart,
    LyingDisk,
    NodeCrash,
    Partition,
    RadioHang,
)
from tinyssb_node.sim.links import PathLoss
from tinyssb_node.sim.options import (
    CableOptions,
    ChannelOptions,
    OtherRadioOptions,
    RadioOptions,
    SimulationOptions,
)
from tinyssb_node.sim.topology import (
    DomainTopology,
    FieldTopology,
    GridTopology,
    IslandsTopology,
    LineTopology,
    RingTopology,
    StarTopology,
    Topology,
)
from tinyssb_node.sim.traffic import BacklogTraffic, FeedIdTraffic, PeriodicPostTraffic, PostTraffic
from tinyssb_node.sim.values import within
from tinyssb_node.sim.world import stream


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario with a name."""

    about: str
    """A description in one line."""
    nodes: int
    """Default number of nodes."""
    make: Callable[[int, int], SimulationOptions]
    """Its options, from a seed and a number of nodes."""


def build(
    name: str, *, seed: int = 1, nodes: int | None = None, hours: float | None = None
) -> SimulationOptions:
    """Return the options of the scenario *name*. Raises SimulationOptionError if there is none, or it cannot have so
    many nodes."""
    scenario = SCENARIOS.get(name)
    if scenario is None:
        raise SimulationOptionError(
            "scenario", f"there is no scenario '{name}'; there are {', '.join(SCENARIOS)}"
        )
    count = scenario.nodes if nodes is None else nodes
    within("nodes", count, 1, sim_limits.NODES_MAX)
    options = replace(scenario.make(seed, count), scenario=name, seed=seed)
    return options if hours is None else replace(options, hours=hours)


def all_of(nodes: int) -> tuple[str, ...]:
    """Return all nodes, as faults and traffic name them."""
    return (f"n0-n{nodes - 1}",)


def _domain10(seed: int, nodes: int) -> SimulationOptions:
    # 24 bytes: inline in the deployed dialect too, so that boards have as much to send.
    return SimulationOptions(
        seed=seed, nodes=nodes, traffic=(BacklogTraffic(nodes=all_of(nodes), entries=10, size=24),)
    )


def _lossy10(seed: int, nodes: int) -> SimulationOptions:
    return replace(_domain10(seed, nodes), channel=ChannelOptions(loss=0.2))


def _newcomers(seed: int, nodes: int) -> SimulationOptions:
    # 326 bytes: 26 beside the length's two in the entry, three chunks of 100.
    return SimulationOptions(
        seed=seed, nodes=nodes, traffic=(BacklogTraffic(nodes=("n0",), entries=100, size=326),)
    )


def _field30(seed: int, nodes: int) -> SimulationOptions:
    # A packet carries about 140 m here, so that it takes five to eight hops from end to end.
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=12.0,
        radio=RadioOptions(duty=0.05),
        channel=ChannelOptions(loss=0.1),
        topology=FieldTopology(width_m=900, height_m=300, reach_m=110, apart_m=30, hops_min=4),
        traffic=(BacklogTraffic(nodes=all_of(nodes), entries=5),),
    )


def _field60(seed: int, nodes: int) -> SimulationOptions:
    # The default channel of Meshtastic in Europe, and a tenth of the load of its simulator's default, which is more
    # than any law allows: 40 bytes every 100 s from each of 60 nodes.
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=48.0,
        radio=RadioOptions(
            region=Region.EU868, frequency_hz=869_525_000, bandwidth_hz=250_000, spreading_factor=11
        ),
        channel=ChannelOptions(path_loss=PathLoss.OULU),
        topology=FieldTopology(width_m=15_000, height_m=15_000, reach_m=4_000, apart_m=500),
        traffic=(PeriodicPostTraffic(nodes=all_of(nodes), every_s=1_000, until_s=7_200),),
    )


def _idle(seed: int, nodes: int) -> SimulationOptions:
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=24.0,
        stop=False,
        traffic=(BacklogTraffic(nodes=all_of(nodes), entries=1),),
    )


def _goset(seed: int, nodes: int) -> SimulationOptions:
    half = nodes // 2
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        acquainted=True,
        traffic=(
            FeedIdTraffic(nodes=all_of(nodes), count=90 - nodes),
            FeedIdTraffic(nodes=(f"n0-n{half - 1}",), first=200, count=5),
            FeedIdTraffic(nodes=(f"n{half}-n{nodes - 1}",), first=210, count=5),
        ),
    )


def _line8(seed: int, nodes: int) -> SimulationOptions:
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        acquainted=True,
        topology=LineTopology(),
        traffic=(PostTraffic(nodes=("n0",), at_s=600),),
    )


def _line12(seed: int, nodes: int) -> SimulationOptions:
    # Entries from both ends, so that they meet, and a tenth of the packets lost.
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        acquainted=True,
        topology=LineTopology(),
        channel=ChannelOptions(loss=0.1),
        traffic=(PostTraffic(nodes=("n0", f"n{nodes - 1}"), at_s=600),),
    )


def _mobile(seed: int, nodes: int) -> SimulationOptions:
    # Two places out of reach of each other, and more to carry than fits into eight contacts of 40 s.
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=6.0,
        topology=StarTopology(),
        traffic=(BacklogTraffic(nodes=(f"n1-n{nodes - 1}",), entries=800 // nodes),),
        absences=(
            Visits(
                node="n0",
                places=tuple(f"n{number}" for number in range(1, nodes)),
                at_s=60,
                stay_s=40,
                every_s=300,
            ),
        ),
    )


def _solar(seed: int, nodes: int) -> SimulationOptions:
    # A minute of every twenty: less often, as a computer takes half a minute to boot.
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=6.0,
        traffic=(
            BacklogTraffic(nodes=("n0",), entries=200),
            BacklogTraffic(nodes=(f"n1-n{nodes - 1}",), entries=400 // nodes),
        ),
        absences=(Sleep(nodes=("n0",), at_s=1_200, awake_s=60, every_s=1_200),),
    )


def _islands(seed: int, nodes: int) -> SimulationOptions:
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=4.0,
        topology=IslandsTopology(count=3),
        traffic=(PeriodicPostTraffic(nodes=all_of(nodes), every_s=300, until_s=3_600),),
    )


def _partition(seed: int, nodes: int) -> SimulationOptions:
    half = nodes // 2
    left, right = (f"n0-n{half - 1}",), (f"n{half}-n{nodes - 1}",)
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=4.0,
        traffic=(PeriodicPostTraffic(nodes=all_of(nodes), every_s=300, until_s=3_600),),
        faults=(Partition(left=left, right=right, at_s=600, until_s=3_600),),
    )


def _bridge(seed: int, nodes: int) -> SimulationOptions:
    half = nodes // 2
    slow = OtherRadioOptions(nodes=(f"n{half}-n{nodes - 1}",), radio=RadioOptions(spreading_factor=9))
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=2.0,
        radios=(slow,),
        streams=(CableOptions(left="n0", right=f"n{half}"),),
        traffic=(PeriodicPostTraffic(nodes=all_of(nodes), every_s=300, until_s=1_800),),
    )


def _mixed(seed: int, nodes: int) -> SimulationOptions:
    options = _domain10(seed, nodes)
    return replace(options, hours=6.0, boards=(f"n0-n{nodes // 2 - 1}",), dialect=Dialect.DEPLOYED)


def _repeater(seed: int, nodes: int) -> SimulationOptions:
    ends = ("n0", f"n{nodes - 1}")
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=6.0,
        topology=LineTopology(),
        repeaters=(f"n1-n{nodes - 2}",),
        dialect=Dialect.DEPLOYED,
        traffic=(BacklogTraffic(nodes=ends, entries=10, size=24),),
    )


def _town(seed: int, nodes: int) -> SimulationOptions:
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=1.0,
        stop=False,
        radio=RadioOptions(region=Region.EU868),
        topology=FieldTopology(width_m=500, height_m=500, reach_m=110, apart_m=20),
        traffic=(
            PeriodicPostTraffic(nodes=all_of(nodes), every_s=900, until_s=3_300),
            PeriodicPostTraffic(
                nodes=(f"n0-n{nodes // 5}",), every_s=1_200, at_s=60, until_s=3_000, size=400
            ),
        ),
    )


def _random(seed: int, nodes: int) -> SimulationOptions:
    """Anything: a shape, a channel, traffic and up to five faults, all drawn from the seed."""
    chance = stream(seed, "scenario")
    span_s = 1_800.0
    topology = _random_topology(chance)
    faults = tuple(_random_fault(chance, nodes, span_s) for _ in range(chance.randrange(6)))
    cuts = [fault for fault in faults if isinstance(fault, Partition)]
    cables = (CableOptions(left="n0", right=f"n{nodes - 1}", latency_ms=50, jitter_ms=200),)
    radio = RadioOptions(duty=chance.choice((None, None, 0.05, 0.01)))
    channel = ChannelOptions(
        loss=chance.choice((0.0, 0.05, 0.2, 0.3)),
        duplicate=chance.choice((0.0, 0.02)),
        corrupt=chance.choice((0.0, 0.02)),
        fading_db=chance.choice((0.0, 2.0)),
        asymmetry_db=chance.choice((0.0, 2.0)),
        bursts=chance.choice((0.0, 0.0, 0.05)),
    )
    traffic = (
        BacklogTraffic(nodes=(f"n{chance.randrange(nodes)}",), entries=chance.randrange(1, 20)),
        PeriodicPostTraffic(
            nodes=all_of(nodes), every_s=600, until_s=span_s, size=chance.choice((10, 40, 48, 150, 400))
        ),
    )
    # At most so many entries and chunks, which one node in the middle may have to send to all others.
    packets = 20 + nodes * 6 * (1 + traffic[1].size // 100)
    sends = packets * expected_sends(nodes - 1, channel.loss)
    # Two hours: a few of the longest intervals between adverts on each of seven hops, and what follows; and for each
    # packet to be sent, at full duty, three times its time on the air.
    converge_s = 7_200.0 + sends * 0.6 / (radio.duty or 1.0)
    return SimulationOptions(
        seed=seed,
        nodes=nodes,
        hours=float(math.ceil(1 + (span_s + converge_s) / 3_600)),
        converge_s=converge_s,
        topology=topology,
        radio=radio,
        channel=channel,
        streams=cables if chance.random() < 0.3 else (),
        traffic=traffic,
        faults=(*(fault for fault in faults if fault not in cuts[1:]), *_random_lies(seed, nodes, span_s)),
    )


def _random_lies(seed: int, nodes: int, span_s: float) -> tuple[Fault, ...]:
    """Let a node's disk lie with one seed in five."""
    chance = stream(seed, "disks")
    if chance.random() >= 0.2:
        return ()
    some = tuple(f"n{number}" for number in sorted(chance.sample(range(nodes), chance.randrange(1, nodes))))
    at_s = float(chance.randrange(round(span_s)))
    for_s = float(chance.randrange(1, 1_200))
    return (LyingDisk(nodes=some, at_s=at_s, until_s=at_s + for_s),)


def _random_topology(chance: random.Random) -> Topology:
    shapes: tuple[Topology, ...] = (
        DomainTopology(),
        LineTopology(),
        RingTopology(),
        GridTopology(),
        StarTopology(),
        IslandsTopology(count=2),
        FieldTopology(width_m=400, height_m=400, reach_m=110),
    )
    return chance.choice(shapes)


def _random_fault(chance: random.Random, nodes: int, span_s: float) -> Fault:
    some = tuple(f"n{number}" for number in sorted(chance.sample(range(nodes), chance.randrange(1, nodes))))
    rest = tuple(name for name in (f"n{number}" for number in range(nodes)) if name not in some)
    at_s = float(chance.randrange(round(span_s)))
    for_s = float(chance.randrange(1, 600))
    faults: tuple[Fault, ...] = (
        Partition(left=some, right=rest, at_s=at_s, until_s=at_s + for_s),
        NodeCrash(nodes=some, at_s=at_s, down_s=for_s),
        NodeCrash(nodes=some, at_s=at_s, down_s=for_s, torn=True),
        BrownOut(nodes=some, at_s=at_s, down_s=for_s),
        RadioHang(nodes=some, at_s=at_s, for_s=for_s),
        ClockJump(nodes=some, at_s=at_s, step_s=chance.choice((None, -1e6, 1e8))),
        LateStart(nodes=some, at_s=at_s),
        Churn(nodes=some, until_s=span_s, up_s=300, down_s=60),
    )
    return chance.choice(faults)


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "domain10": Scenario("one radio domain, ten entries by each node", 10, _domain10),
    "lossy10": Scenario("the same, every receiver loses a fifth of the packets", 10, _lossy10),
    "newcomers": Scenario(
        "one node holds 100 entries of three chunks each, the others come empty", 10, _newcomers
    ),
    "field30": Scenario("nodes at random in a field, several hops, a tenth of packets lost", 30, _field30),
    "field60": Scenario("nodes on 15 by 15 km, each posts now and then", 60, _field60),
    "idle": Scenario("no traffic for a day", 10, _idle),
    "goset": Scenario("100 feed ids, of which each half of the nodes lacks five", 10, _goset),
    "line8": Scenario("a line of eight hops, one entry at its end", 9, _line8),
    "line12": Scenario(
        "a line of twelve hops, a tenth of packets lost, one entry from each end", 13, _line12
    ),
    "mobile": Scenario("a node carries entries between two places, 40 s in reach of each", 3, _mobile),
    "solar": Scenario("one node of a domain is awake for a minute of every twenty", 4, _solar),
    "islands": Scenario("three groups, each in touch with the next through one node", 12, _islands),
    "partition": Scenario("two halves fall apart for most of an hour and meet again", 10, _partition),
    "bridge": Scenario(
        "half the nodes at SF7, half at SF9 in the same band; one of each on a cable", 10, _bridge
    ),
    "mixed": Scenario("the first half of the nodes are boards that play by deployed rules", 10, _mixed),
    "repeater": Scenario("two nodes with nothing between them but an empty board", 3, _repeater),
    "town": Scenario("an hour of short and long entries in a field", 50, _town),
    "random": Scenario("random options and faults: run by `tinyssb sim search`", 8, _random),
}
"""All there are."""
