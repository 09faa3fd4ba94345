"""Chance: what is thrown for, with what the locator was given."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class LocatorRandomSource(Protocol):
    """Where chance comes from; ``random.Random`` is one."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...


def flip_coin(chance: LocatorRandomSource) -> bool:
    """Flip a coin."""
    return chance.random() < 0.5


def pick(chance: LocatorRandomSource, things: Sequence[T]) -> T:
    """One of them, each as likely as the others."""
    return things[int(chance.random() * len(things))]


def pick_weighed(chance: LocatorRandomSource, things: Sequence[T], weights: Sequence[float]) -> T:
    """One of them, as likely as its weight says."""
    left = chance.random() * sum(weights)
    for thing, weight in zip(things, weights, strict=True):
        left -= weight
        if left < 0:
            return thing
    return things[-1]


def quasi_period_us(chance: LocatorRandomSource, period_us: float) -> int:
    """Time to the next occurrence of what is quasi-periodic: T/2 to 3T/2 (text, "Quasi-periodicity")."""
    return int(period_us * (0.5 + chance.random()))
