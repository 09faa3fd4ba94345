"""Several networks side by side in one program: a ``Node`` each, on the same faces, under the same law of the air.

A network's key is mixed into all its packets, so a packet is offered to the networks that know it. A packet that none
knows goes to the first network, which counts it, once; the others look only whether it may be an orphan of theirs.

Wires are shared by shares of the face's window. A radio is shared as the channel is: what one network sends keeps the
others silent as if they heard it from somebody else, and the network that was silent for longest is asked first.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from tinyssb_node.codec.events import Effect, Send
from tinyssb_node.ids import FaceName, NetworkName
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.budget import AirStatus
from tinyssb_node.scheduling.link import LinkMedium, LinkProfile, Reception
from tinyssb_node.scheduling.pongs import PongHistory
from tinyssb_node.scheduling.transmit_queue import Counters, FaceStatus, TransmitQueue

Owned = tuple[NetworkName, Sequence[Effect]]
"""Effects, and the network they are of."""


class Networks:
    """The nodes of all networks, as one."""

    def __init__(self, nodes: Mapping[NetworkName, Node], board_name: str | None = None) -> None:
        """Take at least one node. They have stores of their own, and share the airtime accounts. *board_name* is the
        name in replies to boards' pings, four hexadecimal digits; None: never reply."""
        self._nodes = dict(nodes)
        self._first = next(iter(self._nodes))
        self._turns = list(self._nodes)
        """All networks, the one that sent by radio last at the end."""
        self._handed: dict[FaceName, deque[NetworkName]] = {}
        """The networks of the packets that a face holds, in order."""
        self._on_air: set[FaceName] = set()
        self._pongs = PongHistory(board_name)

    def node(self, network: NetworkName) -> Node:
        """Return one network's node. Raises KeyError."""
        return self._nodes[network]

    def own(self, name: NetworkName, effects: Sequence[Effect]) -> Owned:
        """Return *effects* as those of network *name*, and note its packets as being under way."""
        for effect in effects:
            if isinstance(effect, Send):
                self._hand(name, effect.face)
        return name, effects

    # --- faces

    def face_up(self, face: FaceName, profile: LinkProfile, spec: str, now_us: int) -> list[Owned]:
        """A face can be used, by all networks."""
        self._handed[face] = deque()
        if profile.medium is LinkMedium.AIR:
            self._on_air.add(face)
        else:
            profile = replace(profile, window=max(1, profile.window // len(self._nodes)))
        return self._all(lambda node: node.face_up(face, profile, spec, now_us))

    def face_down(self, face: FaceName, reason: str, now_us: int) -> list[Owned]:
        """A face is gone."""
        self._handed.pop(face, None)
        self._on_air.discard(face)
        return self._all(lambda node: node.face_down(face, reason, now_us))

    # --- the world

    def receive(self, packet: bytes, face: FaceName, reception: Reception, now_us: int) -> list[Owned]:
        """Offer a received packet, framing removed, to the networks that know it. Never raises, whatever it is."""
        if (queue := self._nodes[self._first].transmit_queue(face)) is not None:
            # A ping is of no network: boards with any key send it alike.
            self._pongs.heard(queue, packet, reception, now_us)
        if len(self._nodes) == 1:
            return [self.own(self._first, self._nodes[self._first].receive(packet, face, reception, now_us))]
        # One, as a rule; side chains may have chunks in common.
        knowing = [name for name, node in self._nodes.items() if node.knows(packet)]
        takers = knowing or [self._first]
        owned: list[Owned] = []
        for name, node in self._nodes.items():
            if name in takers:
                owned.append(self.own(name, node.receive(packet, face, reception, now_us)))
            elif (queue := node.transmit_queue(face)) is not None:
                queue.heard(packet, now_us)
                if not knowing:
                    owned.append(self.own(name, node.offer_stray(packet, face)))
        return owned

    def junk(self, face: FaceName, reason: str, length: int, now_us: int) -> list[Owned]:
        """Count *length* bytes that came in and were no frame; *reason* names the rule they broke."""
        return [self.own(self._first, self._nodes[self._first].junk(face, reason, length, now_us))]

    def sent(self, face: FaceName, count: int, now_us: int) -> list[Owned]:
        """*count* packets handed to *face* have left."""
        handed = self._handed.get(face)
        if handed is None:
            return []
        owners = [handed.popleft() for _ in range(count)]
        owned: list[Owned] = []
        for name, packets in groupby(owners):
            number = len(list(packets))
            for queue in self._others_on_air(name, face):
                for _ in range(number):
                    queue.other_left(now_us)
            owned.append(self.own(name, self._nodes[name].sent(face, number, now_us)))
        return owned

    def busy(self, face: FaceName, now_us: int) -> list[Owned]:
        """*face* did not send a packet: somebody else is on the air. It is sent again later."""
        handed = self._handed.get(face)
        if handed is None:
            return []
        name = handed.popleft()
        for queue in self._others_on_air(name, face):
            queue.other_left(now_us)
        return [self.own(name, self._nodes[name].busy(face, now_us))]

    def wake(self, now_us: int) -> list[Owned]:
        """Do what is due at ``next_wake_us``."""
        return self._all(lambda node: node.wake(now_us))

    def next_wake_us(self) -> int | None:
        """Return when ``wake`` is due next; None while there is no face."""
        due = [due_us for node in self._nodes.values() if (due_us := node.next_wake_us()) is not None]
        return min(due, default=None)

    # --- looking

    def faces(self) -> list[FaceStatus]:
        """Return the faces that are up, in the order they came up, each as all networks together use it."""
        alike = zip(*(node.faces() for node in self._nodes.values()), strict=True)
        return [_together(statuses) for statuses in alike]

    def air(self, now_us: int) -> list[AirStatus]:
        """Return the airtime accounts, sorted by sub-band; none where no face has a limit."""
        return self._nodes[self._first].air(now_us)

    # --- whose turn it is, and whose packets are under way

    def _all(self, action: Callable[[Node], list[Effect]]) -> list[Owned]:
        """Let every node do *action*, the one that sent by radio longest ago first."""
        return [self.own(name, action(self._nodes[name])) for name in tuple(self._turns)]

    def _hand(self, name: NetworkName, face: FaceName) -> None:
        handed = self._handed.get(face)
        if handed is None:
            return
        handed.append(name)
        if face in self._on_air:
            for queue in self._others_on_air(name, face):
                queue.other_handed()
            self._turns.remove(name)
            self._turns.append(name)

    def _others_on_air(self, name: NetworkName, face: FaceName) -> Iterator[TransmitQueue]:
        """Yield the queues that wait while network *name* has a packet in the hands of a radio."""
        if face in self._on_air:
            for other, node in self._nodes.items():
                if other != name and (queue := node.transmit_queue(face)) is not None:
                    yield queue


def _together(statuses: Sequence[FaceStatus]) -> FaceStatus:
    """Merge the statuses of one face in all networks. Received packets are counted by the first, once."""
    counters = [status.counters for status in statuses]
    heard = [each.last_heard_us for each in counters if each.last_heard_us is not None]
    return replace(
        statuses[0],
        queued=sum(status.queued for status in statuses),
        outstanding=sum(status.outstanding for status in statuses),
        counters=Counters(
            sent=sum(each.sent for each in counters),
            received=counters[0].received,
            new=sum(each.new for each in counters),
            invalid=sum(each.invalid for each in counters),
            refused=sum(each.refused for each in counters),
            held_back=sum(each.held_back for each in counters),
            airtime_us=sum(each.airtime_us for each in counters),
            last_heard_us=max(heard, default=None),
        ),
    )
