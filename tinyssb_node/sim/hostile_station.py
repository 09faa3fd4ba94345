"""A hostile station: it sends what its plan says, with a budget of airtime, and has neither manners nor a set."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import Effect, Send
from tinyssb_node.ids import FaceName, PacketKind
from tinyssb_node.scheduling.ledger import Ledger
from tinyssb_node.scheduling.link import Reception
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.disk import SimulatedDisk
from tinyssb_node.sim.hostile_packets import (
    CHOICES,
    FIELDS,
    MAKERS,
    MANGLES,
    Lie,
    View,
    make_packet,
    own_packets,
)
from tinyssb_node.sim.values import us
from tinyssb_node.store.port import FeedRecord

TRIGGERS: Final = ("clock", "clock", "set", "request", "data")
"""Moments to send: by the clock, or after it heard a packet about the set, a WANT or CHNK, an entry or chunk."""
_DATA_SIZES: Final = {limits.PACKET_SIZE, limits.CODED_CHUNK_SIZE}
_IDENTITIES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """One thing that a station does."""

    lie: Lie
    trigger: str = "clock"
    every_s: float = 1.0
    """Least time between two."""
    delay_s: float = 0.0
    """Time from what triggers it."""
    at_s: float = 0.0
    """Its begin."""
    for_s: float = 3_600.0
    """Its duration."""

    def __str__(self) -> str:
        when = "" if self.trigger == "clock" else f" {self.delay_s:g} s after {self.trigger}"
        begin = f" from {self.at_s:g} s" if self.at_s else ""
        return f"{self.lie}, every {self.every_s:g} s{when}{begin} for {self.for_s:g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a station does."""

    behaviours: tuple[Behaviour, ...] = ()
    polite: bool = True
    """True if it listens before it sends."""
    noise: bool = False
    """True if all of it is noise of the same length and at the same times, which nobody can decode."""

    def __str__(self) -> str:
        manners = "" if self.polite else " (without listening first)"
        return "; ".join(map(str, self.behaviours)) + manners + (" (as noise)" if self.noise else "")


def draw_plan(chance: random.Random, span_s: float) -> Plan:
    """Return a plan of one to three behaviours, any of them, within *span_s*."""
    count = chance.choice((1, 1, 2, 2, 3))
    behaviours = tuple(_draw_behaviour(chance, span_s) for _ in range(count))
    return Plan(behaviours=behaviours, polite=chance.random() < 0.75)


def change_plan(plan: Plan, chance: random.Random, span_s: float) -> Plan:
    """Return *plan* with one thing changed."""
    behaviours = list(plan.behaviours)
    at, dice = chance.randrange(len(behaviours)), chance.random()
    other = _draw_behaviour(chance, span_s)
    if dice < 0.1 and len(behaviours) < 4:
        behaviours.append(other)
    elif dice < 0.2 and len(behaviours) > 1:
        del behaviours[at]
    elif dice < 0.25:
        return replace(plan, polite=not plan.polite)
    elif dice < 0.6:
        lie = behaviours[at].lie
        key = chance.choice((*FIELDS[lie.kind], "mangle"))
        value = chance.choice(MANGLES if key == "mangle" else CHOICES[key])
        behaviours[at] = replace(behaviours[at], lie=replace(lie, **{key: value}))
    else:
        keys = [field.name for field in fields(Behaviour) if field.name != "lie"]
        key = chance.choice(keys)
        behaviours[at] = replace(behaviours[at], **{key: getattr(other, key)})
    return replace(plan, behaviours=tuple(behaviours))


def _draw_behaviour(chance: random.Random, span_s: float) -> Behaviour:
    kind = chance.choice([*MAKERS])
    chosen = {key: chance.choice(CHOICES[key]) for key in FIELDS[kind]}
    late = chance.random() < 0.3
    return Behaviour(
        lie=Lie(kind=kind, mangle=chance.choice(MANGLES), **chosen),
        trigger=chance.choice(TRIGGERS),
        every_s=round(0.25 * 100 ** chance.random(), 2),
        delay_s=round(0.001 * 1_000 ** chance.random(), 3),
        at_s=round(span_s * chance.random()) if late else 0.0,
        for_s=round(span_s * chance.choice((0.1, 0.3, 1.0))),
    )


