"""Many messages of which some are in memory at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from tinyssb_node.catalog import limits
from tinyssb_node.catalog.rows import MessageRow


class MessagePages(Sequence[MessageRow]):
    """Messages that are read from the catalog as somebody comes to them, a page at a time.

    Closing the catalog ends it. Reading raises what the catalog raises.
    """

    def __init__(self, read: Callable[[Sequence[int]], Sequence[MessageRow]], numbers: Sequence[int]) -> None:
        """Messages of these *numbers*; *read* gets some of them."""
        self._read = read
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> MessageRow: ...

    @overload
    def __getitem__(self, index: slice) -> "MessagePages": ...

    def __getitem__(self, index: int | slice) -> "MessageRow | MessagePages":
        """One message, or some of them, which are not read yet. Raises IndexError."""
        if isinstance(index, slice):
            return MessagePages(self._read, self._numbers[index])
        (row,) = self._read([self._numbers[index]])
        return row

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Where *value* is, without reading what is before it. Raises ValueError."""
        number = value.arrival if isinstance(value, MessageRow) else -1
        return self._numbers.index(number, start, len(self) if stop is None else stop)

    def __iter__(self) -> Iterator[MessageRow]:
        for start in range(0, len(self._numbers), limits.CATALOG_PAGE):
            yield from self._read(self._numbers[start : start + limits.CATALOG_PAGE])
