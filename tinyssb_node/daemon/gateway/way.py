"""Who we are to others, whom to ask first, and whether there is a way to them at all."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from tinyssb_node.daemon.gateway import limits
from tinyssb_node.daemon.gateway.config import GatewayConfig
from tinyssb_node.daemon.gateway.datagrams import address_towards, resolve
from tinyssb_node.locator.addresses import Peer, Place, Scope, peer_of, port_of, scope_of

NOWHERE: Final = Place(b"", port_of(0), port_of(0))
"""Who cannot be reached from outside."""
_IPV4_SIZE: Final = 4
_ANY: Final = {"", "0.0.0.0", "::"}  # noqa: S104 - compared with, not listened on


class Way:
    """Looked at once a second: a cable is plugged in, a router gives another address, a name is found at last."""

    def __init__(
        self,
        settings: GatewayConfig,
        port: int,
        *,
        ipv6: bool,
        towards: Callable[[Peer | None], bytes | None] = address_towards,
        resolve: Callable[[str, int], Awaitable[Sequence[Peer]]] = resolve,
    ) -> None:
        """*port* is what is listened on, *ipv6* whether that reaches such addresses. *towards* and *resolve* ask the
        system."""
        host = settings.listen[0]
        self._stated = settings.public or (None if host in _ANY else (host, port))
        self._peers = settings.peers
        self._port = port_of(port)
        self._ipv6 = ipv6
        self._towards = towards
        self._resolve = resolve
        self._names = {*settings.peers, *((self._stated,) if self._stated else ())}
        self._found: dict[tuple[str, int], Peer] = {}
        """Addresses of them."""
        for name in self._names:
            with suppress(ValueError):
                self._found[name] = peer_of(*name)
        self._literal = frozenset(self._found)
        """Those of them that are addresses, and need no looking up."""
        self._asked_us: int | None = None
        self._asking: asyncio.Task[None] | None = None
        self._changed = False
        """Addresses were found that nobody was told of."""
        self.me: Place | None = None
        """Where others reach us; None: not known yet."""
        self.away = False
        """True while there is no way to others."""

    @property
    def first(self) -> Sequence[Peer]:
        """Whom to ask first, as far as their addresses are known."""
        return [self._found[peer] for peer in self._peers if peer in self._found]

    def look(self, now_us: int) -> bool:
        """Look. True if the locator is to begin, anew or at all: we are somebody else, know of others to ask first, or
        were away."""
        self._look_up(now_us)
        first = self.first
        ours = self._towards(first[0] if first else None)
        was_away, self.away = self.away, ours is None and bool(first or not self._stated)
        if self.away:
            return False
        if was_away:
            # Names may mean other addresses where we are now.
            self._asked_us = None
        before, self.me = self.me, self._place(ours, first)
        changed, self._changed = self._changed, False
        return was_away or changed or before != self.me

    async def close(self) -> None:
        """Look up no more names."""
        if self._asking is not None:
            self._asking.cancel()
            with suppress(asyncio.CancelledError):
                await self._asking

    def _place(self, ours: bytes | None, first: Sequence[Peer]) -> Place:
        if self._stated is not None:
            stated = self._found.get(self._stated)
            return NOWHERE if stated is None else Place(stated.node, stated.message, stated.message)
        assert ours is not None, "else we are away"
        others = max((scope_of(peer.node) for peer in first), default=Scope.NOWHERE)
        if scope_of(ours) < Scope.GLOBAL <= others:
            return NOWHERE  # behind a router
        return Place(ours, self._port, self._port)

    def _look_up(self, now_us: int) -> None:
        """Look names up now and again: soon if one was not found yet, else as the line of a home may get another
        address."""
        if self._asking is not None or self._names <= self._literal:
            return
        wait_us = limits.RESOLVE_AGAIN_US if self._found.keys() >= self._names else limits.RESOLVE_US
        if self._asked_us is None or now_us - self._asked_us >= wait_us:
            self._asked_us = now_us
            self._asking = asyncio.create_task(self._ask())

    async def _ask(self) -> None:
        for name in self._names - self._literal:
            found = [
                peer for peer in await self._resolve(*name) if self._ipv6 or len(peer.node) == _IPV4_SIZE
            ]
            # A name with several addresses tells them in another order each time.
            if found and self._found.get(name) not in found:
                self._found[name] = found[0]
                self._changed = True
        self._asking = None
