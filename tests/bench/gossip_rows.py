"""Scenarios of the gossip benchmark, and how a figure is read from the outcome of a run."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from firmware_bridge.lora import airtime_us
from tests.bench.oracle import OracleReport
from tinyssb_node import limits
from tinyssb_node.ids import PacketKind
from tinyssb_node.sim.options import ChannelOptions, RadioOptions, SimulationOptions
from tinyssb_node.sim.report import SimulationReport
from tinyssb_node.sim.scenarios import all_of, build
from tinyssb_node.sim.traffic import PeriodicPostTraffic


class Rules(StrEnum):
    """By whose rules nodes play."""

    OURS = "ours"
    BOARDS = "deployed"
    FLOODING = "flooding"
    ORACLE = "oracle"
    """By a schedule of one that knows what each node holds (``oracle``)."""
    LISTENING = "oracle by carrier sense"
    """The same without a schedule: nodes hear whether the channel is free, and no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A figure of a run."""

    name: str
    unit: str
    of: Callable[[SimulationReport], float]
    of_boards: Callable[[SimulationReport], float] | None = None
    """The same of a run by deployed rules, where it is read otherwise."""
    of_oracle: Callable[[OracleReport], float] | None = None
    """The same of an oracle, where there is one."""
    most: float | None = None
    """Its upper limit; None where there is none, or where a run of flooding sets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case."""

    title: str
    scenario: str
    measures: tuple[Measure, ...]
    boards_hours: float | None
    """Virtual time that deployed rules are given; None where they are part of the scenario."""
    oracles: tuple[Rules, ...] = ()
    """The oracles that play it."""
    loss: float | None = None
    """Share of packets that each receiver loses, where it is not the scenario's own."""

    def options(self, rules: Rules, seed: int) -> SimulationOptions:
        """Return the options of the simulation."""
        options = build(self.scenario, seed=seed)
        if self.loss is not None:
            options = replace(options, channel=ChannelOptions(loss=self.loss))
        if rules is Rules.BOARDS:
            assert self.boards_hours is not None
            options = replace(options, hours=self.boards_hours, boards=all_of(options.nodes))
        return options


def _multiple(most: float) -> Measure:
    return replace(_LEAST, name="airtime", most=most)


_RELAYED: Final = Measure(
    name="airtime, relays' yardstick",
    unit="×",
    of=lambda report: report.relayed_ratio,
    of_oracle=lambda report: report.relayed_ratio,
    most=1.7,
)
_LEAST: Final = Measure(
    name="airtime, least possible",
    unit="× bound",
    of=lambda report: report.ratio,
    of_oracle=lambda report: report.ratio,
)


def _haste(most: float) -> Measure:
    return Measure(
        name="time",
        unit="× least airtime",
        of=lambda report: report.haste,
        of_oracle=lambda report: report.haste,
        most=most,
    )


def each_s(report: SimulationReport) -> float:
    """Seconds on the air for each entry that came to somebody; infinite if none did."""
    return sum(report.airtime_us.values()) / 1e6 / report.delivered if report.delivered else float("inf")


def further_hop_s(report: SimulationReport) -> float:
    """Seconds that each hop of a line but the first took one entry; infinite if it did not come to the end."""
    if not report.converged:
        return float("inf")
    return (report.delays_us[-1] - report.delays_us[0]) / 1e6 / (report.nodes - 2)


def rounds(report: SimulationReport) -> float:
    """Exchanges begun: adverts of the set. Each node's is a round of its own here, so this is the most it can be."""
    return report.packets.get(PacketKind.SKETCH, 0) + report.packets.get(PacketKind.CLAIM, 0)


PACKET_S: Final = airtime_us(RadioOptions().lora, limits.PACKET_SIZE + limits.CRC_SIZE) / 1e6
HOPS_S: Final = 8 * (PACKET_S + 2)
"""The time that eight hops may take: on each the time on the air and two seconds."""
BOARD_ROUND_S: Final = 20
"""A board's round: the least time between two of its CLAIMs."""
ACCESS: Final = 0.05
"""Probability with which a node sends in a slot by carrier sense: in ``field30`` three fifths of it take half as long
again, and twice as much takes a tenth more airtime (decision 0066)."""
_BYTES: Final = Measure(
    name="bytes", unit="B", of=lambda report: float(sum(report.bytes.values())), most=1_500.0
)
EACH: Final = Measure(name="airtime per entry delivered", unit="s", of=each_s)

