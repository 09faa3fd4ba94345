"""Whom a Bluetooth central has met, and whom it tries when. Pure."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.faces.backoff import Backoff


@dataclass(slots=True)
class _Acquaintance:
    """Somebody that was found once."""

    backoff: Backoff
    linked_s: float | None = None
    """Since when there is a link; None: there is none."""
    not_before_s: float = 0.0
    """When to try next, at the earliest."""


class BleRoster:
    """Remembers a bounded number of addresses; whom it forgot is somebody new."""

    def __init__(self, links: int, backoff: Callable[[], Backoff]) -> None:
        """At most *links* links at a time; *backoff* makes a back-off for somebody new."""
        self._backoff = backoff
        self._links = links
        self._known: OrderedDict[str, _Acquaintance] = OrderedDict()

    @property
    def linked(self) -> int:
        """Links there are."""
        return sum(one.linked_s is not None for one in self._known.values())

    @property
    def is_full(self) -> bool:
        """Whether there are all the links there may be."""
        return self.linked >= self._links

    def due(self, found: Sequence[str], now_s: float) -> list[str]:
        """Those of *found* to try now, not more than there is room for."""
        return [address for address in found if self._is_due(address, now_s)][: self._links - self.linked]

    def _is_due(self, address: str, now_s: float) -> bool:
        one = self._known.get(address)
        return one is None or (one.linked_s is None and now_s >= one.not_before_s)

    def up(self, address: str, now_s: float) -> None:
        """There is a link to *address* now."""
        self._meet(address).linked_s = now_s

    def down(self, address: str, now_s: float) -> None:
        """The link to *address* ended, or could not be had: it is tried again later, each time after twice as long."""
        one = self._meet(address)
        if one.linked_s is not None:
            one.backoff.held(now_s - one.linked_s)
        one.linked_s = None
        one.not_before_s = now_s + one.backoff.next_s()

    def is_phone(self, address: str, now_s: float) -> None:
        """*address* is a phone, which comes by itself: not to be tried while it keeps that address."""
        self._meet(address).not_before_s = now_s + limits.BLE_PHONE_REST_S

    def _meet(self, address: str) -> _Acquaintance:
        one = self._known.setdefault(address, _Acquaintance(self._backoff()))
        self._known.move_to_end(address)
        if len(self._known) > limits.BLE_KNOWN_MAX:
            oldest = next(name for name, other in self._known.items() if other.linked_s is None)
            del self._known[oldest]
        return one
