"""Local resources: what we have ourselves, and when it is advertised next (text, "Local resources")."""

from collections.abc import Iterator

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.errors import TooManyResourcesError
from tinyssb_node.islands.locator.labels import Label
from tinyssb_node.islands.locator.values import ResourceParameters


class LocalResources:
    """Parameters by label."""

    def __init__(self) -> None:
        self._rows: dict[Label, ResourceParameters] = {}
        self._periods_us: dict[Label, int] = {}
        """How long after the next advert another one comes."""

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Label]:
        return iter(self._rows)

    def get(self, label: Label) -> ResourceParameters | None:
        """What we have of it."""
        return self._rows.get(label)

    def put(self, label: Label, parameters: ResourceParameters) -> None:
        """We have this now. Raises TooManyResourcesError, and ValueError for numbers that no message can say."""
        in_range = 0 <= parameters.timestamp <= limits.TIMESTAMP_MAX
        if not (in_range and 0 <= parameters.completeness <= limits.COMPLETENESS_MAX):
            raise ValueError(f"no resource has {parameters}")
        if label not in self._rows and len(self._rows) >= limits.RESOURCES_MAX:
            raise TooManyResourcesError(limits.RESOURCES_MAX)
        self._rows[label] = parameters

    def remove(self, label: Label) -> None:
        """We have it no more."""
        self._rows.pop(label, None)
        self._periods_us.pop(label, None)

    def next_period_us(self, label: Label, longest_us: int) -> int:
        """Time from one advert of it to the next: twice as long each time."""
        period_us = min(self._periods_us.get(label, limits.ADVERT_FIRST_US), longest_us)
        self._periods_us[label] = 2 * period_us
        return period_us
