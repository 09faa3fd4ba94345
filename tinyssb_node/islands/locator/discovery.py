"""Pings and pongs: who is there (text, "Peer discovery")."""

from math import sqrt
from typing import Final

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.confirmed import ConfirmedPeer
from tinyssb_node.islands.locator.context import LocatorContext
from tinyssb_node.islands.locator.cookies import CookiePurpose
from tinyssb_node.islands.locator.labels import label_of_address
from tinyssb_node.islands.locator.packets import LocatorPing, LocatorPong
from tinyssb_node.islands.locator.randomness import quasi_period_us
from tinyssb_node.islands.locator.values import NodeParameters

PING: Final = "ping"
HISTORIC: Final = "historic"


class PeerDiscovery:
    """Finds peers, and answers those who look for some."""

    def __init__(self, desk: LocatorContext, now_us: int) -> None:
        self._desk = desk
        self._begun_us = now_us
        self._young_since_us = now_us
        """When we began to know somebody, or to look for anybody."""
        self._checks: dict[Peer, int] = {}
        """Pings that are left, of confirmed peers that are asked whether they are still there."""
        desk.timers.set(PING, now_us)
        desk.timers.set(HISTORIC, now_us + quasi_period_us(desk.chance, desk.settings.historic_period_us))

    # --- by ourselves

    def ping(self, now_us: int) -> None:
        """Ping a peer that was heard of, or a historic one; then wait."""
        desk = self._desk
        desk.timers.set(PING, now_us + quasi_period_us(desk.chance, self._period_us(now_us)))
        peer = desk.historic.pick() if desk.unconfirmed.wants_historic() else None
        peer = peer or desk.unconfirmed.take()
        if peer is not None and desk.may_send(peer):
            self._ping(peer, now_us)

    def _ping(self, peer: Peer, now_us: int) -> None:
        desk = self._desk
        cookie = desk.cookies.make(CookiePurpose.PONG, desk.peer_bytes(peer), now_us)
        desk.send(peer, LocatorPing(desk.me.peer, cookie))

    def check(self, one: ConfirmedPeer, now_us: int) -> None:
        """It was just sent a message that nobody acknowledges: ask it whether it is there, unless it said so lately."""
        if now_us - one.added_us >= limits.CHECK_AFTER_US and one.peer not in self._checks:
            self._checks[one.peer] = limits.CHECK_PINGS
            self.check_on(one.peer, now_us)

    def check_on(self, peer: Peer, now_us: int) -> None:
        """Ping it again, or give it up."""
        desk = self._desk
        one, left = desk.confirmed.get(peer), self._checks.pop(peer)
        if one is None or now_us - one.added_us < limits.CHECK_AFTER_US:
            return
        if left == 0:
            desk.confirmed.remove(peer)
            return
        self._checks[peer] = left - 1
        self._ping(peer, now_us)
        desk.timers.set(peer, now_us + limits.CHECK_GAP_US)

    def _period_us(self, now_us: int) -> float:
        desk = self._desk
        longest = desk.settings.ping_period_us / sqrt(max(desk.unconfirmed.levels(), 1))
        if not len(desk.confirmed):
            longest = min(longest, limits.PING_LONELY_US)
        youth_us = (now_us - self._young_since_us) / limits.PING_YOUTH
        return min(max(youth_us, limits.PING_FIRST_US), longest)

    def remember(self, now_us: int) -> None:
        """Add a confirmed peer to the historic ones; then wait."""
        desk = self._desk
        desk.timers.set(HISTORIC, now_us + quasi_period_us(desk.chance, desk.settings.historic_period_us))
        chosen = desk.confirmed.choose()
        if chosen is not None:
            desk.historic.add(chosen.peer)

    # --- when a message comes

    def ping_came(self, ping: LocatorPing, source: Peer, size: int, now_us: int) -> None:
        """Answer to where it came from, whatever address it claims: only who is there can have asked."""
        desk = self._desk
        if ping.sender == source and source not in desk.confirmed:
            desk.reached = True
        fresh = desk.cookies.make(CookiePurpose.PONG, desk.peer_bytes(source), now_us)
        self._pong(source, fresh, ping.cookie, size, now_us)

    def pong_came(self, pong: LocatorPong, source: Peer, size: int, now_us: int) -> None:
        """Somebody answered our cookie: it is there. Take whom it names, and answer its own cookie."""
        desk = self._desk
        rtt_us = desk.cookies.age_us(
            pong.copied, CookiePurpose.PONG, desk.peer_bytes(source), now_us, limits.PONG_WAIT_US
        )
        if rtt_us is None:
            desk.drop("cookie")
            return
        desk.proved.put(source, None, now_us)
        if pong.sender.peer == source and desk.may_send(source):
            if not len(desk.confirmed):
                self._be_young(now_us)
            desk.confirmed.add(pong.sender, rtt_us, pong.parameters, now_us)
        for other in pong.others[: limits.PONG_PEERS_TAKEN]:
            if desk.may_send(other):
                desk.unconfirmed.add(other)
        if pong.fresh is not None:
            self._pong(source, None, pong.fresh, size, now_us)

    def _be_young(self, now_us: int) -> None:
        """Look around as at the start: we were alone."""
        self._young_since_us = now_us
        self._desk.timers.set(PING, now_us + quasi_period_us(self._desk.chance, limits.PING_FIRST_US))

    def _pong(self, to: Peer, fresh: bytes | None, copied: bytes, size: int, now_us: int) -> None:
        desk = self._desk
        stated = desk.settings.node
        parameters = NodeParameters(
            max(0, now_us - self._begun_us) // 1_000_000, stated.bandwidth_bps, stated.free_bytes
        )
        others = self._others(to)
        budget = desk.budget(to, size, now_us)
        most = limits.DATAGRAM_MAX if budget is None else min(budget, limits.DATAGRAM_MAX)
        pong = LocatorPong(fresh, copied, desk.me, tuple(others), parameters)
        while others and len(desk.bytes_of(pong)) > most:
            others.pop()
            pong = LocatorPong(fresh, copied, desk.me, tuple(others), parameters)
        desk.send(to, pong, most)

    def _others(self, to: Peer) -> list[Peer]:
        desk = self._desk
        others: dict[Peer, None] = {}
        label = label_of_address(to.node)
        for _ in range(desk.settings.pong_peers):
            chosen = desk.confirmed.choose_near(label)
            if chosen is not None and chosen.place.node != to.node:
                others[chosen.peer] = None
        return list(others)
