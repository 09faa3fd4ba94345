"""A searched adversary: how much longer honest nodes take while a hostile station does its worst, found by chance and
hill climbing.

Each seed draws what the station does. It is judged by liveness: the time until the honest nodes, which reach each other
without it, have all that they published before, and the delay of what they publish later, both compared with the same
ground without it.
"""

import random
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.events import (
    ChunkAppended,
    EntryAppended,
    Event,
    PacketReceived,
    Send,
    SetChanged,
)
from tinyssb_node.errors import SimulationFailedError, SimulationOptionError
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.ids import FeedId, Origin
from tinyssb_node.sim.disk import SimulatedDisk
from tinyssb_node.sim.ground import diameter, place_nodes
from tinyssb_node.sim.hostile_station import HostileStation, Plan, change_plan, draw_plan
from tinyssb_node.sim.options import SimulationOptions
from tinyssb_node.sim.progress import ConvergenceWatcher
from tinyssb_node.sim.runner import Simulation
from tinyssb_node.sim.scenarios import build
from tinyssb_node.sim.simulated_node import SimulatedNode
from tinyssb_node.sim.traffic import BacklogTraffic, PostTraffic
from tinyssb_node.sim.values import SECOND_US, us
from tinyssb_node.sim.world import MakeStation, stream
from tinyssb_node.store.port import FeedRecord

GROUNDS: Final = 8
"""Different grounds, and histories without the station: seeds take them in turn."""
RUNS: Final = 5
"""Runs without the station on each ground, of which the median counts; and runs of a plan whose first one broke a
promise, for the same reason: chance alone breaks it at times."""
SLOWEST: Final = 8.0
"""Multiple of the time without the station at which a run is cut off."""
LATE_S: Final = 30.0
"""A message may arrive later by its delay without the station and this much."""
CLIMBS: Final = 12
"""Steps of a climb: each changes one thing, and stays if it is worse for the honest nodes."""


@dataclass(frozen=True, slots=True)
class AttackedScenario:
    """A scenario for a station to attack."""

    nodes: int
    """Honest ones."""
    duty: float
    """Share of any hour that each node may be on the air, and the station."""
    entries: int
    """Of each honest node, before it is on the air."""
    post_s: float
    """Time when some publish one more."""
    most: float
    """The promise: the largest multiple of the time without the station."""


SCENARIOS: Final = {
    "domain10": AttackedScenario(nodes=10, duty=0.01, entries=5, post_s=240.0, most=3.0),
    "field30": AttackedScenario(nodes=30, duty=0.05, entries=3, post_s=2_400.0, most=4.0),
}
"""Those that can be attacked, by name."""
DEFAULT: Final = "domain10"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """The figures without the station: medians."""

    agreed_us: int
    delay_us: int
    """Longest delay of a message published later."""
    receivers: float
    """Honest nodes that receive a packet of 120 bytes of another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """The plan of a station, and its result."""

    seed: int
    chance: int
    """Seed of the run that counts, for all that is left to chance but the plan."""
    plan: Plan
    slower: float
    """Time until the honest nodes agreed, as a multiple of that without the station; ``SLOWEST`` and more if the run
    was cut off before."""
    delay_s: float
    """Longest delay of a message published later."""
    allowed_s: float
    """Longest delay allowed: twice that without the station, and ``LATE_S``."""
    broken: str = ""
    """The rule that a node broke meanwhile; empty for none."""
    jammed: float = 1.0
    """The factor that the station's airtime costs any protocol, whatever the packets say. It is the factor by which
    collisions make the honest nodes' packets of 120 bytes reach fewer nodes, if the station sends noise of the same
    length at the same times: as many times more of them are needed. And only while the station is silent they can go.
    1 if it was not needed to judge."""
    runs: int = 1
    """More than 1: the first run broke a promise, so the plan was played so often, and this is the median run."""

    @property
    def beyond(self) -> float:
        """The multiple beyond what the station's airtime costs."""
        return self.slower / self.jammed

    def badness(self, most: float) -> float:
        """Return how near the attack came to breaking a promise: more than 1 breaks it."""
        return 10.0 if self.broken else max(self.beyond / most, self.delay_s / self.allowed_s)


