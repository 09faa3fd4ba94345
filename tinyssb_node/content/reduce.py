"""The reduction of a tangle to a value: everybody's changes combined, with conflicts shown.

A change is the content of one message. A strategy splits it into *registers*, such as the fields of a form, each with a
part of the change. Of the parts written to a register, those count that no later message overwrote: one, or several if
people wrote concurrently. A message that follows all of them and writes the register resolves the conflict.

The result depends on the set of placed messages, and on nothing else: neither on the order of arrival nor on clocks.
`strategies` has some strategies; docs/reference/tangles.md lists their changes and values.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from tinyssb_node.codec.bipf import Value
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.tangle import Tangle, canonical_order
from tinyssb_node.ids import MessageId

M = TypeVar("M")
T_co = TypeVar("T_co", covariant=True)

Key: TypeAlias = "tuple[str | bytes | int, ...]"
"""Name of a register within a strategy: the path to it, from outside in."""


@dataclass(frozen=True, slots=True)
class ChangePart:
    """One part of one message's change."""

    id: MessageId
    """The message."""
    part: Value
    current: bool
    """True if no message that follows it, directly or not, wrote the same register."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A register with concurrent writes that differ."""

    key: Key
    writes: tuple[ChangePart, ...]
    """The current ones, in canonical order; the value shows the last of them."""


@dataclass(frozen=True, slots=True)
class Reduced(Generic[T_co]):
    """The value of a tangle."""

    value: T_co
    conflicts: tuple[Conflict, ...]
    """Sorted by key. Empty: there are no conflicts."""
    left_out: int
    """Parts of changes beyond `content_limits.REDUCE_REGISTERS_MAX`, which are ignored."""
    refused: int
    """Messages with an invalid change, which is ignored; the rest of the tangle counts."""


Registers: TypeAlias = "Mapping[Key, Sequence[ChangePart]]"
"""All writes to each register, in canonical order."""


class Strategy(Protocol[T_co]):
    """The form of changes, and the value they add up to."""

    def split(self, change: Value) -> dict[Key, Value] | None:
        """Return a stranger's change by register; None if it is invalid."""
        ...

    def join(self, registers: Registers) -> T_co:
        """Return the value."""
        ...

    def differ(self, key: Key, current: Sequence[ChangePart]) -> bool:
        """Return whether these writes to one register, two or more, contradict each other."""
        ...


def reduce(
    tangle: Tangle[M],
    strategy: Strategy[T_co],
    change: Callable[[M], Value],
    *,
    at: Iterable[MessageId] | None = None,
) -> Reduced[T_co]:
    """Combine the changes of all placed messages in *tangle*; with *at*, of these and all that they follow.

    *change* returns the change of a message; None: it changes nothing.
    """
    known = set(tangle) if at is None else tangle.history(at)
    previous = {id_: tangle.previous(id_) for id_ in known}
    order = canonical_order(previous)
    parts: dict[MessageId, dict[Key, Value]] = {}
    refused = 0
    for id_ in order:
        said = change(tangle.message(id_))
        if said is None:
            continue
        split = strategy.split(said)
        if split is None or len(split) > content_limits.REDUCE_PARTS_MAX:
            refused += 1
        else:
            parts[id_] = split
    numbers, left_out = _number_contested(order, parts)
    covered = _covered(order, previous, parts, numbers)
    registers: dict[Key, list[ChangePart]] = {}
    for id_ in order:
        for key, part in parts.get(id_, {}).items():
            number = numbers.get(key)
            if number is None or number >= 0:
                current = number is None or not covered.get(id_, 0) >> number & 1
                registers.setdefault(key, []).append(ChangePart(id_, part, current))
    return Reduced(strategy.join(registers), _conflicts(strategy, registers), left_out, refused)


def views(
    tangle: Tangle[M], strategy: Strategy[T_co], change: Callable[[M], Value]
) -> dict[MessageId, Reduced[T_co]]:
    """Return the value of each tip alone, by tip: the state that the author of the next message there saw."""
    return {tip: reduce(tangle, strategy, change, at=(tip,)) for tip in tangle.tips}


def _number_contested(
    order: Sequence[MessageId], parts: Mapping[MessageId, Mapping[Key, Value]]
) -> tuple[dict[Key, int], int]:
    """Return a number for each register with several writes, −1 for those beyond the limit; and how many writes these
    have."""
    seen: dict[Key, int] = {}
    for id_ in order:
        for key in parts.get(id_, ()):
            seen[key] = seen.get(key, 0) + 1
    contested = [key for key, count in seen.items() if count > 1]
    beyond = contested[content_limits.REDUCE_REGISTERS_MAX :]
    numbers = {key: number for number, key in enumerate(contested[: content_limits.REDUCE_REGISTERS_MAX])}
    return numbers | dict.fromkeys(beyond, -1), sum(seen[key] for key in beyond)


def _covered(
    order: Sequence[MessageId],
    previous: Mapping[MessageId, Sequence[MessageId]],
    parts: Mapping[MessageId, Mapping[Key, Value]],
    numbers: Mapping[Key, int],
) -> dict[MessageId, int]:
    """Return, for each message that writes contested registers, the registers that later messages overwrite, as
    bits."""
    covered = {}
    ahead: dict[MessageId, int] = {}
    for id_ in reversed(order):
        bits = ahead.pop(id_, 0)
        own = 0
        for key in parts.get(id_, ()):
            number = numbers.get(key, -1)
            if number >= 0:
                own |= 1 << number
        if own:
            covered[id_] = bits & own
            bits |= own
        if bits:
            for one in previous[id_]:
                ahead[one] = ahead.get(one, 0) | bits
    return covered


def _conflicts(strategy: Strategy[object], registers: Registers) -> tuple[Conflict, ...]:
    conflicts = []
    for key, writes in registers.items():
        current = tuple(write for write in writes if write.current)
        if len(current) > 1 and strategy.differ(key, current):
            conflicts.append(Conflict(key, current))
    return tuple(sorted(conflicts, key=lambda conflict: [_sortable(step) for step in conflict.key]))


def _sortable(step: str | bytes | int) -> tuple[str, str | bytes | int]:
    return type(step).__name__, step
