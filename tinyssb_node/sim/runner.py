"""Runs of a simulation: options in, report out, SimulationFailedError if an invariant is broken."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from tinyssb_node import limits
from tinyssb_node.errors import SimulationFailedError, SimulationOptionError
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.bound import sends_at_least, sends_by_relays, sends_in_busiest_reach
from tinyssb_node.sim.checkers import (
    AirtimeLaw,
    BoundsChecker,
    DutyCycleChecker,
    FeedChecker,
    InvariantError,
)
from tinyssb_node.sim.contacts import ContactWatcher
from tinyssb_node.sim.deployed_board import make_repeater
from tinyssb_node.sim.eventfiles import EventFiles
from tinyssb_node.sim.ground import place_nodes
from tinyssb_node.sim.options import RadioOptions, SimulationOptions
from tinyssb_node.sim.power import POWER_MODELS, PowerModel
from tinyssb_node.sim.progress import ConvergenceWatcher
from tinyssb_node.sim.report import SimulationReport, TrafficMeter, TrafficTotals, spread
from tinyssb_node.sim.simulated_node import SimulationWatcher
from tinyssb_node.sim.values import members, us
from tinyssb_node.sim.world import MakeStation, World, stream

_PROGRESS_STEPS: Final = 240  # a screen's width and more
Tell = Callable[[float, float], None]
"""A callback for progress: share of the virtual time gone by, share of what all nodes should store that is stored."""


def run_scenario(
    options: SimulationOptions,
    *,
    watchers: Sequence[SimulationWatcher] = (),
    events: Path | None = None,
    tell: Tell | None = None,
) -> SimulationReport:
    """Run *options* to the end. *watchers* see each event, *tell* gets the progress; event logs are written into the
    new folder *events*.

    Raises SimulationFailedError, and SimulationOptionError where nodes find no room or the folder cannot be made.
    """
    return Simulation(options, watchers, events=events).run(tell)


class Simulation:
    """One run."""

    def __init__(
        self,
        options: SimulationOptions,
        watchers: Sequence[SimulationWatcher] = (),
        *,
        events: Path | None = None,
        progress: ConvergenceWatcher | None = None,
        chance: int | None = None,
        admission: Callable[[], Admission] | None = None,
        spoil: Callable[[bytes], Sequence[bytes]] | None = None,
    ) -> None:
        """*progress* judges when all agree, if not all nodes of *options* have to. *chance* is the seed of what nodes
        do on this ground, if not that of the ground. *admission* makes each node's admission rule. *spoil* returns what
        is received of a packet, if the faults of *options* do not decide it. Raises SimulationOptionError."""
        self.options = options
        self._files = None if events is None else _event_files(events)
        self.progress = progress or ConvergenceWatcher(options.nodes)
        self.meter = TrafficMeter()
        self._radios = options.radio_by_node
        self.duty = DutyCycleChecker({name: _law(radio) for name, radio in self._radios.items()})
        self.ground = place_nodes(options)
        self.contacts = ContactWatcher(options.visitors, options.names, self.ground.medium.reaches)
        self.world = World(
            options.seed if chance is None else chance,
            lambda _: self.ground.medium,
            watchers=(
                FeedChecker(),
                BoundsChecker(),
                self.duty,
                self.progress,
                self.meter,
                self.contacts,
                *watchers,
                *filter(None, [self._files]),
            ),
            keep_events=False,
            spoil=spoil or _spoiler(options),
            admission=admission,
        )
        self._agreed: TrafficTotals | None = None

    @property
    def replay(self) -> str:
        """The command that plays it again."""
        options = self.options
        boards = f" --boards {','.join(options.boards)}" if options.boards else ""
        return (
            f"tinyssb sim --scenario {shlex.quote(options.scenario)} --seed {options.seed} --nodes {options.nodes} "
            f"--hours {_plain(options.hours)}{boards}"
        )

    def run(self, tell: Tell | None = None) -> SimulationReport:
        """Play it. Raises SimulationFailedError."""
        try:
            self._build()
            self._play(tell)
            self._check_converged()
        except InvariantError as broken:
            raise self._failure(broken.rule, broken.what) from broken
        except (AssertionError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise self._failure("no fault of a node's own", f"{type(error).__name__}: {error}") from error
        finally:
            if self._files is not None:
                self._files.close(self.world.inhabitants, self.world.now_us)
        return self._report()

    def _failure(self, rule: str, what: str) -> SimulationFailedError:
        options = self.options
        return SimulationFailedError(
            options.scenario, options.seed, self.world.now_us, rule, what, self.replay
        )

    def _build(self) -> None:
        options, world = self.options, self.world
        boards, repeaters = members("boards", options.boards), members("repeaters", options.repeaters)
        for name in options.names:
            repeats = name in repeaters
            self._add(name, board=repeats or name in boards, station=make_repeater if repeats else None)
        if options.acquainted:
            world.acquaint()
        for source in options.traffic:
            source.schedule(world)
        for name in options.names:
            world.switch_on_air(name)
        for cable in options.streams:
            world.connect(cable.left, cable.right, 1_000 * cable.latency_ms, 1_000 * cable.jitter_ms)
        for item in (*options.faults, *options.moves, *options.absences):
            item.schedule(world)

    def _add(self, name: str, *, board: bool, station: MakeStation | None = None) -> None:
        position_m = self.ground.placement.positions_m.get(name)
        law = self._radios[name].allowance
        self.world.add(
            name,
            dialect=self.options.dialect,
            position_m=position_m,
            on_air=False,
            board=board,
            law=law,
            station=station,
        )

    def _play(self, tell: Tell | None) -> None:
        options, world = self.options, self.world
        for step in range(1, _PROGRESS_STEPS + 1):
            ended = self._play_until(options.limit_us * step // _PROGRESS_STEPS)
            if tell is not None:
                tell(world.now_us / options.limit_us, self.progress.share)
            if ended:
                return

    def _play_until(self, until_us: int) -> bool:
        """Let time pass up to *until_us*. True if the run is over before."""
        world = self.world
        world.run(self._settled, until_us - world.now_us)
        if self._agreed is None and self._settled() and self.progress.done:
            self._agreed = self.meter.totals.copy()
            if self.options.stop:
                return True
        if self._agreed is not None:
            world.run(self._exhausted, until_us - world.now_us)
        return self._exhausted()

    def _exhausted(self) -> bool:
        return self.world.happenings >= self.options.happenings

    def _settled(self) -> bool:
        """Return True if all nodes agree and nothing more is to come, or the run has lasted long enough."""
        return (self.progress.done and self.world.now_us >= self._calm_us()) or self._exhausted()

    def _calm_us(self) -> int:
        return max(self.options.calm_us, self.world.calm_us)

    def _check_converged(self) -> None:
        """Liveness: once nothing disturbs them, all agree in time."""
        converge_s = self.options.converge_s
        if converge_s is None:
            return
        if self._agreed is None and self._exhausted():
            raise InvariantError(
                "all agree once the network is whole",
                f"{self.world.happenings} packets and timers brought no more than {100 * self.progress.share:.1f} %",
            )
        taken_us = (self.progress.changed_us if self._agreed else self.world.now_us) - self._calm_us()
        if taken_us > us(converge_s):
            raise InvariantError(
                "all agree once the network is whole",
                f"{taken_us / 1e6:.0f} s after the last disturbance {100 * self.progress.share:.1f} % is held, "
                f"all must be within {converge_s:g} s",
            )

    def _report(self) -> SimulationReport:
        options, world, progress = self.options, self.world, self.progress
        agreed = self._agreed
        totals = agreed or self.meter.totals
        time_us = progress.changed_us if agreed else world.now_us
        names = options.names
        return SimulationReport(
            scenario=options.scenario,
            seed=options.seed,
            nodes=options.nodes,
            converged=agreed is not None,
            time_us=time_us,
            ended_us=world.now_us,
            happenings=world.happenings,
            airtime_us=dict(totals.airtime_us),
            packets=dict(totals.packets),
            bytes=dict(totals.bytes),
            bound_us=self._cost_us(sends_at_least),
            relayed_us=self._cost_us(sends_by_relays),
            busiest_us=self._cost_us(sends_in_busiest_reach),
            messages=progress.messages,
            delivered=progress.delivered,
            delays_us=spread(progress.delays_us),
            duty={name: self.meter.totals.by_node_us[name] / max(1, world.now_us) for name in names},
            peak_duty={name: self.duty.peak_us.get(name, 0) / sim_limits.LAW_WINDOW_US for name in names},
            idle_duty=self._idle_duty(),
            contacts=self.contacts.figures(self._packet_us, world.now_us),
            energy_j={model.name: self._energy_j(model) for model in POWER_MODELS},
            curve=progress.curve,
            places=self.ground.placement.positions_m or self.ground.placement.sketch,
            in_metres=bool(self.ground.placement.positions_m),
            neighbours=tuple(
                (names[left], names[right])
                for left, others in enumerate(self.ground.neighbours)
                for right in others
                if left < right
            ),
            history=self.meter.history,
        )

    def _idle_duty(self) -> dict[str, float]:
        """Return the duty cycle of nodes after convergence."""
        span_us = self.world.now_us - self.progress.changed_us
        if self._agreed is None or self.options.stop or not span_us:
            return {}
        before, after = self._agreed.by_node_us, self.meter.totals.by_node_us
        return {name: (after[name] - before[name]) / span_us for name in self.options.names}

    def _packet_us(self, name: str) -> int:
        """Return the airtime of a full packet of a node."""
        return self.ground.medium.modem(name).airtime_us(limits.PACKET_SIZE + limits.CRC_SIZE)

    def _energy_j(self, model: PowerModel) -> float:
        """Return the energy of all nodes together in the whole run, if each is such a device."""
        now_us = self.world.now_us
        each_mj = (
            model.energy_mj(
                span_us=now_us,
                sent_us=self.meter.totals.by_node_us[name],
                slept_us=node.asleep_us(now_us),
                woken=node.woken,
                power_dbm=self._radios[name].power_dbm,
            )
            for name, node in self.world.inhabitants.items()
        )
        return sum(each_mj) / 1e3

    def _cost_us(self, sends: Callable[[Sequence[Iterable[int]], float], float]) -> int:
        """Return the cost of all that was published by *sends* per packet, in the mesh as it was in the beginning;
        where radios differ, as if all were the fastest."""
        if not self.progress.packets:
            return 0
        packet_us = min(self._packet_us(name) for name in self.options.names)
        each = sends(self.ground.neighbours, self.options.channel.loss)
        return round(self.progress.packets * packet_us * each)


def _plain(number: float) -> str:
    """Return a number as text from which parsing gives the same number again."""
    return str(int(number)) if number == int(number) else repr(number)


def _law(radio: RadioOptions) -> AirtimeLaw:
    allowance = radio.allowance
    return AirtimeLaw(None if allowance is None else allowance.limit_us, radio.longest_us)


def _event_files(folder: Path) -> EventFiles:
    try:
        return EventFiles(folder)
    except OSError as error:
        raise SimulationOptionError(
            "events", f"{folder} cannot be made as a new folder: {error.strerror}"
        ) from error


def _spoiler(options: SimulationOptions) -> Callable[[bytes], Sequence[bytes]] | None:
    """Return a function that duplicates a received packet, or flips a bit in it, by chance."""
    duplicate, corrupt = options.channel.duplicate, options.channel.corrupt
    if not duplicate and not corrupt:
        return None
    chance = stream(options.seed, "spoil")

    def spoil(packet: bytes) -> Sequence[bytes]:
        if chance.random() < corrupt:
            bit = int(chance.random() * 8 * len(packet))
            packet = packet[: bit // 8] + bytes([packet[bit // 8] ^ 1 << bit % 8]) + packet[bit // 8 + 1 :]
        return (packet, packet) if chance.random() < duplicate else (packet,)

    return spoil
