"""Several nodes in virtual time, on a modelled channel and on streams between two.

It is the second shell around ``Node``, beside the daemon: same order of things (commit, then record, then send), no
clock but the number in ``now_us``. One seed gives one history. Watchers see each event, and must not change it.
"""

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from firmware_bridge.lora import snr_limit_db
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey, verify_signed
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import ChunkAppended, ClockSet, Effect, EntryAppended, Event, Send
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.groups.host import MakeGroups, groups_of
from tinyssb_node.ids import Dialect, FaceName, FeedId, PacketKind
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.budget import BootReference
from tinyssb_node.scheduling.link import (
    WIRED,
    Allowance,
    LinkProfile,
    Reception,
    air_profile,
    stream_profile,
)
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.disk import SimulatedDisk
from tinyssb_node.sim.links import Position
from tinyssb_node.sim.medium import SimulatedMedium
from tinyssb_node.sim.modems import ModemOptions
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.verification_cache import cached_verifier
from tinyssb_node.store.port import FeedRecord


@dataclass(frozen=True, slots=True)
class Cable:
    """One direction of a cable."""

    other: str
    """The node at the other end."""
    face: FaceName
    """The face there."""
    latency_us: int
    """Least time that a packet is under way."""
    jitter_us: int
    """Most that is added to it by chance."""
    chance: random.Random
    """The source of that chance."""
    profile: LinkProfile
    """The profile of its faces."""


MakeStation = Callable[[SimulatedDisk, SigningKey, random.Random], DeployedBoard]
"""Maker of a node that follows rules of its own, from its disk, its key and its source of chance."""

AIR = FaceName("air")
"""The face of every node that is on the channel."""


def stream(seed: int, purpose: str) -> random.Random:
    """Return the stream of chance for *purpose*; Python's generator gives the same numbers on every machine."""
    return random.Random(f"{seed}/{purpose}")  # noqa: S311 - a model needs no secrets


def _those_who_look(at: str, watchers: Sequence[SimulationWatcher]) -> list[Callable[..., None]]:
    """Return the methods *at* of those watchers that override it: most override few, and events are many."""
    return [
        getattr(watcher, at)
        for watcher in watchers
        if getattr(type(watcher), at) is not getattr(SimulationWatcher, at)
    ]


