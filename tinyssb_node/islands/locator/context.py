"""State that the activities of a locator share: timers, cookies, peers, locations, and what goes out."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from enum import Enum
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from hmac import compare_digest
from itertools import count
from math import sqrt
from typing import Final

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import (
    ContactAddress,
    Peer,
    Scope,
    is_port,
    reachable,
    scope_of,
    split_relayed,
)
from tinyssb_node.islands.locator.packets import Message, serialize, type_of
from tinyssb_node.islands.locator.peers import (
    ConfirmedPeers,
    HistoricPeers,
    LocatorRandomSource,
    UnconfirmedPeers,
)
from tinyssb_node.islands.locator.table import ExpiringMap, LocationMap
from tinyssb_node.islands.locator.values import (
    Effect,
    LocatorSettings,
    NodeParameters,
    SendDatagram,
    label_of_address,
)

NEVER_US: Final = 2**62
"""A time later than any other."""


class LocatorTimers:
    """One due time for each key."""

    def __init__(self) -> None:
        self._due: dict[Hashable, tuple[int, int]] = {}
        """Time and number by key."""
        self._heap: list[tuple[int, int, Hashable]] = []
        """Entries that differ from ``_due`` are outdated."""
        self._numbers = count()

    def __len__(self) -> int:
        """Return the number of times kept, outdated ones included."""
        return len(self._heap)

    def set(self, key: Hashable, due_us: int) -> None:
        """Make *key* due at that time, in place of an earlier setting."""
        entry = due_us, next(self._numbers)
        self._due[key] = entry
        heappush(self._heap, (*entry, key))
        if len(self._heap) > 2 * len(self._due) + 16:
            self._heap = [(*kept, key) for key, kept in self._due.items()]
            heapify(self._heap)

    def cancel(self, key: Hashable) -> None:
        """Remove the time of *key*, if there is one."""
        self._due.pop(key, None)

    def due_us(self, key: Hashable) -> int | None:
        """Return the time of *key*; None if it has none."""
        entry = self._due.get(key)
        return None if entry is None else entry[0]

    def next_us(self) -> int:
        """Return when the first key is due; NEVER_US if there is none."""
        while self._heap:
            due_us, number, key = self._heap[0]
            if self._due.get(key) == (due_us, number):
                return due_us
            heappop(self._heap)
        return NEVER_US

    def pop(self, now_us: int) -> Iterator[Hashable]:
        """Yield each due key once. Keys that are set meanwhile, for now or before, come in the next call."""
        end = next(self._numbers)
        while self.next_us() <= now_us and self._heap[0][1] < end:
            key = heappop(self._heap)[2]
            del self._due[key]
            yield key


_MASK = 2 ** (8 * limits.COOKIE_TIME_SIZE) - 1


class CookiePurpose(Enum):
    """The use of a cookie: one made for a ping is not valid for a query."""

    PONG = b"locator pong"
    REPORT = b"locator report"
    RELAY = b"locator relay"


class CookieMaker:
    """Cookies: a time, and a keyed hash over it and the purpose. Only their maker can make or verify them."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def make(self, use: CookiePurpose, subject: bytes, now_us: int) -> bytes:
        """Return a cookie for *subject*: a peer's addresses, or a label."""
        return self._seal(use, subject, (now_us // 1_000 & _MASK).to_bytes(limits.COOKIE_TIME_SIZE, "big"))

    def age_us(
        self, cookie: bytes, use: CookiePurpose, subject: bytes, now_us: int, most_us: int
    ) -> int | None:
        """Return its age, to a millisecond; None if we did not make it for that, or it is older than *most_us*."""
        time = cookie[: limits.COOKIE_TIME_SIZE]
        if len(cookie) != limits.COOKIE_SIZE or not compare_digest(cookie, self._seal(use, subject, time)):
            return None
        age_us = 1_000 * ((now_us // 1_000 - int.from_bytes(time, "big")) & _MASK)
        return age_us if age_us <= most_us else None

    def _seal(self, use: CookiePurpose, subject: bytes, time: bytes) -> bytes:
        digest = blake2b(
            time + subject, digest_size=limits.COOKIE_MAC_SIZE, key=self._secret, person=use.value
        ).digest()
        return time + digest


class LocatorContext:
    """State shared by discovery, table maintenance and lookups."""

    def __init__(
        self,
        settings: LocatorSettings,
        me: ContactAddress,
        chance: LocatorRandomSource,
        secret: bytes,
        historic: Sequence[Peer],
        also: ContactAddress | None = None,
    ) -> None:
        self.settings = settings
        self._node = settings.node
        self.me = me
        self.also = also
        """Our address of the other family, IPv4 or IPv6, if we have both."""
        self.relayed: tuple[ContactAddress, ...] = ()
        """Our locations at relays, if we cannot be reached, or nobody has shown yet that we can."""
        self.label = label_of_address(me.node or secret)
        """Our label. A node that cannot be reached has a secret one."""
        self.chance = chance
        self.cookies = CookieMaker(secret)
        self.timers = LocatorTimers()
        self.historic = HistoricPeers(
            historic,
            probability=settings.historic_probability,
            threshold=settings.historic_threshold,
            chance=chance,
        )
        self.unconfirmed = UnconfirmedPeers(self.label, settings.unconfirmed_set_max, chance)
        self.confirmed = ConfirmedPeers(self.label, settings.confirmed_set_max, chance)
        self.map = LocationMap(
            set_limit=settings.location_set_max, age_us=settings.location_age_us, chance=chance
        )
        # Six hours: a little longer than confirmed peers live in a network of thousands.
        self.proved: ExpiringMap[Peer, None] = ExpiringMap(most=limits.PROVED_MAX, age_us=21_600_000_000)
        """Peers that answered a cookie lately."""
        self.credit: ExpiringMap[Peer, int] = ExpiringMap(
            most=limits.CREDITS_MAX, age_us=limits.CREDIT_AGE_US
        )
        """Bytes of answers that each address may get: a multiple of those that came from it, less those that it got. So
        nobody makes us send an address more than that, proved or not (amplification, reflection)."""
        self.shunned: ExpiringMap[ContactAddress, None] = ExpiringMap(
            most=limits.SHUNNED_MAX, age_us=limits.PLACE_SHUN_US
        )
        """Locations that failed."""
        self.reached = False
        """True once a node pinged us that we had not contacted."""
        self.effects: list[Effect] = []
        """Effects for the shell, in order."""
        self.sent: Counter[str] = Counter()
        self.sent_bytes = 0
        self.drops: Counter[str] = Counter()

    @property
    def node(self) -> NodeParameters:
        """Properties that we state in pongs, but for the uptime."""
        return self._node

    def state(self, node: NodeParameters) -> None:
        """State these properties from now on."""
        self._node = node

    def take_effects(self) -> list[Effect]:
        """Return the effects since the last call."""
        effects, self.effects = self.effects, []
        return effects

    def mark_reached(self) -> None:
        """Remember that a node pinged us that we had not contacted."""
        self.reached = True

    @property
    def places(self) -> tuple[ContactAddress, ...]:
        """Our locations, as others can connect to them: our own, if there is one, and those at relays."""
        return (*self.addresses, *self.relayed)

    @property
    def addresses(self) -> tuple[ContactAddress, ...]:
        """Our own addresses for others, one of a family; none if others cannot reach us."""
        return tuple(one for one in (self.me, self.also) if one is not None and one.node)

    def me_to(self, node: bytes) -> ContactAddress:
        """Return the address of ours that a peer at *node* sees: that of its family. It confirms us by no other one."""
        return next((one for one in self.addresses if len(one.node) == len(node)), self.me)

    def is_own(self, node: bytes) -> bool:
        """Return True if that node address is ours."""
        return any(one.node == node for one in self.addresses)

    def is_ours(self, place: ContactAddress) -> bool:
        """Return True if *place* is a location of ours."""
        return place.peer in [one.peer for one in self.addresses] or place in self.relayed

    def be_relayed(self, places: tuple[ContactAddress, ...]) -> None:
        """Have these locations at relays, and no others."""
        self.relayed = places

    # --- sending

    def bytes_of(self, message: Message) -> bytes:
        """Serialize *message* into a datagram."""
        return serialize(message, self.settings.group)

    def send(self, to: Peer, message: Message) -> int:
        """Send *message* of our own accord. Return its size."""
        datagram = self.bytes_of(message)
        self.effects.append(SendDatagram(to, datagram))
        self.sent[type_of(message).name.lower()] += 1
        self.sent_bytes += len(datagram)
        return len(datagram)

    def answer(self, to: Peer, message: Message, now_us: int) -> bool:
        """Send *message* because of others' messages, if *to* sent us enough for it. Return False if it did not."""
        left = self.credit_of(to, now_us)
        if len(self.bytes_of(message)) > left:
            self.drop("amplified")
            return False
        self.credit.change(to, left - self.send(to, message))
        return True

    def earn(self, source: Peer, size: int, now_us: int) -> None:
        """Count the bytes of a message that came from *source*."""
        credit = self.credit_of(source, now_us) + limits.AMPLIFICATION * size
        self.credit.put(source, min(credit, limits.CREDIT_MAX), now_us)

    def credit_of(self, peer: Peer, now_us: int) -> int:
        """Return how many bytes of answers *peer* may get."""
        return self.credit.get(peer, now_us) or 0

    def drop(self, reason: str) -> None:
        """Count a message that was dropped."""
        self.drops[reason] += 1

    # --- judging addresses

    def is_proved(self, peer: Peer, now_us: int) -> bool:
        """Return True if it answered a cookie lately."""
        return peer in self.confirmed or self.proved.has(peer, now_us)

    def may_send(self, peer: Peer) -> bool:
        """Return True if its addresses are valid, and not ours."""
        return reachable(self.me.node, peer.node, peer.message) and not self.is_own(peer.node)

    def is_source(self, peer: Peer) -> bool:
        """Return True if a message can have come from there: from one node, and not from ourselves."""
        known = scope_of(peer.node) is not Scope.NOWHERE and is_port(peer.message)
        return known and not self.is_own(peer.node)

    def is_usable(self, place: ContactAddress) -> bool:
        """Return True if the layer above could connect there."""
        node, _ = split_relayed(place.node)
        return reachable(self.me.node, node, place.message) and is_port(place.connection)

    def confirmed_age_us(self) -> int:
        """Return the age limit of confirmed peers for the current number of sets."""
        return int(self.settings.confirmed_age_us * sqrt(max(self.unconfirmed.depth(), 1)))

    def peer_bytes(self, peer: Peer) -> bytes:
        """Return the subject of a cookie for *peer*."""
        return bytes((len(peer.node),)) + peer.node + peer.message
