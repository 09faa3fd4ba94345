"""The options of a simulation: one frozen record, which with its seed determines everything that happens.

An impossible record is refused where it is made, by SimulationOptionError with the key at fault; ``scenario_file`` adds
file and line. Hours, seconds and metres are for people; the simulator itself counts microseconds.
"""

import dataclasses
from dataclasses import dataclass

from firmware_bridge.lora import LoraSettings, airtime_us
from firmware_bridge.plans import IllegalPlanError, resolve
from firmware_bridge.regions import WINDOW_US, Region
from tinyssb_node import limits
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.faces.radio import allowance_of
from tinyssb_node.ids import Dialect
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.absences import Absence, Sleep
from tinyssb_node.sim.faults import Fault, Partition
from tinyssb_node.sim.links import PathLoss
from tinyssb_node.sim.moves import NodeMove, check_moves
from tinyssb_node.sim.topology import DomainTopology, ExplicitTopology, FieldTopology, Topology
from tinyssb_node.sim.traffic import Traffic
from tinyssb_node.sim.values import SECOND_US, OfNodes, members, within

HOUR_US = 3_600 * SECOND_US


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioOptions:
    """A node's radio, and the law it is under."""

    frequency_hz: int = 868_300_000
    """Centre frequency."""
    bandwidth_hz: int = 125_000
    """Bandwidth."""
    spreading_factor: int = 7
    """7 to 12."""
    coding_rate: int = 5
    """Denominator of the coding rate, 5 to 8."""
    preamble_symbols: int = 8
    """Length of the preamble."""
    power_dbm: float = 14.0
    """Radiated power, antennas included."""
    region: Region | None = None
    """The region whose law it keeps: duty cycle and dwell time follow from it. None for other limits, or none."""
    duty: float | None = None
    """Share of any hour that a node may be on the air, above 0 and up to 1; None for no limit."""
    dwell_ms: int | None = None
    """Longest time on the air in one go; None for no limit."""
    turnaround_us: int = 1_000
    """Time for which a modem is deaf after sending: 1,000 behind SPI, 5,000 behind a USB serial line."""

    def __post_init__(self) -> None:
        try:
            longest_us = airtime_us(self.lora, limits.PACKET_SIZE + limits.CRC_SIZE)
        except ValueError as error:
            key, _, reason = str(error).partition(" ")
            raise SimulationOptionError(key, reason) from error
        within("power_dbm", self.power_dbm, -20, 33)
        within("turnaround_us", self.turnaround_us, 0, SECOND_US)
        if self.duty is not None:
            within("duty", self.duty, 0.0001, 1)
        if self.region is not None:
            self._check_region(self.region)
        if self.dwell_ms is not None and longest_us > 1_000 * self.dwell_ms:
            raise SimulationOptionError(
                "dwell_ms",
                f"a full packet takes {longest_us / 1_000:.0f} ms with these settings, longer than the "
                f"{self.dwell_ms} ms allowed; a lower spreading factor or a wider band is quicker",
            )

    def _check_region(self, region: Region) -> None:
        if self.duty is not None or self.dwell_ms is not None:
            raise SimulationOptionError("region", f"{region} says what duty and dwell_ms are: give either")
        try:
            resolve(region, self.lora)
        except IllegalPlanError as error:
            raise SimulationOptionError("region", str(error)) from error

    @property
    def allowance(self) -> Allowance | None:
        """The allowance for the scheduler; None for no limit."""
        if self.region is not None:
            return allowance_of(resolve(self.region, self.lora))
        if self.duty is None:
            return None
        return Allowance(band="the band", limit_us=round(self.duty * WINDOW_US), window_us=WINDOW_US)

    @property
    def longest_us(self) -> int | None:
        """Longest time on the air in one go; None for no limit."""
        if self.region is not None:
            return resolve(self.region, self.lora).sub_band.dwell_us
        return None if self.dwell_ms is None else 1_000 * self.dwell_ms

    @property
    def lora(self) -> LoraSettings:
        """The modem's settings. Raises ValueError for settings that no chip has."""
        return LoraSettings(
            frequency_hz=self.frequency_hz,
            bandwidth_hz=self.bandwidth_hz,
            spreading_factor=self.spreading_factor,
            coding_rate=self.coding_rate,
            preamble_symbols=self.preamble_symbols,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRadioOptions(OfNodes):
    """A radio that some of the nodes have instead of the default one."""

    radio: RadioOptions
    """Their radio, complete: it inherits nothing from the default one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelOptions:
    """The channel between the nodes."""

    path_loss: PathLoss = PathLoss.SUBURBAN
    """The model by which power falls with distance."""
    shadowing_db: float | None = None
    """Standard deviation of the loss by hills and walls, drawn once per pair; None: as measured with the path loss."""
    asymmetry_db: float = 0.0
    """Most by which a direction of a pair is better or worse than the pair, drawn once per direction."""
    fading_db: float = 0.0
    """Standard deviation of one packet's signal at one receiver, around the link's."""
    soft_edge: bool = True
    """True if weak packets arrive with a probability rather than by a hard threshold."""
    loss: float = 0.0
    """Probability that a packet is lost, per receiver, over and above collisions."""
    duplicate: float = 0.0
    """Probability that a receiver hands a packet in twice."""
    corrupt: float = 0.0
    """Probability that a packet comes in with a flipped bit, its CRC right by chance."""
    bursts: float = 0.0
    """Share of time that others in the band drown everything around a node."""
    burst_ms: int = 100
    """Duration of a burst."""
    false_alarm: float = 0.01
    """Probability of a false alarm of carrier sense."""

    def __post_init__(self) -> None:
        for key in ("loss", "duplicate", "corrupt", "false_alarm"):
            within(key, getattr(self, key), 0, 1)
        within("bursts", self.bursts, 0, sim_limits.BURSTS_MAX)
        within("burst_ms", self.burst_ms, 1, 10_000)
        for key in ("asymmetry_db", "fading_db"):
            within(key, getattr(self, key), 0, 30)
        if self.shadowing_db is not None:
            within("shadowing_db", self.shadowing_db, 0, 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class CableOptions:
    """A cable between two nodes, beside the air."""

    left: str
    """One end."""
    right: str
    """The other."""
    latency_ms: int = 1
    """Time that a packet takes."""
    jitter_ms: int = 0
    """Up to how much longer, drawn for each packet: packets overtake each other."""

    def __post_init__(self) -> None:
        within("latency_ms", self.latency_ms, 0, 60_000)
        within("jitter_ms", self.jitter_ms, 0, 60_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOptions:
    """All options of a simulation."""

    scenario: str = "unnamed"
    """Name of the scenario, for reports."""
    seed: int = 1
    """All chance comes from it."""
    nodes: int = 10
    """Number of nodes; they are called n0, n1 and so on."""
    hours: float = 1.0
    """Virtual time after which the run ends in any case."""
    happenings: int = 50_000_000  # packets and timers: about an hour on a PC
    """Events (packets, timers) after which it ends in any case."""
    stop: bool = True
    """True if the run ends once all nodes agree and neither traffic nor faults are to come."""
    converge_s: float | None = None
    """Seconds in which all must agree once nothing disturbs them any more; None makes no such demand."""
    radio: RadioOptions = dataclasses.field(default_factory=RadioOptions)
    """The default radio."""
    radios: tuple[OtherRadioOptions, ...] = ()
    """Radios of nodes that have another one."""
    topology: Topology = dataclasses.field(default_factory=DomainTopology)
    channel: ChannelOptions = dataclasses.field(default_factory=ChannelOptions)
    boards: tuple[str, ...] = ()
    """Nodes that play by the rules of deployed boards: fixed timers, no carrier sense, no law (``sim.board``)."""
    repeaters: tuple[str, ...] = ()
    """Such boards that have no feed of their own."""
    dialect: Dialect = Dialect.SPEC
    """The dialect in which all others write; boards drop what is not ``deployed``."""
    acquainted: bool = False
    """True if all nodes know each other's feed ids from the beginning."""
    streams: tuple[CableOptions, ...] = ()
    traffic: tuple[Traffic, ...] = ()
    faults: tuple[Fault, ...] = ()
    moves: tuple[NodeMove, ...] = ()
    absences: tuple[Absence, ...] = ()

    def __post_init__(self) -> None:
        within("nodes", self.nodes, 1, sim_limits.NODES_MAX)
        within("hours", self.hours, 0.001, sim_limits.HOURS_MAX)
        within("happenings", self.happenings, 1, 10**9)
        within("seed", self.seed, 0, 2**63 - 1)  # the largest integer of TOML
        if self.converge_s is not None:
            within("converge_s", self.converge_s, 1, 3_600 * sim_limits.HOURS_MAX)
        for key in ("streams", "traffic", "faults", "moves", "absences", "radios"):
            self._check_items(key)
        _check_radios(self.radios)
        # Each takes about a kilobyte of memory at the nodes that hold it.
        within("traffic", sum(item.packets for item in self.traffic), 0, 1_000_000)
        for key in ("boards", "repeaters"):
            unknown = [name for name in members(key, getattr(self, key)) if name not in self.names]
            if unknown:
                raise SimulationOptionError(
                    key, f"there is no node {unknown[0]}; they are n0 to n{self.nodes - 1}"
                )
        if isinstance(self.topology, ExplicitTopology):
            missing = [name for name in self.topology.named() if name not in self.names]
            if missing:
                raise SimulationOptionError(
                    "topology", f"there is no node {missing[0]}; they are n0 to n{self.nodes - 1}"
                )
        _check_cuts(self.faults)
        _check_sleepers(self.absences)
        check_moves("moves", self.moves)
        if self.moves and not (isinstance(self.topology, FieldTopology) or self._given_places()):
            raise SimulationOptionError(
                "moves", "nodes can move only where they have places: kind field, or given positions_m"
            )

    def _check_items(self, key: str) -> None:
        items = getattr(self, key)
        within(key, len(items), 0, 1_000)
        known = set(self.names)
        for number, item in enumerate(items):
            for name in _names_in(item):
                if name not in known:
                    raise SimulationOptionError(
                        f"{key}[{number}]", f"there is no node {name}; they are n0 to n{self.nodes - 1}"
                    )

    @property
    def radio_by_node(self) -> dict[str, RadioOptions]:
        """The radio of each node, in order."""
        others = {name: item.radio for item in self.radios for name in item.named()}
        return {name: others.get(name, self.radio) for name in self.names}

    def _given_places(self) -> bool:
        return isinstance(self.topology, ExplicitTopology) and bool(self.topology.positions_m)

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes, in order."""
        return tuple(f"n{number}" for number in range(self.nodes))

    @property
    def visitors(self) -> tuple[str, ...]:
        """The nodes that are out of touch most of the time."""
        absent = (item.named() if isinstance(item, Sleep) else (item.node,) for item in self.absences)
        return tuple(dict.fromkeys(name for names in absent for name in names))

    @property
    def limit_us(self) -> int:
        """Virtual time at which the run ends."""
        return int(self.hours * HOUR_US)

    @property
    def calm_us(self) -> int:
        """The time when the last traffic and the last fault are over."""
        return max((item.over_us for item in (*self.traffic, *self.faults, *self.moves)), default=0)


def _names_in(
    item: CableOptions | Traffic | Fault | NodeMove | Absence | OtherRadioOptions,
) -> tuple[str, ...]:
    return (item.left, item.right) if isinstance(item, CableOptions) else item.named()


def _check_radios(radios: tuple[OtherRadioOptions, ...]) -> None:
    """Check that a node has one radio."""
    seen: set[str] = set()
    for number, item in enumerate(radios):
        twice = [name for name in item.named() if name in seen]
        if twice:
            raise SimulationOptionError(f"radios[{number}].nodes", f"{twice[0]} has another radio already")
        seen.update(item.named())


def _check_sleepers(absences: tuple[Absence, ...]) -> None:
    """Check that a node sleeps by one schedule."""
    seen: set[str] = set()
    for number, item in enumerate(absences):
        for name in item.named() if isinstance(item, Sleep) else ():
            if name in seen:
                raise SimulationOptionError(
                    f"absences[{number}].nodes", f"{name} sleeps by another schedule already"
                )
            seen.add(name)


def _check_cuts(faults: tuple[Fault, ...]) -> None:
    """Check that the same two sides are not cut twice at a time: the end of one cut would have to be the end of
    both."""
    within("faults", sum(isinstance(fault, Partition) for fault in faults), 0, limits.ETHER_CUTS_MAX)
    seen: dict[frozenset[frozenset[str]], Partition] = {}
    for number, cut in enumerate(faults):
        if not isinstance(cut, Partition):
            continue
        sides = frozenset((frozenset(members("left", cut.left)), frozenset(members("right", cut.right))))
        before = seen.get(sides)
        if before is not None and before.at_s < cut.until_s and cut.at_s < before.until_s:
            raise SimulationOptionError(
                f"faults[{number}].until_s",
                f"the same sides are cut from {before.at_s:g} s to {before.until_s:g} s already; make them one cut",
            )
        seen[sides] = cut
