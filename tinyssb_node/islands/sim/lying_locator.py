"""A node of a distributed hash table that wants lookups to fail."""

import random
from typing import Final

from tinyssb_node.errors import PeerError
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer, port_of
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.packets import (
    LocatorPost,
    LocatorQuery,
    LocatorReport,
    parse,
    serialize,
)
from tinyssb_node.islands.locator.values import Advert, Effect, Location, ResourceParameters, SendDatagram
from tinyssb_node.islands.sim import limits


class LyingLocator:
    """A locator that is well-behaved to be known by many, and answers every query by places where nobody is.

    It passes no query on, and advertises its lies for what it was asked, so that others repeat them.
    """

    def __init__(self, locator: Locator, me: ContactAddress, group: bytes, chance: random.Random) -> None:
        self._locator: Final = locator
        self._me: Final = me
        self._group: Final = group
        self._chance: Final = chance

    def receive(self, datagram: bytes, source: Peer, now_us: int) -> list[Effect]:
        """Take what came."""
        try:
            message = parse(datagram, self._group)
        except PeerError:
            return []
        if not isinstance(message, LocatorQuery):
            return self._locator.receive(datagram, source, now_us)
        lies = tuple(self._lie() for _ in range(limits.LIES))
        to = message.requestor if message.requestor.node else source
        report = LocatorReport(None, message.cookie, message.label, lies)
        post = LocatorPost(tuple(Advert(message.label, lie) for lie in lies))
        victims = self._chance.sample(recent, 1) if (recent := self._locator.recent()) else []
        return [
            SendDatagram(to, serialize(report, self._group)),
            *(SendDatagram(victim, serialize(post, self._group)) for victim in victims),
        ]

    def _lie(self) -> Location:
        """A place where nobody is, which is said to have all and the newest."""
        node = bytes((limits.LIE_NET,)) + self._chance.randbytes(3)
        return Location(
            ContactAddress(node, self._me.message, port_of(1 + self._chance.randrange(60_000))),
            ResourceParameters(10**9),
        )

    def wake(self, now_us: int) -> list[Effect]:
        """Do what is due."""
        return self._locator.wake(now_us)

    def next_wake_us(self) -> int:
        """When that is."""
        return self._locator.next_wake_us()
