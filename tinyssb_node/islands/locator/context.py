"""What the activities of a locator have in common: who we are, whom we know, what goes out."""

from collections import Counter
from collections.abc import Sequence
from math import sqrt

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import (
    ContactAddress,
    Peer,
    Scope,
    is_port,
    reachable,
    scope_of,
)
from tinyssb_node.islands.locator.confirmed import ConfirmedPeers
from tinyssb_node.islands.locator.cookies import CookieMaker
from tinyssb_node.islands.locator.effects import Effect, SendDatagram
from tinyssb_node.islands.locator.expiring_map import ExpiringMap
from tinyssb_node.islands.locator.historic import HistoricPeers
from tinyssb_node.islands.locator.labels import label_of_address
from tinyssb_node.islands.locator.locations import LocationMap
from tinyssb_node.islands.locator.packets import Message, serialize, type_of
from tinyssb_node.islands.locator.randomness import LocatorRandomSource
from tinyssb_node.islands.locator.settings import LocatorSettings
from tinyssb_node.islands.locator.timers import LocatorTimers
from tinyssb_node.islands.locator.unconfirmed import UnconfirmedPeers


class LocatorContext:
    """Shared by discovery, upkeep and lookups."""

    def __init__(
        self,
        settings: LocatorSettings,
        me: ContactAddress,
        chance: LocatorRandomSource,
        secret: bytes,
        historic: Sequence[Peer],
    ) -> None:
        self.settings = settings
        self.me = me
        self.label = label_of_address(me.node or secret)
        """Ours. Who cannot be reached has one that nobody knows."""
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
        self.proved: ExpiringMap[Peer, None] = ExpiringMap(most=limits.PROVED_MAX, age_us=limits.PROVED_US)
        """Who answered a cookie lately, so that nobody else can make us send there what it did not ask for."""
        self.shunned: ExpiringMap[ContactAddress, None] = ExpiringMap(
            most=limits.SHUNNED_MAX, age_us=limits.PLACE_SHUN_US
        )
        """Locations that failed."""
        self.reached = False
        """True once somebody pinged us who did not know us from ourselves."""
        self.effects: list[Effect] = []
        """What the shell is to do or to know, as it comes."""
        self.sent: Counter[str] = Counter()
        self.sent_bytes = 0
        self.drops: Counter[str] = Counter()

    # --- saying

    def bytes_of(self, message: Message) -> bytes:
        """The datagram of *message*."""
        return serialize(message, self.settings.group)

    def send(self, to: Peer, message: Message, most: int = limits.DATAGRAM_MAX) -> int:
        """Send *message*, unless it has more than *most* bytes. Returns how many it has, 0 if it was not sent."""
        datagram = self.bytes_of(message)
        if len(datagram) > most:
            self.drop("amplified")
            return 0
        self.send_bytes(to, datagram, type_of(message).name)
        return len(datagram)

    def send_bytes(self, to: Peer, datagram: bytes, type_: str) -> None:
        """Send it as it is."""
        self.effects.append(SendDatagram(to, datagram))
        self.sent[type_.lower()] += 1
        self.sent_bytes += len(datagram)

    def drop(self, reason: str) -> None:
        """Count something that was not done."""
        self.drops[reason] += 1

    # --- judging

    def is_proved(self, peer: Peer, now_us: int) -> bool:
        """True if it answered a cookie lately: replies to it need no bound."""
        return peer in self.confirmed or self.proved.has(peer, now_us)

    def budget(self, peer: Peer, size: int, now_us: int) -> int | None:
        """Bytes that a request of *size* bytes may bring upon *peer*; None: as many as it takes."""
        return None if self.is_proved(peer, now_us) else limits.AMPLIFICATION * size

    def may_send(self, peer: Peer) -> bool:
        """True if its addresses are valid, and not ours."""
        return reachable(self.me.node, peer.node, peer.message) and peer.node != self.me.node

    def is_source(self, peer: Peer) -> bool:
        """True if a message can have come from there: from one node, and not from ourselves."""
        known = scope_of(peer.node) is not Scope.NOWHERE and is_port(peer.message)
        return known and peer.node != self.me.node

    def is_usable(self, place: ContactAddress) -> bool:
        """True if a layer above could connect there."""
        return reachable(self.me.node, place.node, place.message) and is_port(place.connection)

    def confirmed_age_us(self) -> int:
        """Age limit of confirmed peers, for as many sets as there are now."""
        return int(self.settings.confirmed_age_us * sqrt(max(self.unconfirmed.depth(), 1)))

    def peer_bytes(self, peer: Peer) -> bytes:
        """What a cookie for *peer* is about."""
        return bytes((len(peer.node),)) + peer.node + peer.message
