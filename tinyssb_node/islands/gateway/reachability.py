"""Who we are to others, whom to ask first, and whether there is a way to them at all."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.config import GatewayConfig
from tinyssb_node.islands.gateway.datagrams import address_towards, resolve
from tinyssb_node.islands.locator.addresses import (
    ContactAddress,
    Peer,
    Scope,
    peer_of,
    port_of,
    scope_of,
)

NOWHERE: Final = ContactAddress(b"", port_of(0), port_of(0))
"""Who cannot be reached from outside."""
_IPV4_SIZE: Final = 4
_ANY: Final = {"", "0.0.0.0", "::"}  # noqa: S104 - compared with, not listened on


class Reachability:
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
        self._due_us: dict[tuple[str, int], int] = {}
        """When a name is to be looked up again."""
        self._asking: asyncio.Task[None] | None = None
        self._changed = False
        """Addresses were found that nobody was told of."""
        self.me: ContactAddress | None = None
        """Where others reach us; None: not known yet."""
        self.away = False
        """True while there is no way to others."""

    @property
    def first(self) -> Sequence[Peer]:
        """Whom to ask first, as far as their addresses are known, and we can send there."""
        found = [self._found[peer] for peer in self._peers if peer in self._found]
        return [peer for peer in found if self._can_send(peer)]

    @property
    def passed_over(self) -> Mapping[str, str]:
        """Which peers of the settings are not asked, as they are written there, and why."""
        return {
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}": why
            for host, port in self._peers
            if (why := self._why_not((host, port)))
        }

    def _why_not(self, name: tuple[str, int]) -> str | None:
        found = self._found.get(name)
        if found is None:
            return "no address is found for that name" if name in self._due_us else None
        if not self._can_send(found):
            return "its address is one of IPv6, and `gateway.listen` one of IPv4"
        if self.me is not None and self.me.node == found.node:
            return (
                "it has our own address: nodes of the locator are told apart by that, and not by their port"
            )
        return None

    def _can_send(self, peer: Peer) -> bool:
        return self._ipv6 or len(peer.node) == _IPV4_SIZE

    def look(self, now_us: int) -> bool:
        """Look. True if the locator is to begin, anew or at all: we are somebody else, know of others to ask first, or
        were away."""
        self._look_up(now_us)
        first = self.first
        try:
            ours = self._ours(first)
        except OSError:
            # The system has no socket for us: all stays as it was until it has.
            return False
        was_away, self.away = self.away, ours is None and bool(first or not self._stated)
        if self.away:
            return False
        if was_away:
            # Names may mean other addresses where we are now.
            self._due_us.clear()
        before, self.me = self.me, self._place(ours, first)
        changed, self._changed = self._changed, False
        return was_away or changed or before != self.me

    async def close(self) -> None:
        """Look up no more names."""
        if self._asking is not None:
            self._asking.cancel()
            with suppress(asyncio.CancelledError):
                await self._asking

    def _ours(self, first: Sequence[Peer]) -> bytes | None:
        """The address of ours towards the first of them that there is a way to."""
        found = (self._towards(peer) for peer in first or (None,))
        return next((address for address in found if address is not None), None)

    def _place(self, ours: bytes | None, first: Sequence[Peer]) -> ContactAddress:
        if self._stated is not None:
            stated = self._found.get(self._stated)
            return NOWHERE if stated is None else ContactAddress(stated.node, stated.message, stated.message)
        assert ours is not None, "else we are away"
        others = max((scope_of(peer.node) for peer in first), default=Scope.NOWHERE)
        if scope_of(ours) < Scope.GLOBAL <= others:
            return NOWHERE  # behind a router
        return ContactAddress(ours, self._port, self._port)

    def _look_up(self, now_us: int) -> None:
        """Look names up now and again: soon if one was not found yet, else as the line of a home may get another
        address."""
        due = [name for name in self._names - self._literal if self._due_us.get(name, now_us) <= now_us]
        if due and self._asking is None:
            self._asking = asyncio.create_task(self._ask(due, now_us))

    async def _ask(self, names: Sequence[tuple[str, int]], now_us: int) -> None:
        try:
            for name in names:
                found = await self._resolve(*name)
                found = [peer for peer in found if self._can_send(peer)] or found
                # A name with several addresses tells them in another order each time.
                if found and self._found.get(name) not in found:
                    self._found[name] = found[0]
                    self._changed = True
                again_us = limits.RESOLVE_AGAIN_US if name in self._found else limits.RESOLVE_US
                self._due_us[name] = now_us + again_us
        finally:
            self._asking = None
