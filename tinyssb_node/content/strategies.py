"""Strategies of reduction: the form of a change, and the value that many of them make (docs/reference/tangles.md)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Generic, TypeAlias, TypeGuard, TypeVar

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import Value
from tinyssb_node.content.reduce import ChangePart, Key, Registers, Strategy

T = TypeVar("T")
Element: TypeAlias = "str | bytes | int"


class OverwriteStrategy:
    """One value; a change is the new one. Concurrent different values conflict, until a message follows both and
    writes."""

    def __init__(self, valid: Callable[[Value], bool] = lambda _: True) -> None:
        self._valid = valid

    def split(self, change: Value) -> dict[Key, Value] | None:
        """Return the whole change, if it is valid; None (null) removes the value."""
        return {(): change} if change is None or self._valid(change) else None

    def join(self, registers: Registers) -> Value:
        """Return the last write, in canonical order among concurrent ones; None: there is none."""
        current = [write.part for write in registers.get((), ()) if write.current]
        return current[-1] if current else None

    def differ(self, key: Key, current: Sequence[ChangePart]) -> bool:  # noqa: ARG002 - a port's signature
        """Return whether the values differ."""
        return len({bipf.encode(write.part) for write in current}) > 1


_ADD: Final = "add"
_REMOVE: Final = "remove"


class SetStrategy:
    """A set of texts, bytes and integers; a change is ``{"add": […], "remove": […]}``, either may be missing.

    A removal affects the additions that its author knew: an element that others add concurrently stays. So nothing
    conflicts.
    """

    def split(self, change: Value) -> dict[Key, Value] | None:
        """Return the change by element: True to add, False to remove it. None if one is in both."""
        if not isinstance(change, dict) or not change.keys() <= {_ADD, _REMOVE}:
            return None
        parts: dict[Key, Value] = {}
        for name, part in ((_ADD, True), (_REMOVE, False)):
            elements = change.get(name, [])
            if not isinstance(elements, list):
                return None
            for element in elements:
                if not _is_element(element) or parts.setdefault((element,), part) is not part:
                    return None
        return parts

    def join(self, registers: Registers) -> tuple[Element, ...]:
        """Return the elements: integers, then bytes, then texts, each sorted."""
        elements = [
            key[0]
            for key, writes in registers.items()
            if any(write.current and write.part for write in writes)
        ]
        return (
            *sorted(element for element in elements if isinstance(element, int)),
            *sorted(element for element in elements if isinstance(element, bytes)),
            *sorted(element for element in elements if isinstance(element, str)),
        )

    def differ(self, key: Key, current: Sequence[ChangePart]) -> bool:  # noqa: ARG002 - a port's signature
        """Return False: an addition wins."""
        return False


def _is_element(value: Value) -> TypeGuard[Element]:
    return isinstance(value, str | bytes | int) and not isinstance(value, bool)


class RecordStrategy:
    """Named fields, each with a strategy of its own; a change is a dict of changes to some of them.

    Unknown fields are ignored: later versions of a program may have more.
    """

    def __init__(self, fields: Mapping[str, Strategy[object]]) -> None:
        self._fields = dict(fields)

    def split(self, change: Value) -> dict[Key, Value] | None:
        """Return the change by field, then by register of the field's strategy."""
        if not isinstance(change, dict):
            return None
        return _split_each(
            (name, change[name], strategy) for name, strategy in self._fields.items() if name in change
        )

    def join(self, registers: Registers) -> dict[str, object]:
        """Return all fields, including those that nobody wrote."""
        grouped = _by_first(registers)
        return {name: strategy.join(grouped.get(name, {})) for name, strategy in self._fields.items()}

    def differ(self, key: Key, current: Sequence[ChangePart]) -> bool:
        """Return the result of the field's strategy."""
        return self._fields[str(key[0])].differ(key[1:], current)