class HonestWatcher(ConvergenceWatcher):
    """Convergence of the honest nodes; the station, and ids and entries of its own, do not count."""

    def __init__(self, nodes: int, station: str, post_us: int) -> None:
        """*nodes* are honest; *post_us* is when the first message is published that does not count for agreement."""
        super().__init__(nodes)
        self._honest = nodes
        self._station = station
        self._post_us = post_us
        self._feeds: set[FeedId] = set()
        self._lacking: dict[tuple[FeedId, int], int] = {}
        self._late_us: dict[tuple[FeedId, int], int] = {}
        self.agreed_us: int | None = 0
        """Time when all had what was published before; None: they have not yet."""
        self._waiting = 0
        self.delay_us = 0
        """Longest delay of what was published later and has arrived everywhere."""
        self._full_sent = self._full_received = 0
        self.taken_us = 0
        """Airtime of the station's packets until all agreed, without what overlapped with honest ones."""
        self._honest_until_us = self._station_until_us = 0

    def began(self, inhabitant: SimulatedNode, now_us: int) -> None:
        """See ConvergenceWatcher."""
        if inhabitant.name != self._station:
            self._feeds.add(inhabitant.feed)
            super().began(inhabitant, now_us)

    @property
    def receivers(self) -> float:
        """Honest nodes that received a packet of 120 bytes, until all agreed."""
        return self._full_received / self._full_sent

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        """See SimulationWatcher."""
        if self._counts(inhabitant, len(send.packet)):
            self._full_sent += 1
        if not self._waiting:
            return
        if inhabitant.name == self._station:
            self.taken_us += max(0, end_us - max(begin_us, self._honest_until_us))
            self._station_until_us = end_us
        else:
            self.taken_us -= max(0, min(end_us, self._station_until_us) - begin_us)
            self._honest_until_us = max(self._honest_until_us, end_us)

    def _counts(self, inhabitant: SimulatedNode, length: int) -> bool:
        return bool(self._waiting) and inhabitant.name != self._station and length == limits.PACKET_SIZE

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        """See ConvergenceWatcher."""
        if isinstance(event, PacketReceived) and self._counts(inhabitant, event.length):
            self._full_received += 1
        if inhabitant.name == self._station or not isinstance(
            event, EntryAppended | ChunkAppended | SetChanged
        ):
            return
        if event.feed not in self._feeds:
            return
        super().recorded(inhabitant, event, now_us)
        if isinstance(event, EntryAppended):
            key = event.feed, event.seq
            if event.origin is Origin.OWN:
                self._lacking[key] = self._honest - 1
                if now_us >= self._post_us:
                    self._late_us[key] = now_us
                else:
                    self._waiting += 1
                    self.agreed_us = None
            elif not event.chunks:
                self._arrived(key, now_us)
        elif isinstance(event, ChunkAppended) and event.complete and event.origin is not Origin.OWN:
            self._arrived((event.feed, event.seq), now_us)

    def _arrived(self, key: tuple[FeedId, int], now_us: int) -> None:
        self._lacking[key] -= 1
        if self._lacking[key]:
            return
        del self._lacking[key]
        if key in self._late_us:
            self.delay_us = max(self.delay_us, now_us - self._late_us.pop(key))
            return
        self._waiting -= 1
        if not self._waiting:
            self.agreed_us = now_us

    def longest_delay_us(self, now_us: int) -> int:
        """Return the longest delay of a message published later, as if those on their way arrived now."""
        return max(self.delay_us, *(now_us - since_us for since_us in self._late_us.values()), 0)


