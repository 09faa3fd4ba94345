"""Peer discovery by pings and pongs (text, "Peer discovery")."""

from math import sqrt
from typing import Final

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.context import CookiePurpose, LocatorContext
from tinyssb_node.islands.locator.packets import LocatorPing, LocatorPong
from tinyssb_node.islands.locator.peers import ConfirmedPeer, quasi_period_us
from tinyssb_node.islands.locator.values import NodeParameters, label_of_address

PING: Final = "ping"
HISTORIC: Final = "historic"


class PeerDiscovery:
    """Discovery of peers, and replies to nodes that look for peers."""

    def __init__(self, context: LocatorContext, now_us: int) -> None:
        self._context = context
        self._begun_us = now_us
        self._young_since_us = now_us
        """When we first confirmed a peer, or began to look for one."""
        self.checks: dict[Peer, int] = {}
        """Pings left for each confirmed peer that is being checked."""
        context.timers.set(PING, now_us)
        context.timers.set(
            HISTORIC, now_us + quasi_period_us(context.chance, context.settings.historic_period_us)
        )

    # --- by ourselves

    def ping(self, now_us: int) -> None:
        """Ping an unconfirmed peer, or a historic one; then wait."""
        context = self._context
        context.timers.set(PING, now_us + quasi_period_us(context.chance, self.ping_period_us(now_us)))
        peer = context.historic.pick() if context.unconfirmed.wants_historic() else None
        peer = peer or context.unconfirmed.take()
        if peer is not None and context.may_send(peer):
            self._ping(peer, now_us)

    def _ping(self, peer: Peer, now_us: int) -> None:
        context = self._context
        cookie = context.cookies.make(CookiePurpose.PONG, context.peer_bytes(peer), now_us)
        context.send(peer, LocatorPing(context.me_to(peer.node).peer, cookie))

    def check(self, one: ConfirmedPeer, now_us: int) -> None:
        """Ping a peer that was just sent a message without acknowledgement, unless it was confirmed lately."""
        if now_us - one.added_us >= limits.CHECK_AFTER_US and one.peer not in self.checks:
            self.checks[one.peer] = limits.CHECK_PINGS
            self.check_on(one.peer, now_us)

    def check_on(self, peer: Peer, now_us: int) -> None:
        """Ping it again, or remove it from the confirmed peers."""
        context = self._context
        one, left = context.confirmed.get(peer), self.checks.pop(peer)
        if one is None or now_us - one.added_us < limits.CHECK_AFTER_US:
            return
        if left == 0:
            context.confirmed.remove(peer)
            return
        self.checks[peer] = left - 1
        self._ping(peer, now_us)
        # A second: answers from the other side of the world take a third of it.
        context.timers.set(peer, now_us + 1_000_000)

    def ping_period_us(self, now_us: int) -> float:
        """Return the time between two pings: short for a young node, longer the older it is."""
        context = self._context
        longest = context.settings.ping_period_us / sqrt(max(context.unconfirmed.levels(), 1))
        if not len(context.confirmed):
            # Without confirmed peers: 2 kB an hour, and back within a minute.
            longest = min(longest, 60_000_000)
        # 12 pings while its age grows by a factor e, 80 in the first half hour.
        youth_us = (now_us - self._young_since_us) / 12
        return min(max(youth_us, limits.PING_FIRST_US), longest)

    def remember(self, now_us: int) -> None:
        """Add a confirmed peer to the historic ones; then wait for the next period."""
        context = self._context
        context.timers.set(
            HISTORIC, now_us + quasi_period_us(context.chance, context.settings.historic_period_us)
        )
        chosen = context.confirmed.choose()
        if chosen is not None:
            context.historic.add(chosen.peer)

    # --- when a message comes

    def on_ping(self, ping: LocatorPing, source: Peer, now_us: int) -> None:
        """Reply to the source address, whatever address the ping claims: only a node there can have asked."""
        context = self._context
        if ping.sender == source and source not in context.confirmed:
            context.mark_reached()
        fresh = context.cookies.make(CookiePurpose.PONG, context.peer_bytes(source), now_us)
        self._pong(source, fresh, ping.cookie, now_us)

    def on_pong(self, pong: LocatorPong, source: Peer, now_us: int) -> None:
        """Confirm a peer that answered our cookie, add the peers that it names, and answer its own cookie."""
        context = self._context
        rtt_us = context.cookies.age_us(
            pong.copied, CookiePurpose.PONG, context.peer_bytes(source), now_us, limits.PONG_WAIT_US
        )
        if rtt_us is None:
            context.drop("cookie")
            return
        context.proved.put(source, None, now_us)
        if pong.sender.peer == source and context.may_send(source):
            if not len(context.confirmed):
                self._be_young(now_us)
            context.confirmed.add(pong.sender, rtt_us, pong.parameters, now_us)
        for other in pong.others[: limits.PONG_PEERS_TAKEN]:
            if context.may_send(other):
                context.unconfirmed.add(other)
        if pong.fresh is not None:
            self._pong(source, None, pong.fresh, now_us)

    def _be_young(self, now_us: int) -> None:
        """Ping as often as after a start: no peer was confirmed before."""
        self._young_since_us = now_us
        self._context.timers.set(PING, now_us + quasi_period_us(self._context.chance, limits.PING_FIRST_US))

    def _pong(self, to: Peer, fresh: bytes | None, copied: bytes, now_us: int) -> None:
        context = self._context
        stated = context.node
        parameters = NodeParameters(
            max(0, now_us - self._begun_us) // 1_000_000, stated.bandwidth_bps, stated.free_bytes
        )
        others, me = self._others(to), context.me_to(to.node)
        most = min(context.credit_of(to, now_us), limits.DATAGRAM_MAX)
        pong = LocatorPong(fresh, copied, me, tuple(others), parameters)
        while others and len(context.bytes_of(pong)) > most:
            others.pop()
            pong = LocatorPong(fresh, copied, me, tuple(others), parameters)
        context.answer(to, pong, now_us)

    def _others(self, to: Peer) -> list[Peer]:
        context = self._context
        others: dict[Peer, None] = {}
        label = label_of_address(to.node)
        for _ in range(context.settings.pong_peers):
            chosen = context.confirmed.choose_near(label)
            if chosen is not None and chosen.place.node != to.node:
                others[chosen.peer] = None
        return list(others)
