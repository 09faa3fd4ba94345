"""The ground of a simulation: nodes at their positions, the channel between them, and the nodes in reach of each."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim.links import LinkQuality, shadowing_db
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.modems import ModemOptions
from tinyssb_node.sim.options import SimulationOptions
from tinyssb_node.sim.topology import FieldTopology, Placement
from tinyssb_node.sim.world import stream

_TRIES: Final = 300  # fields drawn until hills leave one whole and wide enough


@dataclass(frozen=True, slots=True)
class Ground:
    """The positions, channel and neighbours of a simulation."""

    placement: Placement
    """The layout of the nodes."""
    medium: SimulatedMedium
    """The channel, with every node on it."""
    neighbours: tuple[tuple[int, ...], ...]
    """The nodes in reach of each node in both directions, in the beginning, without interference; by number."""


def place_nodes(options: SimulationOptions) -> Ground:
    """Place the nodes. A field is drawn again until all its nodes are connected, over as many hops as it asks.

    Raises SimulationOptionError if there is no such field.
    """
    topology = options.topology
    if not isinstance(topology, FieldTopology):
        return _try(options, 0)
    for attempt in range(_TRIES):
        ground = _try(options, attempt)
        hops = diameter(ground.neighbours)
        if hops is not None and hops >= topology.hops_min:
            return ground
    raise SimulationOptionError(
        "topology",
        f"of {_TRIES} fields none was connected over {topology.hops_min} hops or more; another "
        "width_m, height_m or reach_m may do",
    )


def _try(options: SimulationOptions, attempt: int) -> Ground:
    names = options.names
    placement = options.topology.place(names, stream(options.seed, f"placement {attempt}"))
    terrain = stream(options.seed, f"terrain {attempt}")
    medium = SimulatedMedium(medium_options(options), stream(options.seed, "medium"), terrain)
    for name, radio in options.radio_by_node.items():
        medium.add_node(name, placement.positions_m.get(name))
        if radio is not options.radio:
            medium.set_modem(
                name,
                ModemOptions(lora=radio.lora, power_dbm=radio.power_dbm, turnaround_us=radio.turnaround_us),
            )
    for (left, right), rssi_dbm in placement.links_dbm.items():
        loss = placement.losses.get((left, right), options.channel.loss)
        medium.set_link(left, right, LinkQuality(rssi_dbm, loss))
    heard: list[list[int]] = [[] for _ in names]
    for one, other in combinations(range(len(names)), 2):
        if medium.reaches(names[one], names[other]):
            heard[one].append(other)
            heard[other].append(one)
    return Ground(placement, medium, tuple(map(tuple, heard)))


def diameter(neighbours: Sequence[Sequence[int]]) -> int | None:
    """Hops between the two nodes farthest apart; None if some are not connected at all."""
    longest = 0
    for start in range(len(neighbours)):
        hops = {start: 0}
        waiting = deque([start])
        while waiting:
            node = waiting.popleft()
            for other in neighbours[node]:
                if other not in hops:
                    hops[other] = hops[node] + 1
                    waiting.append(other)
        if len(hops) < len(neighbours):
            return None
        longest = max(longest, *hops.values())
    return longest


def medium_options(options: SimulationOptions) -> MediumOptions:
    """Return the channel's settings for the medium."""
    channel = options.channel
    return MediumOptions(
        lora=options.radio.lora,
        power_dbm=options.radio.power_dbm,
        default_rssi_dbm=None,
        default_loss=channel.loss,
        path_loss=channel.path_loss,
        shadowing_db=shadowing_db(channel.path_loss)
        if channel.shadowing_db is None
        else channel.shadowing_db,
        asymmetry_db=channel.asymmetry_db,
        fading_db=channel.fading_db,
        soft_edge=channel.soft_edge,
        bursts=channel.bursts,
        burst_us=1_000 * channel.burst_ms,
        false_alarm=channel.false_alarm,
        turnaround_us=options.radio.turnaround_us,
    )
