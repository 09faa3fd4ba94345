"""A tangle drawn like a commit graph: one dot a message, the first on top, and lines from each to its followers.

A message whose followers are not all drawn keeps a lane, a column in which a line goes on downwards:

    ●         first
    ├─╮
    │ ●       an answer
    ├─│─╮
    │ │ ●     another one, without an answer
    ● │       a third one
    ├─╯
    ●         after both

A line that crosses a lane does not touch it. The number of lanes is bounded: a message that finds none free has its
followers named in words (`GraphLine.apart`), so that hostile graphs stay narrow.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

Id = TypeVar("Id", bound=Hashable)

UNICODE: Final = "●│─├┤┼┴┬╰╯╭╮"
"""Dot, lane, line, and the corners in the order of ``_CORNERS``."""
ASCII: Final = "*|-+++'.''.."
"""The same for terminals without these characters."""

_CORNERS: Final = {
    # up, down, left, right
    (True, True, False, True): 3,
    (True, True, True, False): 4,
    (True, True, True, True): 5,
    (True, False, True, True): 6,
    (False, True, True, True): 7,
    (True, False, False, True): 8,
    (True, False, True, False): 9,
    (False, True, False, True): 10,
    (False, True, True, False): 11,
}


@dataclass(frozen=True, slots=True)
class GraphLine(Generic[Id]):
    """A line of the drawing."""

    drawing: str
    """Without spaces at its end; at most ``2 * lanes_max - 1`` characters, each one cell wide."""
    message: Id | None
    """The message whose dot is in it; None: it only joins lanes."""
    apart: tuple[Id, ...] = ()
    """The predecessors of this message to which no line leads."""


def draw(
    messages: Sequence[tuple[Id, Sequence[Id]]], lanes_max: int, glyphs: str = UNICODE, first: int = 0
) -> Iterator[GraphLine[Id]]:
    """Draw *messages* from number *first* on, each with its predecessors; each comes after its predecessors.

    Predecessors that are not in *messages* are listed in ``apart``.

    What a message follows and is not before it is in ``apart``.
    """
    assert lanes_max >= 2
    return _Graph(messages, lanes_max, glyphs).lines(first)


class _Graph(Generic[Id]):
    """The lanes and their messages while the lines are drawn."""

    def __init__(self, messages: Sequence[tuple[Id, Sequence[Id]]], lanes_max: int, glyphs: str) -> None:
        self._messages = messages
        self._glyphs = glyphs
        self._last = lanes_max - 1
        """The last column is never a lane, so that there is always room for a dot."""
        self._followers = Counter(one for _, previous in messages for one in set(previous))
        """How many followers of a message are not drawn yet."""
        self._lanes: list[Id | None] = []
        self._lane_of: dict[Id, int] = {}
        self._ended: int | None = None
        """The column of a dot right above that no line leaves."""

    def lines(self, first: int) -> Iterator[GraphLine[Id]]:
        for number, (message, previous) in enumerate(self._messages):
            yield from self._message(message, tuple(dict.fromkeys(previous)), shown=number >= first)

    def _message(self, message: Id, previous: tuple[Id, ...], *, shown: bool) -> Iterator[GraphLine[Id]]:
        reached = [one for one in previous if one in self._lane_of]
        columns = sorted(self._lane_of[one] for one in reached)
        above = [lane is not None for lane in self._lanes] if shown else []
        self._followers.subtract(previous)
        ending = [self._lane_of.pop(one) for one in reached if not self._followers[one]]
        for column in ending:
            self._lanes[column] = None
        column = min(ending) if ending else self._free()
        if shown:
            if any(one != column for one in columns):
                yield GraphLine(self._joint(column, columns, above), None)
            elif not columns and column == self._ended:
                # Right below the other dot this one would seem to follow it.
                yield GraphLine(self._row(None), None)
            apart = tuple(one for one in previous if one not in reached)
            yield GraphLine(self._row(column), message, apart)
        self._ended = column
        if self._followers[message] > 0 and column < self._last:
            self._lanes += [None] * (column + 1 - len(self._lanes))
            self._lanes[column] = message
            self._lane_of[message] = column
            self._ended = None

    def _free(self) -> int:
        """Return the first column without a lane."""
        for column, lane in enumerate(self._lanes):
            if lane is None:
                return column
        return len(self._lanes)

    def _row(self, column: int | None) -> str:
        """Return the lanes, and a dot in *column*."""
        dot, lane = self._glyphs[0], self._glyphs[1]
        cells = [" " if one is None else lane for one in self._lanes]
        if column is not None:
            cells += [" "] * (column + 1 - len(cells))
            cells[column] = dot
        return " ".join(cells).rstrip()

    def _joint(self, column: int, columns: list[int], above: list[bool]) -> str:
        """Return the line above a dot, which leads from the lanes in *columns* to *column*."""
        lane, across = self._glyphs[1], self._glyphs[2]
        first, last = min(column, *columns), max(column, *columns)
        drawn = []
        for place in range(max(last + 1, len(above))):
            held = place < len(above) and above[place]
            inside = first <= place <= last
            if inside and (place == column or place in columns):
                down = place == column or self._lanes[place] is not None
                corner = _CORNERS[place in columns, down, place > first, place < last]
                drawn.append(self._glyphs[corner])
            else:
                drawn.append(lane if held else across if inside else " ")
            drawn.append(across if first <= place < last else " ")
        return "".join(drawn).rstrip()
