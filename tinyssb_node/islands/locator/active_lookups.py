"""Lookups of ours that go on: when each asks again, and what it is told."""

from dataclasses import dataclass

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.context import LocatorContext
from tinyssb_node.islands.locator.effects import LookupEnded, ResourceFound, ResourceNotFound
from tinyssb_node.islands.locator.errors import TooManyLookupsError
from tinyssb_node.islands.locator.labels import Label
from tinyssb_node.islands.locator.packets import RoutingHint
from tinyssb_node.islands.locator.randomness import quasi_period_us
from tinyssb_node.islands.locator.values import Location


@dataclass(slots=True)
class ActiveLookup:
    """One lookup."""

    hint: RoutingHint
    period_us: float
    """Until the next query."""
    asked: int = 0
    found: bool = False


class ActiveLookups:
    """Labels that the layer above is interested in."""

    def __init__(self, desk: LocatorContext) -> None:
        self._desk = desk
        self._seeks: dict[Label, ActiveLookup] = {}
        self._response_us: float | None = None
        """Average time from a query to a report, the latest counting most."""

    def __len__(self) -> int:
        return len(self._seeks)

    def begin(self, label: Label, hint: RoutingHint) -> bool:
        """Be interested in *label*. False if we are already. Raises TooManyLookupsError."""
        if label in self._seeks:
            return False
        if len(self._seeks) >= limits.SEEKS_MAX:
            raise TooManyLookupsError(limits.SEEKS_MAX)
        period_us: float = self._desk.settings.query_period_us
        if self._response_us is not None:
            period_us = limits.QUERY_RESPONSES * self._response_us
        period_us = min(max(period_us, limits.QUERY_PERIOD_MIN_US), limits.QUERY_PERIOD_MAX_US)
        self._seeks[label] = ActiveLookup(hint, period_us)
        return True

    def end(self, label: Label) -> None:
        """Ask no more."""
        self._seeks.pop(label, None)
        self._desk.timers.cancel(("seek", label))

    def due(self, label: Label, now_us: int) -> ActiveLookup | None:
        """A query is due, and counted as asked. None: it was asked often enough, and the lookup is over."""
        seek = self._seeks[label]
        if seek.asked >= self._desk.settings.seek_queries_max:
            self.end(label)
            self._desk.effects.append(LookupEnded(label, seek.found))
            return None
        seek.asked += 1
        self._desk.timers.set(("seek", label), now_us + quasi_period_us(self._desk.chance, seek.period_us))
        seek.period_us = min(limits.QUERY_GROWTH * seek.period_us, limits.QUERY_PERIOD_MAX_US)
        return seek

    def reported(
        self, label: Label, locations: tuple[Location, ...], elapsed_us: int, *, exact: bool
    ) -> bool:
        """Hand up what a report told. False if nobody is interested."""
        seek = self._seeks.get(label)
        if seek is None:
            return False
        if elapsed_us:
            before = self._response_us
            self._response_us = elapsed_us if before is None else before + (elapsed_us - before) / 8
        if locations:
            seek.found = True
            self._desk.effects.append(ResourceFound(label, locations, elapsed_us, exact))
        else:
            self._desk.effects.append(ResourceNotFound(label, elapsed_us))
        return True