ROWS: Final = (
    Row(
        title="10 nodes, one domain, 10 feeds × 10 entries, no loss",
        scenario="domain10",
        measures=(_multiple(1.3), _haste(2)),
        boards_hours=1,
        oracles=(Rules.ORACLE,),
    ),
    Row(
        title="the same, each receiver loses 20 %",
        scenario="lossy10",
        measures=(_multiple(0.95), _haste(2.5)),
        boards_hours=1,
        oracles=(Rules.ORACLE,),
    ),
    Row(
        title="one node holds 100 entries × 3 chunks, 9 empty nodes join",
        scenario="newcomers",
        measures=(_multiple(1.25), _haste(2)),
        boards_hours=1,
    ),
    Row(
        title="the same, each receiver loses 20 %",
        scenario="newcomers",
        measures=(_multiple(0.8), _haste(2.5)),
        boards_hours=1,
        loss=0.2,
    ),
    Row(
        title="30 nodes, random field, diameter ≥ 4, 5 % duty, 10 % loss",
        scenario="field30",
        measures=(_RELAYED, _LEAST, _haste(3.3)),  # decisions 0066 and 0077
        boards_hours=1,
        oracles=(Rules.ORACLE, Rules.LISTENING),
    ),
    Row(
        title="60 nodes, 15 × 15 km, 40 bytes every 1,000 s for two hours",
        scenario="field60",
        measures=(EACH,),
        boards_hours=3,
    ),
    Row(
        title="in sync, nothing new for a day, SF7/125, busiest node",
        scenario="idle",
        measures=(
            Measure(
                name="idle duty",
                unit="%",
                of=lambda report: 100 * max((report.idle_duty or report.duty).values()),
                most=0.1,
            ),
        ),
        boards_hours=1,
    ),
    Row(
        title="GOSET repair, 100 ids, 10 differ, 10 peers, no loss",
        scenario="goset",
        measures=(
            _BYTES,
            Measure(
                name="rounds",
                unit="",
                of=rounds,
                of_boards=lambda report: report.time_us / 1e6 / BOARD_ROUND_S,
                most=3,
            ),
        ),
        boards_hours=1,
    ),
    Row(
        title="the same, each receiver loses 20 %",
        scenario="goset",
        measures=(replace(_BYTES, most=2_500.0),),
        boards_hours=1,
        loss=0.2,
    ),
    Row(
        title="line of 8 hops, one new entry, last node has it",
        scenario="line8",
        measures=(
            Measure(
                name="after",
                unit="s",
                of=lambda report: report.delays_us[-1] / 1e6 if report.converged else float("inf"),
                most=HOPS_S,
            ),
            Measure(
                name="first hop",
                unit="s",
                of=lambda report: report.delays_us[0] / 1e6 if report.delays_us else float("inf"),
                most=PACKET_S + 0.3,
            ),
            Measure(name="each further hop", unit="s", of=further_hop_s, most=PACKET_S + 0.5),
        ),
        boards_hours=1,
    ),
    Row(
        title="5 deployed boards and 5 of our nodes, one domain, 10 feeds × 10 entries",
        scenario="mixed",
        measures=(Measure(name="all agree after", unit="s", of=lambda report: report.time_us / 1e6),),
        boards_hours=None,
    ),
)
"""All cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Load of nodes that flood, on the ground of ``field60``."""

    title: str
    every_s: float
    until_s: float
    hours: float

    def options(self, seed: int) -> SimulationOptions:
        """Return the options of the simulation."""
        options = build("field60", seed=seed, hours=self.hours)
        posts = PeriodicPostTraffic(nodes=all_of(options.nodes), every_s=self.every_s, until_s=self.until_s)
        return replace(options, traffic=(posts,))


LOADS: Final = (
    Load(
        title="its own: 40 bytes every 100 s for half an hour, then time to finish",
        every_s=100,
        until_s=1_800,
        hours=1,
    ),
    Load(
        title="that of our row: 40 bytes every 1,000 s for two hours", every_s=1_000, until_s=7_200, hours=3
    ),
)
"""The load of Meshtastic's simulator, which its flooding cannot bear, and ours."""
ITS_OWN_LOAD: Final = 0
"""The former, by its place among the two."""
