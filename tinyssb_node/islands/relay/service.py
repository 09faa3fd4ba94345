"""A relay: connections and their messages in, messages and ends of connections out (docs/formats/relay.md).

It opens no connection and sends no datagram, so it cannot be used to reach an address (reflection, port scans): it
joins two connections that both sides opened to it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, TypeAlias

from tinyssb_node.islands.relay import limits
from tinyssb_node.islands.relay.messages import (
    RelayAccept,
    RelayCall,
    RelayCalled,
    RelayEnd,
    RelayJoined,
    RelayMessageError,
    RelayRegister,
    RelayRegistered,
    handle_of,
    parse_relay_request,
    serialize_relay,
)


@dataclass(frozen=True, slots=True)
class SendRelayed:
    """A message to be sent."""

    to: int
    """The connection."""
    data: bytes


@dataclass(frozen=True, slots=True)
class EndRelayed:
    """A connection to be closed."""

    connection: int
    reason: RelayEnd


RelayEffect: TypeAlias = SendRelayed | EndRelayed
_Registered: TypeAlias = tuple[bytes, bytes]
"""Group and handle of a registered node."""


@dataclass(slots=True)
class _Pair:
    """A call: two connections that are joined, or one that waits."""

    caller: int
    called: _Registered
    since_us: int
    """When it was called, or the last message came."""
    accepted: int | None = None

    def other(self, connection: int) -> int | None:
        """Return the connection at the other side."""
        return self.accepted if connection == self.caller else self.caller


class RelayQuota:
    """Bytes that a relay passes on within an hour: of all, and of each address."""

    def __init__(self, most: int, now_us: int) -> None:
        self.most: Final = most
        """Bytes of all in an hour."""
        self.used = 0
        """Those of this hour."""
        self._since_us = now_us
        self._by_address: dict[str, int] = {}

    def left(self, address: str, now_us: int) -> int:
        """Return the bytes that *address* may still cause in this hour."""
        if now_us - self._since_us >= limits.HOUR_US:
            self._since_us, self.used = now_us, 0
            self._by_address.clear()
        if address not in self._by_address and len(self._by_address) >= limits.ADDRESSES_MAX:
            return 0
        each = self.most // limits.SHARE - self._by_address.get(address, 0)
        return max(0, min(each, self.most - self.used))

    def spend(self, addresses: Collection[str], size: int, now_us: int) -> bool:
        """Charge *size* bytes to both ends. Return False, and charge nothing, if one of them has too few left: it gets
        nothing more in this hour."""
        short = [address for address in addresses if self.left(address, now_us) < size]
        if short:
            self._by_address |= dict.fromkeys(short, self.most // limits.SHARE)
            return False
        self.used += size
        for address in addresses:
            self._by_address[address] = self._by_address.get(address, 0) + size
        return True


class RelayService:
    """The relay of a gateway, for its networks."""

    def __init__(
        self, groups: Collection[bytes], entropy: Callable[[int], bytes], quota: int, now_us: int
    ) -> None:
        """Serve the networks with these group identifiers. *entropy* returns so many random bytes; *quota* are the
        bytes that are passed on in an hour."""
        self._groups = frozenset(groups)
        self._entropy = entropy
        self.quota: Final = RelayQuota(quota, now_us)
        self._addresses: dict[int, str] = {}
        """Of all connections."""
        self._new: dict[int, int] = {}
        """Connections that have not said what they want, and since when they are open, the oldest first."""
        self._registered: dict[_Registered, int] = {}
        self._keys: dict[int, _Registered] = {}
        """The same, by connection."""
        self._pairs: dict[int, _Pair] = {}
        """By both connections."""
        self._tickets: dict[bytes, _Pair] = {}
        """Calls that wait to be accepted, the oldest first."""
        self.refused = 0
        """Connections ended for want of a place or quota."""
        self.refused_bytes = 0
        """Those of them for want of quota."""
        self.refused_us: int | None = None
        """When the last one was; None: none was."""

    @property
    def registered(self) -> int:
        """Nodes that can be called."""
        return len(self._registered)

    @property
    def pairs(self) -> int:
        """Calls that are joined, or wait."""
        return len({id(pair) for pair in self._pairs.values()})

    # --- connections

    def opened(self, connection: int, address: str, now_us: int) -> None:
        """A node has connected: *connection* is any number that no other one has, *address* that of one person."""
        self._addresses[connection], self._new[connection] = address, now_us

    def closed(self, connection: int) -> list[RelayEffect]:
        """A connection has ended, by whomever."""
        self._leave(connection)
        pair = self._pairs.pop(connection, None)
        if pair is None:
            return []
        self._forget(pair)
        other = pair.other(connection)
        return [] if other is None else self._end(other, RelayEnd.GONE)

    def receive(self, connection: int, data: bytes, now_us: int) -> list[RelayEffect]:
        """Handle a message."""
        effects = self._expire(now_us)
        if connection not in self._addresses:
            return effects  # it has been ended, and its shell does not know yet
        pair = self._pairs.get(connection)
        if pair is not None:
            return effects + self._pass_on(pair, connection, data, now_us)
        try:
            request = parse_relay_request(data)
        except RelayMessageError:
            return effects + self._end(connection, RelayEnd.MALFORMED)
        if connection in self._keys:
            return effects + self._end(connection, RelayEnd.MALFORMED)
        self._new.pop(connection, None)
        match request:
            case RelayRegister():
                return effects + self._register(connection, request, now_us)
            case RelayCall():
                return effects + self._call(connection, request, now_us)
            case RelayAccept():
                return effects + self._accept(connection, request, now_us)

    def look(self, now_us: int) -> list[RelayEffect]:
        """End calls that nobody accepted, and connections that say nothing; once a second is enough."""
        return self._expire(now_us)

    # --- registered nodes

    def _register(self, connection: int, request: RelayRegister, now_us: int) -> list[RelayEffect]:
        key = (request.group, handle_of(request.secret))
        if request.group not in self._groups:
            return self._end(connection, RelayEnd.UNKNOWN)
        effects: list[RelayEffect] = []
        before = self._registered.get(key)
        if before is not None:
            effects += self._end(before, RelayEnd.REPLACED)
        mine = self._addresses[connection]
        same = sum(self._addresses[other] == mine for other in self._registered.values())
        if len(self._registered) >= limits.REGISTERED_MAX or same >= limits.REGISTERED_EACH_MAX:
            return effects + self._refuse(connection, RelayEnd.FULL, now_us)
        self._registered[key], self._keys[connection] = connection, key
        return [*effects, SendRelayed(connection, serialize_relay(RelayRegistered(key[1])))]

    # --- calls

    def _call(self, connection: int, request: RelayCall, now_us: int) -> list[RelayEffect]:
        key = (request.group, request.handle)
        called = self._registered.get(key)
        if called is None:
            return self._end(connection, RelayEnd.UNKNOWN)
        mine = self._addresses[connection]
        if not all(self.quota.left(address, now_us) for address in (mine, self._addresses[called])):
            return self._refuse(connection, RelayEnd.QUOTA, now_us)
        pairs = list({id(pair): pair for pair in self._pairs.values()}.values())
        same = sum(self._addresses[pair.caller] == mine for pair in pairs)
        same = max(same, sum(pair.called == key for pair in pairs))
        effects: list[RelayEffect] = []
        if same >= limits.PAIRS_EACH_MAX:
            return self._refuse(connection, RelayEnd.FULL, now_us)
        if len(pairs) >= limits.PAIRS_MAX:
            idle = min(pairs, key=lambda pair: pair.since_us)
            if now_us - idle.since_us < limits.IDLE_US:
                return self._refuse(connection, RelayEnd.FULL, now_us)
            effects += self._end_pair(idle, RelayEnd.REPLACED)
        pair = _Pair(connection, key, now_us)
        ticket = self._entropy(limits.TICKET_SIZE)
        self._pairs[connection] = self._tickets[ticket] = pair
        return [*effects, SendRelayed(called, serialize_relay(RelayCalled(ticket)))]

    def _accept(self, connection: int, request: RelayAccept, now_us: int) -> list[RelayEffect]:
        pair = self._tickets.pop(request.ticket, None)
        if pair is None:
            return self._end(connection, RelayEnd.UNKNOWN)
        pair.accepted, pair.since_us = connection, now_us
        self._pairs[connection] = pair
        joined = serialize_relay(RelayJoined())
        return [SendRelayed(pair.caller, joined), SendRelayed(connection, joined)]

    def _pass_on(self, pair: _Pair, connection: int, data: bytes, now_us: int) -> list[RelayEffect]:
        other = pair.other(connection)
        if other is None:
            return self._end_pair(pair, RelayEnd.MALFORMED)  # it does not wait until it is joined
        addresses = {self._addresses[connection], self._addresses[other]}
        if not self.quota.spend(addresses, len(data), now_us):
            self._count_refusal(RelayEnd.QUOTA, now_us)
            return self._end_pair(pair, RelayEnd.QUOTA)
        pair.since_us = now_us
        return [SendRelayed(other, data)]

    # --- ends

    def _expire(self, now_us: int) -> list[RelayEffect]:
        effects: list[RelayEffect] = []
        while self._new and now_us - next(iter(self._new.values())) >= limits.CALL_WAIT_US:
            effects += self._end(next(iter(self._new)), RelayEnd.TIMEOUT)
        while self._tickets:
            pair = next(iter(self._tickets.values()))
            if now_us - pair.since_us < limits.CALL_WAIT_US:
                break
            effects += self._end_pair(pair, RelayEnd.TIMEOUT)
        return effects

    def _end_pair(self, pair: _Pair, reason: RelayEnd) -> list[RelayEffect]:
        effects = self._end(pair.caller, reason)
        return effects if pair.accepted is None else effects + self._end(pair.accepted, reason)

    def _forget(self, pair: _Pair) -> None:
        for connection in (pair.caller, pair.accepted):
            if connection is not None:
                self._pairs.pop(connection, None)
        for ticket in [ticket for ticket, waiting in self._tickets.items() if waiting is pair]:
            del self._tickets[ticket]

    def _leave(self, connection: int) -> None:
        self._addresses.pop(connection, None)
        self._new.pop(connection, None)
        key = self._keys.pop(connection, None)
        if key is not None:
            del self._registered[key]

    def _refuse(self, connection: int, reason: RelayEnd, now_us: int) -> list[RelayEffect]:
        self._count_refusal(reason, now_us)
        return self._end(connection, reason)

    def _count_refusal(self, reason: RelayEnd, now_us: int) -> None:
        self.refused += 1
        self.refused_bytes += reason is RelayEnd.QUOTA
        self.refused_us = now_us

    def _end(self, connection: int, reason: RelayEnd) -> list[RelayEffect]:
        pair = self._pairs.get(connection)
        if pair is not None:
            self._forget(pair)
        self._leave(connection)
        return [EndRelayed(connection, reason)]
