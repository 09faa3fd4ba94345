"""A dataclass decorator for values that are made for every packet."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

__all__ = ["quick_dataclass"]

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass as quick_dataclass
else:

    def quick_dataclass(*, frozen: bool, slots: bool, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
        """A dataclass that mypy takes for frozen, and Python does not.

        Setting a frozen field costs a call, which is a tenth of all that a node does for an entry beside verifying it.
        """
        assert frozen
        assert slots
        return dataclass(slots=True, unsafe_hash=True, kw_only=kw_only)