class HostileStation(DeployedBoard):
    """A station that keeps to a plan and to the law, and to nothing else."""

    def __init__(
        self,
        plan: Plan,
        *,
        store: SimulatedDisk,
        key: SigningKey,
        chance: random.Random,
        reads: Callable[[], Sequence[FeedRecord]],
        budget_us: int,
    ) -> None:
        """*reads* returns the feeds of a node in reach; *budget_us* is the airtime in any hour."""
        network = Network()
        super().__init__(store=store, network=network, entropy=chance, key=key)
        keys = [SigningKey(chance.randbytes(limits.SEED_SIZE)) for _ in range(_IDENTITIES)]
        self._plan = plan
        self._chance = chance
        self._reads = reads
        self._view = View(network, chance, keys, own=own_packets(network, keys))
        self._ledger = Ledger(budget_us, sim_limits.LAW_WINDOW_US)
        self._due_us: list[int | None] = [
            us(each.at_s) if each.trigger == "clock" else None for each in plan.behaviours
        ]
        self._done_us = [-(2**62)] * len(plan.behaviours)
        self._given_back_us = 0
        self._noise: set[bytes] = set()

    def decoded(self, packet: bytes) -> bool:
        """Return False for noise that was sent from here."""
        return packet not in self._noise

    def next_wake_us(self) -> int | None:
        """Return when it does something next; None while it is on the air, or has nothing to do."""
        due = [due_us for due_us in self._due_us if due_us is not None]
        return max(min(due), self._given_back_us) if due and self._faces and not self._sending else None

    def wake(self, now_us: int) -> list[Effect]:
        """Do what is due first."""
        due_us, number = min(
            (due_us, number) for number, due_us in enumerate(self._due_us) if due_us is not None
        )
        if now_us < max(due_us, self._given_back_us):
            return []
        behaviour = self._plan.behaviours[number]
        end_us = us(behaviour.at_s + behaviour.for_s)
        following_us = now_us + us(behaviour.every_s * (0.8 + 0.4 * self._chance.random()))
        again = behaviour.trigger == "clock" and following_us < end_us
        self._due_us[number] = following_us if again else None
        if now_us >= end_us:
            return []
        self._done_us[number] = now_us
        (face, profile), *_ = self._faces.items()
        self._view.look(self._reads())
        made = make_packet(self._view, behaviour.lie)
        if made is None:
            return []
        if self._plan.noise:
            made = self._chance.randbytes(len(made[0])), PacketKind.UNKNOWN
            self._noise.add(made[0])
        airtime_us = profile.airtime_us[len(made[0])]
        if self._ledger.left_us(now_us) < airtime_us:
            return []
        self._ledger.hold(airtime_us)
        self._sending = {face: made}
        return [Send(face, *made)]

    def sent(self, face: FaceName, count: int, now_us: int) -> list[Effect]:
        """Note that a packet has left."""
        packet, _ = self._sending[face]
        self._ledger.settle(self._faces[face].airtime_us[len(packet)], now_us)
        return super().sent(face, count, now_us)

    def busy(self, face: FaceName, now_us: int) -> list[Effect]:
        """Give the packet up: the channel is not free."""
        packet, _ = self._sending.pop(face)
        self._ledger.release(self._faces[face].airtime_us[len(packet)])
        self._given_back_us = now_us + 30_000
        return []

    def receive(self, packet: bytes, face: FaceName, reception: Reception, now_us: int) -> list[Effect]:
        """Remember what was heard, and react to it."""
        del face, reception
        self._view.hear(packet)
        if packet[: limits.DMX_SIZE] == self._network.goset_dmx:
            heard = "set"
        else:
            heard = "data" if len(packet) in _DATA_SIZES else "request"
        for number, behaviour in enumerate(self._plan.behaviours):
            begin_us, end_us = us(behaviour.at_s), us(behaviour.at_s + behaviour.for_s)
            rested = now_us - self._done_us[number] >= us(behaviour.every_s)
            if behaviour.trigger == heard and begin_us <= now_us < end_us and rested:
                self._due_us[number] = now_us + us(behaviour.delay_s)
        return []