class MapStrategy(Generic[T]):
    """Any texts as keys, all with one strategy; a change is a dict of changes to some of them.

    With `OverwriteStrategy`, a key whose value was removed (null) is gone.
    """

    def __init__(self, strategy: Strategy[T]) -> None:
        self._strategy = strategy

    def split(self, change: Value) -> dict[Key, Value] | None:
        """Return the change by key, then by register of the strategy."""
        if not isinstance(change, dict):
            return None
        named = {name: part for name, part in change.items() if isinstance(name, str)}
        if len(named) != len(change):
            return None
        return _split_each((name, part, self._strategy) for name, part in named.items())

    def join(self, registers: Registers) -> dict[str, T]:
        """Return the values by key, sorted; keys without a value are left out."""
        grouped = _by_first(registers)
        joined = {str(name): self._strategy.join(grouped[name]) for name in sorted(map(str, grouped))}
        return {name: value for name, value in joined.items() if value is not None}

    def differ(self, key: Key, current: Sequence[ChangePart]) -> bool:
        """Return the result of the strategy."""
        return self._strategy.differ(key[1:], current)


def _split_each(changes: Iterator[tuple[str, Value, Strategy[object]]]) -> dict[Key, Value] | None:
    """Return the parts of several changes, each below its name; None if one of them is invalid."""
    parts: dict[Key, Value] = {}
    for name, change, strategy in changes:
        split = strategy.split(change)
        if split is None:
            return None
        parts |= {(name, *key): part for key, part in split.items()}
    return parts


def _by_first(registers: Registers) -> dict[str | bytes | int, dict[Key, Sequence[ChangePart]]]:
    """Return registers by the first step of their keys, below it by the rest."""
    grouped: dict[str | bytes | int, dict[Key, Sequence[ChangePart]]] = {}
    for key, writes in registers.items():
        grouped.setdefault(key[0], {})[key[1:]] = writes
    return grouped


_INSERT: Final = "insert"


class ListStrategy:
    """An ordered list. A change is ``{"insert": [anchor, value]}`` or ``{"remove": [ids]}``, or both.

    An element is named by the id of the message that inserted it. The anchor is the id of the element before it, null
    for the beginning. Removed elements remain anchors, so people can write at different positions concurrently, and
    elements that one person inserted in a row stay together.
    """

    def split(self, change: Value) -> dict[Key, Value] | None:
        """Return the inserted element, and by id the removed ones."""
        if not isinstance(change, dict) or not change.keys() <= {_INSERT, _REMOVE}:
            return None
        parts: dict[Key, Value] = {}
        if _INSERT in change:
            inserted = change[_INSERT]
            if not isinstance(inserted, list) or len(inserted) != 2 or not _is_anchor(inserted[0]):
                return None
            parts[(_INSERT,)] = inserted
        removed = change.get(_REMOVE, [])
        if not isinstance(removed, list):
            return None
        for id_ in removed:
            if not isinstance(id_, bytes) or not _is_anchor(id_):
                return None
            parts[(_REMOVE, id_)] = True
        return parts

    def join(self, registers: Registers) -> tuple[tuple[bytes, Value], ...]:
        """Return each element's id and value, in the list's order."""
        behind: dict[bytes | None, list[tuple[bytes, Value]]] = {}
        for write in registers.get((_INSERT,), ()):
            if isinstance(write.part, list) and (write.part[0] is None or isinstance(write.part[0], bytes)):
                behind.setdefault(write.part[0], []).append((write.id, write.part[1]))
        # Later ones are nearer to their anchor: taken from the end, they come first.
        elements = []
        ahead = behind.pop(None, [])
        while ahead:
            id_, value = ahead.pop()
            if (_REMOVE, id_) not in registers:
                elements.append((id_, value))
            ahead += behind.pop(id_, [])
        return tuple(elements)

    def differ(self, key: Key, current: Sequence[ChangePart]) -> bool:  # noqa: ARG002 - a port's signature
        """Return False: concurrent insertions at one position are in canonical order, the last one first."""
        return False


def _is_anchor(value: Value) -> bool:
    return value is None or (isinstance(value, bytes) and len(value) == limits.MESSAGE_ID_SIZE)
