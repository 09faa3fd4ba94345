"""A gateway that fetches many feeds, beside an island that wants a few of them: what that costs the island's air."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from tests.islands.sim.meshes import SimulatedGateway
from tests.nodes import key_of
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import EntryAppended, Event
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.sim.checkers import AirtimeLaw, DutyCycleChecker
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.traffic import content
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
DUTY = Allowance(band="g1", limit_us=36 * SECOND_US, window_us=HOUR_US)
GATE = "gate"
ISLAND = tuple(f"n{number}" for number in range(1, 10))
"""With the gateway, ten nodes that all hear each other."""
FOLLOW_AT_US = HOUR_US // 2
"""When the island begins to follow: by then there is something on the shelf."""
EVERY_US = 600 * SECOND_US
"""How often each author far away writes, on average."""


class Author:
    """Somebody far away."""

    def __init__(self, number: int) -> None:
        self.key: SigningKey = key_of(f"far {number}")
        self._tip = Tip(self.key.feed_id, Dialect.SPEC, 0, None)

    def write(self) -> list[bytes]:
        """The packets of the next entry, one in six of which has a side chain."""
        number = self._tip.seq
        said = content(self.key.feed_id.hex(), number, 150 if number % 6 == 5 else 40)
        composed = compose(Network(), self.key, self._tip, said)
        self._tip = composed.extended.tip
        return [composed.packet, *composed.chunks]

    @property
    def written(self) -> int:
        return self._tip.seq


class Arrivals(SimulationWatcher):
    """When what the gateway holds comes to each node of the island."""

    def __init__(self) -> None:
        self.brought_us: dict[tuple[FeedId, int], int] = {}
        self.delays_us: list[int] = []
        self.wanted: frozenset[FeedId] = frozenset()
        self.arrived = 0

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        if not isinstance(event, EntryAppended) or event.origin == "own":
            return
        if inhabitant.name == GATE:
            self.brought_us[event.feed, event.seq] = now_us
        elif event.feed in self.wanted:
            self.delays_us.append(now_us - self.brought_us[event.feed, event.seq])
            self.arrived += 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a run."""

    shelved: int
    """Feeds on the gateway's shelf at the end."""
    brought: int
    """Entries and chunks that the gateway fetched."""
    airtime_us: int
    """Of all nodes together, in the time that was measured."""
    peak_permille: float
    """The most that any node was on the air in any hour."""
    wanted: int
    """Entries of feeds that are followed, for each node of the island."""
    arrived: int
    """How many of them came, in the time that was measured; all nodes together."""
    delay_s: float
    """How long the median of them took from the gateway."""
    complete: bool
    """True if all of them came within an hour after the last was written."""


def play(
    feeds: int, followed: int, hours: float, *, in_set: int = 0, packets_max: int = 10**6, seed: int = 1
) -> Outcome:
    """The gateway fetches *feeds*, the first *followed* of which nodes of the island follow, for so many *hours*.
    *in_set* more of them the gateway takes into its set, as if there were no shelf."""
    arrivals, duty = (
        Arrivals(),
        DutyCycleChecker(dict.fromkeys((GATE, *ISLAND), AirtimeLaw(most_us=DUTY.limit_us))),
    )
    world = World(
        seed,
        lambda chance: SimulatedMedium(MediumOptions(), chance),
        allowance=DUTY,
        admission=Admission,
        watchers=[duty, arrivals],
        keep_events=False,
    )
    for name in ISLAND:
        world.add(name)
    gate = SimulatedGateway(world, GATE)
    authors = [Author(number) for number in range(feeds)]
    end_us, brought = round(hours * HOUR_US), [0]

    def write(number: int) -> None:
        packets = authors[number].write()
        brought[0] += len(packets)
        gate.bring(authors[number].key.feed_id, packets)
        if world.now_us < end_us:
            world.later(int(EVERY_US * (0.5 + chances[number].random())), lambda: write(number))

    chances = [world.chance(f"author {number}") for number in range(feeds)]
    for number, chance in enumerate(chances):
        world.at(int(EVERY_US * chance.random()), partial(write, number))
    wanted = [author.key.feed_id for author in authors[:followed]]
    arrivals.wanted = frozenset(wanted)
    for number, feed in enumerate(wanted):
        world.at(FOLLOW_AT_US, partial(world.follow, ISLAND[number % len(ISLAND)], feed))
    for author in authors[followed : followed + in_set]:
        world.follow(GATE, author.key.feed_id)
    world.run_for(end_us)
    airtime_us, arrived = world.airtime_us, arrivals.arrived
    entries = sum(author.written for author in authors[:followed])
    complete = world.run(lambda: _complete(world, authors[:followed]), HOUR_US)
    return Outcome(
        shelved=len(gate.shelf.feeds()),
        brought=brought[0],
        airtime_us=airtime_us,
        peak_permille=max(duty.peak_us.values()) / HOUR_US * 1_000,
        wanted=entries,
        arrived=arrived,
        delay_s=median(arrivals.delays_us or [0]) / SECOND_US,
        complete=complete,
    )


def _complete(world: World, authors: Sequence[Author]) -> bool:
    for name in ISLAND:
        node = world.inhabitants[name].node
        held = {record.feed: record.seq for record in node.feeds()}
        if any(held.get(author.key.feed_id, 0) < author.written for author in authors):
            return False
        if node.side_chains_open():
            return False
    return True
