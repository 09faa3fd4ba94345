"""The devices that a Bluetooth central has met, and the times to try each of them. Pure."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.faces.backoff import Backoff


@dataclass(slots=True)
class _Acquaintance:
    """A device that was found before."""

    backoff: Backoff
    linked_s: float | None = None
    """Since when there is a link; None: there is none."""
    not_before_s: float = 0.0
    """Earliest time of the next attempt."""


class BleRoster:
    """A bounded number of remembered addresses; an evicted one counts as new."""

    def __init__(self, links: int, backoff: Callable[[], Backoff]) -> None:
        """At most *links* links at a time; *backoff* makes a back-off for a new device."""
        self._backoff = backoff
        self._links = links
        self._known: OrderedDict[str, _Acquaintance] = OrderedDict()

    @property
    def linked(self) -> int:
        """Links there are."""
        return sum(one.linked_s is not None for one in self._known.values())

    @property
    def is_full(self) -> bool:
        """True if there are as many links as allowed."""
        return self.linked >= self._links

    def due(self, found: Sequence[str], now_s: float) -> list[str]:
        """Return those of *found* to try now, not more than there is room for."""
        return [address for address in found if self._is_due(address, now_s)][: self._links - self.linked]

    def _is_due(self, address: str, now_s: float) -> bool:
        one = self._known.get(address)
        return one is None or (one.linked_s is None and now_s >= one.not_before_s)

    def up(self, address: str, now_s: float) -> None:
        """There is a link to *address* now."""
        self._meet(address).linked_s = now_s

    def down(self, address: str, now_s: float) -> None:
        """Record that the link to *address* ended, or failed: it is tried again later, each time after twice as
        long."""
        one = self._meet(address)
        if one.linked_s is not None:
            one.backoff.link_was_up(now_s - one.linked_s)
        one.linked_s = None
        one.not_before_s = now_s + one.backoff.next_s()

    def is_phone(self, address: str, now_s: float) -> None:
        """Record that *address* is a phone, which connects by itself: it is not tried while it keeps that address."""
        self._meet(address).not_before_s = now_s + limits.BLE_PHONE_REST_S

    def _meet(self, address: str) -> _Acquaintance:
        one = self._known.setdefault(address, _Acquaintance(self._backoff()))
        self._known.move_to_end(address)
        if len(self._known) > limits.BLE_KNOWN_MAX:
            oldest = next(name for name, other in self._known.items() if other.linked_s is None)
            del self._known[oldest]
        return one
