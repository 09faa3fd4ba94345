"""A table that forgets: by age, and its oldest when it is full."""

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ExpiringMap(Generic[K, V]):
    """Values by key, each for a while, and never more than there is room for."""

    def __init__(self, *, most: int, age_us: int) -> None:
        self._most = most
        self._age_us = age_us
        self._rows: dict[K, tuple[int, V]] = {}
        """When it was put there, and the value; the oldest first."""

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, key: K, value: V, now_us: int) -> None:
        """Keep *value* from now on; the oldest of too many goes."""
        self._rows.pop(key, None)
        self._rows[key] = now_us, value
        if len(self._rows) > self._most:
            del self._rows[next(iter(self._rows))]

    def change(self, key: K, value: V) -> None:
        """Keep another value for what is there, its age as before."""
        self._rows[key] = self._rows[key][0], value

    def get(self, key: K, now_us: int) -> V | None:
        """What was put there not too long ago."""
        row = self._rows.get(key)
        return row[1] if row is not None and now_us - row[0] < self._age_us else None

    def has(self, key: K, now_us: int) -> bool:
        """True if something was put there not too long ago."""
        row = self._rows.get(key)
        return row is not None and now_us - row[0] < self._age_us

    def expire(self, now_us: int) -> None:
        """Remove what is too old."""
        while self._rows:
            key = next(iter(self._rows))
            if now_us - self._rows[key][0] < self._age_us:
                return
            del self._rows[key]
