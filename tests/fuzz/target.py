"""The targets: each module of ``tests.fuzz.targets`` reads bytes in one way, and fails if anything breaks a rule."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.fuzz import targets


@dataclass(frozen=True, slots=True)
class Target:
    """Something that reads bytes."""

    name: str
    about: str
    """The input that it reads, described in a line."""
    run: Callable[[bytes], None]
    """Read them. Raises whatever is a bug: PeerError and the like stay inside."""
    seeds: Callable[[], Iterable[bytes]]
    """The inputs to begin with."""


def names() -> list[str]:
    """The targets there are."""
    return sorted(module.name for module in pkgutil.iter_modules(targets.__path__))


def load(name: str) -> Target:
    """One of them."""
    module = importlib.import_module(f"tests.fuzz.targets.{name}")
    assert module.__doc__ is not None
    return Target(name, module.__doc__.strip().splitlines()[0], module.run, module.seeds)