class World:
    """A mesh and its virtual time."""

    def __init__(
        self,
        seed: int,
        medium: Callable[[random.Random], SimulatedMedium] | None = None,
        *,
        allowance: Allowance | None = None,
        watchers: Sequence[SimulationWatcher] = (),
        keep_events: bool = True,
        spoil: Callable[[bytes], Sequence[bytes]] | None = None,
        acknowledge_permille: int = 0,
        admission: Callable[[], Admission] | None = None,
    ) -> None:
        """*medium* makes the channel from the stream of chance it is given; None for streams only. *allowance* is the
        legal allowance of each node, unless ``add`` sets another. *spoil* alters a packet as it is received; None for
        no alteration. *acknowledge_permille* is the share of airtime that all acknowledgements may take; 0: no node
        writes any. *admission* makes each node's admission rule; None: all ids are admitted."""
        self.now_us = 0
        self.inhabitants: dict[str, SimulatedNode] = {}
        self.sent: Counter[PacketKind] = Counter()
        """Packets that began to be sent, on all faces together."""
        self.airtime_us = 0
        """Sum of all airtime used."""
        self.happenings = 0
        """Packets and timers so far."""
        self.calm_us = 0
        """The time when the last node that lost power is, or was, back."""
        self._seed = seed
        self._on_begin = _those_who_look("began", watchers)
        self._on_record = _those_who_look("recorded", watchers)
        self._on_send = _those_who_look("sending", watchers)
        self._on_forget = _those_who_look("forgot", watchers)
        self._on_acknowledge = _those_who_look("acknowledged", watchers)
        self._on_links = _those_who_look("links_changed", watchers)
        self._keep_events = keep_events
        self._spoil = spoil
        self._acknowledge_permille = acknowledge_permille
        self._admission = admission
        self._backoff = self.chance("backoff")
        self._medium = medium(self.chance("medium")) if medium is not None else None
        self._allowance = allowance
        self._profiles: dict[tuple[ModemOptions, Allowance | None], LinkProfile] = {}
        self._queue: list[tuple[int, int, Callable[[], object]]] = []
        self._numbers = 0
        self._verify = cached_verifier(verify_signed)
        self._streams: dict[tuple[str, FaceName], Cable] = {}
        self._groups: dict[str, MakeGroups] = {}
        self._stations: dict[str, MakeStation] = {}

    @property
    def medium(self) -> SimulatedMedium | None:
        """The channel."""
        return self._medium

    def chance(self, purpose: str) -> random.Random:
        """Return a stream of chance of its own for each purpose, so that one more draw here changes nothing there."""
        return stream(self._seed, purpose)

    # --- building

    def add(
        self,
        name: str,
        *,
        dialect: Dialect = Dialect.SPEC,
        key: SigningKey | None = None,
        position_m: Position | None = None,
        on_air: bool = True,
        board: bool = False,
        law: Allowance | None = None,
        station: MakeStation | None = None,
    ) -> SimulatedNode:
        """Add a node, at a position if there is one; if there is a channel, it is on it, or will be by
        ``switch_on_air``. A *board* follows deployed rules, writes the deployed dialect and has no carrier sense. *law*
        is its legal allowance, if that differs from the others'. *station* makes a node that follows rules of its
        own."""
        dialect = Dialect.DEPLOYED if board else dialect
        if station is not None:
            self._stations[name] = station
        if key is None:
            seed = self.chance(f"key {name}").randbytes(limits.SEED_SIZE)
            key = SigningKey(seed)
            self._groups[name] = groups_of(seed, self.chance(f"groups {name}").randbytes)
        store = SimulatedDisk(lambda: self.now_us)
        node = self._make_node(name, store, key, dialect, boot=1, board=board)
        inhabitant = SimulatedNode(
            name,
            key,
            dialect,
            node,
            store,
            key.feed_id,
            board=board,
            position_m=position_m,
            allowance=law or self._allowance,
        )
        self.inhabitants[name] = inhabitant
        self._begin(inhabitant)
        if self._medium is not None and on_air:
            self.switch_on_air(name)
        return inhabitant

    def switch_on_air(self, name: str) -> None:
        """Put a node that is up, and was not on the channel so far, on it."""
        assert self._medium is not None
        inhabitant = self.inhabitants[name]
        self._medium.add_node(name, inhabitant.position_m)
        self._links_changed()
        self._up(inhabitant, AIR, self._air_profile(inhabitant))

    def _links_changed(self) -> None:
        for watch in self._on_links:
            watch(self.now_us)

    def _air_profile(self, inhabitant: SimulatedNode) -> LinkProfile:
        assert self._medium is not None
        modem = self._medium.modem(inhabitant.name)
        key = modem.options, inhabitant.allowance
        if key not in self._profiles:
            airtimes_us = [modem.airtime_us(n + limits.CRC_SIZE) for n in range(limits.PACKET_SIZE + 1)]
            profile = air_profile(airtimes_us, snr_limit_db(modem.options.lora))
            self._profiles[key] = replace(profile, allowance=inhabitant.allowance)
        return self._profiles[key]

    def _make_node(
        self, name: str, store: SimulatedDisk, key: SigningKey, dialect: Dialect, *, boot: int, board: bool
    ) -> Node | DeployedBoard:
        chance = self.chance(f"node {name}" if boot == 1 else f"node {name} boot {boot}")
        if (station := self._stations.get(name)) is not None:
            return station(store, key, chance)
        if board:
            return DeployedBoard(store=store, network=Network(), entropy=chance, key=key, verify=self._verify)
        return Node(
            store=store,
            network=Network(),
            entropy=chance,
            key=key,
            dialect=dialect,
            boot=BootReference(id=f"{name} {boot}", since_us=0),
            verify=self._verify,
            acknowledge_permille=self._acknowledge_permille,
            groups=self._groups.get(name),
            admission=self._admission and self._admission(),
        )

    def _begin(self, inhabitant: SimulatedNode) -> None:
        inhabitant.store.commit(self._wall_us(inhabitant))
        inhabitant.begin(self.now_us)
        for watch in self._on_begin:
            watch(inhabitant, self.now_us)

    def connect(
        self,
        left: str,
        right: str,
        latency_us: int = 1_000,
        jitter_us: int = 0,
        profile: LinkProfile | None = None,
    ) -> None:
        """Lay a stream between two nodes; packets take up to *jitter_us* longer, and may then overtake each other.
        *profile* is how nodes behave on it, if not as on other streams."""
        chance = self.chance(f"stream {left} {right}")
        up = self.inhabitants[left].up and self.inhabitants[right].up
        for here, there in ((left, right), (right, left)):
            stream = Cable(
                there, FaceName(f"to {here}"), latency_us, jitter_us, chance, profile or stream_profile()
            )
            self._streams[here, FaceName(f"to {there}")] = stream
            if up:
                self._up(self.inhabitants[here], FaceName(f"to {there}"), stream.profile)

    def disconnect(self, left: str, right: str) -> None:
        """Take the stream between two nodes away."""
        for here, there in ((left, right), (right, left)):
            face = FaceName(f"to {there}")
            del self._streams[here, face]
            inhabitant = self.inhabitants[here]
            if inhabitant.up:
                self._perform(inhabitant, inhabitant.node.face_down(face, "cut", self.now_us))

    def _up(self, inhabitant: SimulatedNode, face: FaceName, profile: LinkProfile) -> None:
        self._perform(inhabitant, inhabitant.node.face_up(face, profile, "sim", self.now_us))

    # --- acting

    def inject(self, name: str, content: bytes) -> bool:
        """Publish *content* at a node. Return False if it is off, or lost power before the commit."""
        inhabitant = self.inhabitants[name]
        if not inhabitant.up:
            return False
        published, effects = inhabitant.node.publish(content, self.now_us)
        self._perform(inhabitant, effects)
        if inhabitant.up:
            for watch in self._on_acknowledge:
                watch(inhabitant, published, self.now_us)
        return inhabitant.up

    def act(self, name: str, deed: Callable[[Node | DeployedBoard, int], Sequence[Effect]]) -> None:
        """Anything else a user of a node may do."""
        inhabitant = self.inhabitants[name]
        self._perform(inhabitant, deed(inhabitant.node, self.now_us))

    def follow(self, name: str, feed: FeedId) -> None:
        """Add *feed* to a node's set as wanted."""
        self.act(name, lambda node, now_us: node.follow(feed, now_us))

    def acquaint(self) -> None:
        """Let all nodes know each other's feed ids."""
        for inhabitant in self.inhabitants.values():
            for other in self.inhabitants.values():
                self._perform(inhabitant, inhabitant.node.follow(other.feed, self.now_us))

    def at(self, at_us: int, do: Callable[[], object]) -> None:
        """Do something at a time to come."""
        self.later(at_us - self.now_us, do)

    def later(self, delay_us: int, do: Callable[[], object]) -> None:
        """Do something in a while."""
        self._numbers += 1
        heapq.heappush(self._queue, (self.now_us + delay_us, self._numbers, do))

    # --- time

    def run(self, until: Callable[[], bool], limit_us: int) -> bool:
        """Let time pass until *until* holds, or *limit_us* more have passed. True if it holds."""
        end_us = self.now_us + limit_us
        queue = self._queue
        while not until():
            if not queue or queue[0][0] > end_us:
                self.now_us = end_us
                return until()
            self.now_us, _, do = heapq.heappop(queue)
            self.happenings += 1
            do()
        return True

    def run_for(self, span_us: int) -> None:
        """Let time pass."""
        self.run(lambda: False, span_us)

    def agreed(self) -> bool:
        """Return True if all nodes store the same feeds to the same entries, and no side chain is open."""
        views = [self._view(inhabitant) for inhabitant in self.inhabitants.values()]
        return all(view == views[0] for view in views) and not any(
            inhabitant.node.side_chains_open() for inhabitant in self.inhabitants.values()
        )

    def _view(self, inhabitant: SimulatedNode) -> list[tuple[FeedId, int]]:
        records: Sequence[FeedRecord] = inhabitant.node.feeds()
        return [(record.feed, record.seq) for record in records]

    # --- faults

    def cut(self, left: Iterable[str], right: Iterable[str]) -> None:
        """Cut all links between *left* and *right* from now on."""
        assert self._medium is not None
        self._medium.cut(left, right)
        self._links_changed()

    def uncut(self, left: Iterable[str], right: Iterable[str]) -> None:
        """End that cut."""
        assert self._medium is not None
        self._medium.uncut(left, right)
        self._links_changed()

    def crash(self, name: str, down_us: int, *, torn: bool = False) -> None:
        """Let a node lose power for *down_us*: now, or if *torn* when it is about to commit something, which is
        lost."""
        inhabitant = self.inhabitants[name]
        if not inhabitant.up:
            return
        if torn:
            inhabitant.tear(down_us)
        else:
            self._power_off(inhabitant, down_us)

    def lie(self, name: str) -> None:
        """From now on let a node's disk report writes that are only in a cache, which a loss of power empties."""
        self.inhabitants[name].store.lie()

    def lie_no_more(self, name: str, down_us: int) -> None:
        """Let a node lose power for *down_us*, and what its disk had falsely reported as written; from then on the disk
        is honest."""
        self.crash(name, down_us)
        self.inhabitants[name].store.lie_no_more()

    def move(self, name: str, position_m: Position) -> None:
        """Move a node to another position from now on."""
        inhabitant = self.inhabitants[name]
        inhabitant.move(position_m)
        if inhabitant.on_air and self._medium is not None:
            self._medium.add_node(name, position_m)
            self._links_changed()

    def brown_out(self, name: str, down_us: int) -> None:
        """Let a node lose power for *down_us* in the middle of the next packet it sends."""
        self.inhabitants[name].brown_out(down_us)

    def sleep(self, name: str) -> None:
        """Let a node sleep until ``wake``: its radio is off, and its shell has closed the face."""
        assert self._medium is not None
        inhabitant = self.inhabitants[name]
        if (end_us := self._medium.sending_until_us(name)) is not None:
            self.at(end_us, lambda: self.sleep(name))  # behind the end of the packet
            return
        on_air = inhabitant.on_air
        inhabitant.sleep(self.now_us)
        if on_air:
            self._medium.switch_off(name)
            self._links_changed()
            self._perform(inhabitant, inhabitant.node.face_down(AIR, "asleep", self.now_us))

    def wake(self, name: str) -> None:
        """Wake a node."""
        inhabitant = self.inhabitants[name]
        inhabitant.wake(self.now_us)
        if inhabitant.up:
            self.switch_on_air(name)

    def hang(self, name: str, for_us: int) -> None:
        """Let a node's radio neither send nor receive for *for_us*; a packet given to it waits."""
        self.inhabitants[name].hang(self.now_us + for_us)
        self.calm_us = max(self.calm_us, self.now_us + for_us)

    def set_clock(self, name: str, step_us: int | None) -> None:
        """Let a node's wall clock jump by *step_us*, or to 1970."""
        inhabitant = self.inhabitants[name]
        offset_us = -self.now_us if step_us is None else inhabitant.wall_offset_us + step_us
        jumped_us = inhabitant.set_clock(offset_us)
        if inhabitant.up:
            self._record(inhabitant, ClockSet(step_us=jumped_us))

    def _break_down(self, inhabitant: SimulatedNode, down_us: int, boot: int) -> None:
        if inhabitant.boot == boot:
            self._power_off(inhabitant, down_us)

    def _power_off(self, inhabitant: SimulatedNode, down_us: int) -> None:
        inhabitant.switch_off()
        loss = inhabitant.store.power_off()
        if loss is not None:
            for watch in self._on_forget:
                watch(inhabitant, loss, self.now_us)
        if self._medium is not None:
            self._medium.switch_off(inhabitant.name)
            self._links_changed()
        for _, stream in self._streams_of(inhabitant.name):
            other = self.inhabitants[stream.other]
            if other.up:
                self._perform(other, other.node.face_down(stream.face, "gone", self.now_us))
        self.calm_us = max(self.calm_us, self.now_us + down_us)
        self.later(down_us, lambda: self._power_on(inhabitant))

    def _power_on(self, inhabitant: SimulatedNode) -> None:
        name = inhabitant.name
        node = self._make_node(
            name,
            inhabitant.store,
            inhabitant.key,
            inhabitant.dialect,
            boot=inhabitant.boot,
            board=inhabitant.board,
        )
        inhabitant.switch_on(node)
        self._begin(inhabitant)
        if self._medium is not None and inhabitant.on_air:
            self.switch_on_air(name)
        for face, stream in self._streams_of(name):
            other = self.inhabitants[stream.other]
            if other.up:
                self._up(inhabitant, face, stream.profile)
                self._up(other, stream.face, stream.profile)
        if inhabitant.up:
            self._schedule_wake(inhabitant)

    def _streams_of(self, name: str) -> list[tuple[FaceName, Cable]]:
        return [(face, stream) for (here, face), stream in self._streams.items() if here == name]

    # --- the shell

    def _wall_us(self, inhabitant: SimulatedNode) -> int:
        return self.now_us + inhabitant.wall_offset_us

    def _perform(self, inhabitant: SimulatedNode, effects: Sequence[Effect]) -> None:
        if inhabitant.down_us is not None and any(isinstance(effect, _APPENDS) for effect in effects):
            self._power_off(inhabitant, inhabitant.down_us)
            return
        inhabitant.store.commit(self._wall_us(inhabitant))
        for effect in effects:
            if isinstance(effect, Send):
                self._send(inhabitant, effect)
            else:
                self._record(inhabitant, effect)
        self._schedule_wake(inhabitant)

    def _record(self, inhabitant: SimulatedNode, event: Event) -> None:
        if self._keep_events:
            inhabitant.events.append(event)
        for watch in self._on_record:
            watch(inhabitant, event, self.now_us)

    def _schedule_wake(self, inhabitant: SimulatedNode) -> None:
        due_us = inhabitant.schedule_wake()
        if due_us is None:
            return

        def wake() -> None:
            if inhabitant.end_wait(due_us):
                self._perform(inhabitant, inhabitant.node.wake(self.now_us))

        self.later(max(0, due_us - self.now_us), wake)

    def _send(self, inhabitant: SimulatedNode, send: Send) -> None:
        stream = self._streams.get((inhabitant.name, send.face))
        if stream is not None:
            self._stream(inhabitant, send, stream)
        else:
            self._listen_then_talk(inhabitant, send, inhabitant.boot)

    def _stream(self, inhabitant: SimulatedNode, send: Send, stream: Cable) -> None:
        self.sent[send.kind] += 1
        boot = inhabitant.boot
        other = self.inhabitants[stream.other]
        other_boot = other.boot
        latency_us = stream.latency_us + int(stream.chance.random() * stream.jitter_us)

        def arrive() -> None:
            if other.boot == other_boot:
                self._receive(other, send.packet, stream.face, WIRED)

        self.later(0, lambda: self._sent(inhabitant, send, boot))
        self.later(latency_us, arrive)

    def _listen_then_talk(self, inhabitant: SimulatedNode, send: Send, boot: int) -> None:
        medium = self._medium
        assert medium is not None
        if inhabitant.boot != boot:
            return
        if inhabitant.hung_until_us > self.now_us:
            self.at(inhabitant.hung_until_us, lambda: self._listen_then_talk(inhabitant, send, boot))
            return
        if not inhabitant.board and medium.is_busy(inhabitant.name, self.now_us):
            self._perform(inhabitant, inhabitant.node.busy(send.face, self.now_us))
            return
        self._talk(inhabitant, send, boot)

    def _talk(self, inhabitant: SimulatedNode, send: Send, boot: int) -> None:
        medium = self._medium
        assert medium is not None
        end_us = medium.begin_send(inhabitant.name, len(send.packet) + limits.CRC_SIZE, self.now_us)
        self.sent[send.kind] += 1
        self.airtime_us += end_us - self.now_us
        for watch in self._on_send:
            watch(inhabitant, send, self.now_us, end_us)
        self.later(end_us - self.now_us, lambda: self._end_send(inhabitant, send, boot))
        if inhabitant.brown_out_us is not None:
            down_us = inhabitant.brown_out_us
            self.later((end_us - self.now_us) // 2, lambda: self._break_down(inhabitant, down_us, boot))

    def _end_send(self, inhabitant: SimulatedNode, send: Send, boot: int) -> None:
        medium = self._medium
        assert medium is not None
        if inhabitant.boot != boot:
            return
        airtime_us = medium.modem(inhabitant.name).airtime_us(len(send.packet) + limits.CRC_SIZE)
        for delivery in medium.end_send(inhabitant.name).deliveries:
            receiver = self.inhabitants[delivery.receiver]
            heard = Reception(rssi_dbm=delivery.rssi_dbm, snr_db=delivery.snr_db, airtime_us=airtime_us)
            for packet in (send.packet,) if self._spoil is None else self._spoil(send.packet):
                self._receive(receiver, packet, AIR, heard)
        self._sent(inhabitant, send, boot)

    def _sent(self, inhabitant: SimulatedNode, send: Send, boot: int) -> None:
        if inhabitant.boot == boot:
            self._perform(inhabitant, inhabitant.node.sent(send.face, 1, self.now_us))

    def _receive(
        self, inhabitant: SimulatedNode, packet: bytes, face: FaceName, reception: Reception
    ) -> None:
        if inhabitant.up and inhabitant.hung_until_us <= self.now_us:
            self._perform(inhabitant, inhabitant.node.receive(packet, face, reception, self.now_us))


_APPENDS = (EntryAppended, ChunkAppended)
