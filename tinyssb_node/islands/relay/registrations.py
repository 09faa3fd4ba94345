"""Relays that a node which cannot be reached registers at: which, and when. Pure."""

from collections.abc import Callable, Collection, Sequence

from tinyssb_node.islands.locator.addresses import ContactAddress, relayed
from tinyssb_node.islands.locator.limits import RELAYS_OF_ONE_MAX
from tinyssb_node.islands.relay import limits


class RelayRegistrations:
    """Registrations of one node in one network."""

    def __init__(self, entropy: Callable[[], float]) -> None:
        """*entropy* returns numbers in [0, 1): nodes that start together must not choose the same relays."""
        self._entropy = entropy
        self._handles: dict[ContactAddress, bytes | None] = {}
        """By relay: our handle there; None while we register."""
        self._resting: dict[ContactAddress, int] = {}
        """Until when relays are not called again."""

    @property
    def relays(self) -> Collection[ContactAddress]:
        """The relays that are called, registered at or not yet."""
        return self._handles.keys()

    @property
    def places(self) -> tuple[ContactAddress, ...]:
        """Our locations at relays."""
        return tuple(relayed(relay, handle) for relay, handle in self._handles.items() if handle is not None)

    def choose(self, peers: Sequence[ContactAddress], now_us: int) -> list[ContactAddress]:
        """Return relays to register at, of *peers*: as many as are missing, each at another address."""
        for relay in [relay for relay, until_us in self._resting.items() if until_us <= now_us]:
            del self._resting[relay]
        chosen: list[ContactAddress] = []
        while len(self._handles) < RELAYS_OF_ONE_MAX:
            used = {relay.node for relay in self._handles}
            free = [peer for peer in peers if peer.node not in used and peer not in self._resting]
            if not free:
                break
            relay = free[int(self._entropy() * len(free))]
            self._handles[relay] = None
            chosen.append(relay)
        return chosen

    def registered(self, relay: ContactAddress, handle: bytes) -> None:
        """Note that *relay* knows us by *handle* now."""
        if relay in self._handles:
            self._handles[relay] = handle

    def lost(self, relay: ContactAddress, now_us: int) -> None:
        """Note that the connection to *relay* ended, or that it refused us: then for longer."""
        rest_us = limits.REFUSED_REST_US if self._handles.pop(relay, None) is None else limits.REST_US
        self._resting[relay] = now_us + rest_us
        if len(self._resting) > limits.RESTING_MAX:
            del self._resting[next(iter(self._resting))]