class AttackedSimulation(Simulation):
    """A run with a hostile station in it."""

    def __init__(self, name: str, seed: int, plan: Plan, hours: float, chance: int) -> None:
        """*seed* decides the ground, *chance* all else that is left to chance. Raises SimulationOptionError if there is
        no such scenario."""
        options, self.station = _attacked(name, ground_of(seed))
        self._seed = seed
        self._plan = plan
        self._chance_of_station = random.Random(f"{chance}/station")  # noqa: S311 - a model needs no secrets
        self.honest = HonestWatcher(options.nodes - 1, self.station, us(SCENARIOS[name].post_s))
        super().__init__(
            replace(options, hours=hours),
            progress=self.honest,
            chance=chance,
            admission=Admission,
            spoil=self._received,
        )

    def _received(self, packet: bytes) -> Sequence[bytes]:
        station = self.world.inhabitants[self.station].node
        assert isinstance(station, HostileStation)
        return (packet,) if station.decoded(packet) else ()

    @property
    def replay(self) -> str:
        """See Simulation. A climb is replayed with ``--climb``."""
        return f"tinyssb sim adversary --scenario {self.options.scenario} --seed {self._seed}"

    def _add(self, name: str, *, board: bool, station: MakeStation | None = None) -> None:
        if name == self.station:
            board, station = not self._plan.polite, self._make_station
        super()._add(name, board=board, station=station)

    def _make_station(self, store: SimulatedDisk, key: SigningKey, chance: random.Random) -> HostileStation:
        del chance
        allowance = self._radios[self.station].allowance
        assert allowance is not None
        names = self.options.names
        near = [names[number] for number in self.ground.neighbours[names.index(self.station)]]

        def reads() -> Sequence[FeedRecord]:
            records = self.world.inhabitants[self._chance_of_station.choice(near)].node.feeds()
            return sorted(
                (record for record in records if not record.retired and not record.beyond),
                key=lambda record: record.feed,
            )

        return HostileStation(
            self._plan,
            store=store,
            key=key,
            chance=self._chance_of_station,
            reads=reads,
            budget_us=allowance.limit_us,
        )


@lru_cache
def _attacked(name: str, ground: int) -> tuple[SimulationOptions, str]:
    """Return the options of a ground, and which of its nodes is the station: any without which the rest is
    connected."""
    scenario = SCENARIOS.get(name)
    if scenario is None:
        raise SimulationOptionError("scenario", f"'{name}' is not attacked; {', '.join(SCENARIOS)} are")
    options = build(name, seed=ground, nodes=scenario.nodes + 1)
    options = replace(options, radio=replace(options.radio, duty=scenario.duty), traffic=())
    neighbours = place_nodes(options).neighbours
    whole = [number for number in range(len(neighbours)) if _without(neighbours, number) is not None]
    station = stream(ground, "station").choice(whole)
    honest = tuple(each for number, each in enumerate(options.names) if number != station)
    traffic = (
        BacklogTraffic(nodes=honest, entries=scenario.entries, size=24),
        BacklogTraffic(nodes=honest[:2], entries=2, size=326),
        PostTraffic(nodes=honest[2:4], at_s=scenario.post_s),
        PostTraffic(nodes=honest[-1:], at_s=scenario.post_s, size=150),
    )
    return replace(options, traffic=traffic), options.names[station]


def _without(neighbours: Sequence[Sequence[int]], node: int) -> int | None:
    """Return the diameter without a node; None if the rest is not connected."""
    rest = [each for each in range(len(neighbours)) if each != node]
    number = {each: at for at, each in enumerate(rest)}
    return diameter([[number[other] for other in neighbours[each] if other != node] for each in rest])


def alone(name: str, seed: int) -> Alone:
    """Return the medians of runs without the station, on the ground of *seed*."""
    return _alone(name, ground_of(seed))


@lru_cache
def _alone(name: str, ground: int) -> Alone:
    runs = []
    for number in range(RUNS):
        run = AttackedSimulation(name, ground - 1, Plan(), 4.0, ground + 1_000 * number)
        run.run()
        runs.append(run)
    return Alone(
        agreed_us=int(statistics.median(run.honest.agreed_us or run.world.now_us for run in runs)),
        delay_us=int(statistics.median(run.honest.delay_us for run in runs)),
        receivers=statistics.median(run.honest.receivers for run in runs),
    )


