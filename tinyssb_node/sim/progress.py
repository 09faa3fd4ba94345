"""Convergence of the nodes in a simulation, updated at each event so that reading it costs nothing."""

from collections import Counter

from tinyssb_node.codec.events import ChunkAppended, EntryAppended, Event, SetChanged
from tinyssb_node.ids import FeedId, Origin
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.disk import DiskLoss
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher


class ConvergenceWatcher(SimulationWatcher):
    """The entries, chunks and feed ids that each node stores, of all there are."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._sets: dict[str, set[FeedId]] = {}
        self._in_sets: Counter[FeedId] = Counter()
        """In how many sets each feed id is, where it is in any."""
        self._published_us: dict[tuple[FeedId, int], int] = {}
        self.packets = 0
        """Entries and chunks that there are."""
        self.messages = 0
        """Entries that there are."""
        self.held = 0
        """Entries and chunks held, all nodes together."""
        self.delivered = 0
        """Whole entries that came to nodes other than their author's; again where a disk lost them."""
        self.delays_us: list[int] = []
        """The delay of each of them."""
        self.changed_us = 0
        """The time of the last append at any node."""
        self._samples: list[tuple[int, float]] = []
        self._step_us = 1_000
        self._next_us = 0

    @property
    def curve(self) -> tuple[tuple[int, float], ...]:
        """Time and share held then: the beginning, the end, and some hundreds of points between."""
        return (*self._samples, (self.changed_us, self.share))

    @property
    def done(self) -> bool:
        """True if all nodes store everything."""
        return (
            self.held == self.packets * self._nodes
            and self._in_sets.total() == len(self._in_sets) * self._nodes
        )

    @property
    def share(self) -> float:
        """The share of what all nodes should store that is stored, 0 to 1."""
        wanted = self.packets * self._nodes + len(self._in_sets) * self._nodes
        return (self.held + self._in_sets.total()) / wanted if wanted else 1.0

    def _sample(self, now_us: int) -> None:
        """Note how far things are. Where that gets too much, fewer notes are made, and as many dropped of the old."""
        self._samples.append((now_us, self.share))
        if len(self._samples) >= sim_limits.SAMPLES_MAX:
            self._step_us = 2 * now_us // sim_limits.SAMPLES_MAX + 1
            kept = self._samples[:1]
            for sample in self._samples:
                if sample[0] >= kept[-1][0] + self._step_us:
                    kept.append(sample)
            self._samples = kept
        self._next_us = now_us + self._step_us

    def began(self, inhabitant: SimulatedNode, now_us: int) -> None:
        """Note a node that was switched on; its own feed id may be new."""
        del now_us
        self._in_sets.subtract(self._sets.get(inhabitant.name, ()))
        held = {record.feed for record in inhabitant.node.feeds() if not record.retired}
        self._sets[inhabitant.name] = held
        self._in_sets.update(held)
        self._in_sets += Counter()  # no events, no delays

    def forgot(self, inhabitant: SimulatedNode, loss: DiskLoss, now_us: int) -> None:
        """Note what a node's disk lost: it has to come again. The node's set is checked when it is switched on."""
        del inhabitant
        self.held -= loss.packets
        self.changed_us = now_us

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        """Note what a node recorded."""
        if isinstance(event, EntryAppended):
            self._took(event, now_us)
            if event.origin is Origin.OWN:
                self.messages += 1
                self._published_us[event.feed, event.seq] = now_us
            elif event.chunks == 0:
                self._delivered(event, now_us)
        elif isinstance(event, ChunkAppended):
            self._took(event, now_us)
            if event.complete and event.origin is not Origin.OWN:
                self._delivered(event, now_us)
        elif isinstance(event, SetChanged):
            self._take_set(self._sets.setdefault(inhabitant.name, set()), event)
            self.changed_us = now_us
        if now_us >= self._next_us:
            self._sample(now_us)

    def _take_set(self, held: set[FeedId], event: SetChanged) -> None:
        if not event.left and event.feed not in held:
            held.add(event.feed)
            self._in_sets[event.feed] += 1
        elif event.left and event.feed in held:
            held.discard(event.feed)
            self._in_sets[event.feed] -= 1
            if not self._in_sets[event.feed]:
                del self._in_sets[event.feed]

    def _took(self, event: EntryAppended | ChunkAppended, now_us: int) -> None:
        self.held += 1
        self.packets += event.origin is Origin.OWN
        self.changed_us = now_us

    def _delivered(self, event: EntryAppended | ChunkAppended, now_us: int) -> None:
        self.delivered += 1
        self.delays_us.append(now_us - self._published_us[event.feed, event.seq])
