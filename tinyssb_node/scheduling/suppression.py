"""What was just given on a face need not be given again."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Given(Generic[K]):
    """Up to which number each chain was given on a face, and when last.

    A chain is a feed (numbers are sequence numbers) or a side chain (numbers of chunks). "Given" is by us or by
    anybody else who was heard. Bounded: the longest untouched chain is forgotten first.
    """

    def __init__(self, *, hold_us: int, most: int) -> None:
        self._hold_us = hold_us
        self._most = most
        self._last: OrderedDict[K, tuple[int, int]] = OrderedDict()

    def give(self, chain: K, number: int, now_us: int) -> None:
        """*number* of *chain* was given now."""
        held = self._last.pop(chain, None)
        if held is not None and now_us - held[1] < self._hold_us:
            number = max(number, held[0])
        self._last[chain] = (number, now_us)
        if len(self._last) > self._most:
            self._last.popitem(last=False)

    def first_to_give(self, chain: K, asked: int, now_us: int) -> int:
        """Where an answer to "from *asked* on" should begin: behind what was given a moment ago."""
        held = self._last.get(chain)
        if held is None or now_us - held[1] >= self._hold_us:
            return asked
        return max(asked, held[0] + 1)


class Latest(Generic[K]):
    """The latest number known of each of a bounded many keys; the longest unset is forgotten first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers: OrderedDict[K, int] = OrderedDict()

    def __getitem__(self, key: K) -> int | None:
        return self._numbers.get(key)

    def __setitem__(self, key: K, number: int) -> None:
        self._numbers[key] = number
        self._numbers.move_to_end(key)
        if len(self._numbers) > self._most:
            self._numbers.popitem(last=False)


class Recent(Generic[K]):
    """A bounded memory of things seen, with the time of the last sight."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: OrderedDict[K, int] = OrderedDict()

    def __contains__(self, key: K) -> bool:
        return key in self._seen

    def add(self, key: K, now_us: int) -> None:
        """Remember *key* as seen now."""
        self._seen[key] = now_us
        self._seen.move_to_end(key)
        if len(self._seen) > self._most:
            self._seen.popitem(last=False)

    def within(self, key: K, span_us: int, now_us: int) -> bool:
        """True if *key* was seen in the last *span_us*."""
        at_us = self._seen.get(key)
        return at_us is not None and now_us - at_us < span_us