def ground_of(seed: int) -> int:
    """Return the ground that *seed* is played on."""
    return 1 + seed % GROUNDS


def simulation_of(name: str, seed: int, plan: Plan, chance: int) -> AttackedSimulation:
    """Return a run of a plan, on the ground of *seed*. It ends ``SLOWEST`` times later than without the station, or
    when messages are too late."""
    scenario, base = SCENARIOS[name], alone(name, seed)
    end_s = max(
        SLOWEST * base.agreed_us / SECOND_US,
        scenario.post_s + 2 * _allowed_s(base),
    )
    return AttackedSimulation(name, seed, plan, end_s / 3_600, chance)


def _allowed_s(base: Alone) -> float:
    return 2 * base.delay_us / SECOND_US + LATE_S


def plan_of(name: str, seed: int) -> Plan:
    """Return what the station of *seed* does."""
    return draw_plan(stream(seed, "plan"), SCENARIOS[name].post_s * 2)


def judge(name: str, seed: int, plan: Plan) -> Attack:
    """Play a plan; if its run breaks a promise, play it with other chances too, and return the median run."""
    most = SCENARIOS[name].most
    first = _judge_run(name, seed, plan, seed)
    if first.broken or first.badness(most) <= 1:
        return first
    others = (_judge_run(name, seed, plan, seed + 1_000 * number) for number in range(1, RUNS))
    return median_run([first, *others], most)


def median_run(runs: Sequence[Attack], most: float) -> Attack:
    """Return the median one of *runs* of one plan, by how near each came to breaking a promise; the worst one if a node
    broke a rule in it."""
    ordered = sorted(runs, key=lambda run: run.badness(most))
    counts = ordered[-1] if ordered[-1].broken else ordered[len(ordered) // 2]
    return replace(counts, runs=len(runs))


def _judge_run(name: str, seed: int, plan: Plan, chance: int) -> Attack:
    """Play a plan once, and noise in its place, too, if it breaks the promise."""
    base = alone(name, seed)
    simulation, broken = simulation_of(name, seed, plan, chance), ""
    try:
        simulation.run()
    except SimulationFailedError as failure:
        broken = f"{failure.rule}: {failure.what}"
    honest, now_us = simulation.honest, simulation.world.now_us
    agreed_us = honest.agreed_us
    slower = (now_us if agreed_us is None else agreed_us) / base.agreed_us
    jammed = 1.0
    if slower > SCENARIOS[name].most:
        noise = simulation_of(name, seed, replace(plan, noise=True), chance)
        noise.run()
        silent = 1.0 - honest.taken_us / (now_us if agreed_us is None else agreed_us)
        jammed = max(1.0, base.receivers / noise.honest.receivers) / silent
    return Attack(
        seed=seed,
        chance=chance,
        plan=plan,
        slower=slower,
        delay_s=honest.longest_delay_us(now_us) / SECOND_US,
        allowed_s=_allowed_s(base),
        broken=broken,
        jammed=jammed,
    )


def play(name: str, seed: int, *, climb: bool = False) -> Attack:
    """Return the attack of *seed*; the worst one on the way up, if it is to *climb*."""
    most, chance = SCENARIOS[name].most, stream(seed, "climb")
    worst = judge(name, seed, plan_of(name, seed))
    for _ in range(CLIMBS if climb else 0):
        changed = judge(name, seed, change_plan(worst.plan, chance, 2 * SCENARIOS[name].post_s))
        worst = max(worst, changed, key=lambda attack: attack.badness(most))
    return worst


def attacks(name: str, seeds: range, *, climb: bool = False, jobs: int = 1) -> Iterator[Attack]:
    """Play all *seeds*, several at a time.

    Raises SimulationOptionError if there is no such scenario.
    """
    _attacked(name, 1)
    if jobs == 1:
        for seed in seeds:
            yield play(name, seed, climb=climb)
        return
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        yield from pool.map(_play, ((name, seed, climb) for seed in seeds))


def _play(job: tuple[str, int, bool]) -> Attack:
    name, seed, climb = job
    return play(name, seed, climb=climb)
