"""The rows in memory, for tests and simulations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from tinyssb_node.pzp.database.port import (
    PayloadState,
    PzpPlacement,
    PzpRecord,
    PzpTotals,
    TangleSummary,
)

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class MemoryPzpRows:
    """``Rows`` of one process, gone with it."""

    def __init__(self) -> None:
        self._records: dict[str, PzpRecord] = {}
        """By id, in order of arrival."""
        self._places: dict[tuple[str, str], PzpPlacement] = {}
        """By root and id."""
        self._roots: dict[str, dict[str, bool]] = {}
        """By root, which ids have a place there."""
        self._alone: dict[str, bool] = {}
        self._goals: dict[str, str] = {}
        self._ghosts: dict[tuple[str, str], int] = {}
        self._number = 0
        self._bytes = 0
        self._undo: list[Callable[[], object]] | None = None
        """How to undo what this transaction did, latest last; None: there is none."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """If it ends by an exception, all that was written in it is undone."""
        assert self._undo is None, "one transaction at a time"
        self._undo, before = [], (self._number, self._bytes)
        try:
            yield
        except BaseException:
            for step in reversed(self._undo):
                step()
            self._number, self._bytes = before
            raise
        finally:
            self._undo = None

    def generation(self) -> int:
        """Nobody else writes."""
        return 0

    def close(self) -> None:
        """Nothing to let go of."""

    # --- messages

    def put(self, record: PzpRecord, places: Mapping[str, PzpPlacement]) -> int:
        """Add a message that is not there, with its places by root. Its number is given here and returned."""
        assert record.id not in self._records, "it is there"
        self._number += 1
        self._set(self._records, record.id, replace(record, number=self._number))
        if not any(placed.taken for placed in places.values()):
            self._set(self._alone, record.id, True)
        for root, placed in places.items():
            self._set(self._places, (root, record.id), placed)
            self._set(self._roots.setdefault(root, {}), record.id, True)
        self._bytes += len(record.text)
        return self._number

    def rewrite(self, record: PzpRecord) -> None:
        """Replace the text of a message, and what is here of what it says."""
        before = self._records[record.id]
        self._set(self._records, record.id, replace(before, said=record.said, text=record.text))
        self._bytes += len(record.text) - len(before.text)

    def delete(self, record: PzpRecord, places: Mapping[str, int]) -> None:
        """Take away a message with its places: roots, each with the depth there."""
        self._set(self._records, record.id)
        self._set(self._alone, record.id)
        for root in places:
            self._set(self._places, (root, record.id))
            self._set(self._roots.setdefault(root, {}), record.id)
        self._bytes -= len(record.text)

    def get(self, id_: str) -> PzpRecord | None:
        """A message."""
        return self._records.get(id_)

    def records(self, after: int, limit: int, owner: str | None, kind: str | None) -> Sequence[PzpRecord]:
        """Messages with numbers above *after*, of that owner and kind unless they are None, by number."""
        found = [
            record
            for record in self._records.values()
            if record.number > after and owner in (None, record.owner) and kind in (None, record.kind)
        ]
        return sorted(found, key=lambda record: record.number)[:limit]

    def totals(self) -> PzpTotals:
        """How much there is."""
        return PzpTotals(len(self._records), self._bytes)

    # --- tangles

    def places(self, root: str) -> Sequence[PzpPlacement]:
        """All places in a tangle, those that wait among them, by depth and id."""
        found = [self._places[root, id_] for id_ in self._roots.get(root, ())]
        return sorted(found, key=lambda placed: (placed.depth, placed.id))

    def take(self, root: str, placed: PzpPlacement) -> None:
        """Replace a place: it was checked, or the key is known that it adds."""
        self._set(self._places, (root, placed.id), placed)

    def bare(self, root: str) -> Mapping[str, PayloadState]:
        """The messages of a tangle, with its root, of which is not here what they say."""
        ids = [root, *(placed.id for placed in self.places(root) if placed.taken)]
        found = {id_: self._records[id_].said for id_ in ids if id_ in self._records}
        return {id_: said for id_, said in sorted(found.items()) if said is not PayloadState.HERE}

    def tangles(self) -> Sequence[TangleSummary]:
        """Tangles with a root that is here and says it is one, or with messages behind it, by root."""
        found = {root: (1, 0, self._records[root].number) for root in self._alone}
        for root in self._roots:
            taken = [placed for placed in self.places(root) if placed.taken]
            if taken:
                _, _, own = found.get(root, (0, 0, 0))
                last = max(self._records[placed.id].number for placed in taken)
                found[root] = (len(taken) + 1, max(placed.depth for placed in taken), max(last, own))
        return [
            TangleSummary(
                root=root,
                messages=messages,
                max_depth=depth,
                last_number=number,
                goal=self._goals.get(root),
            )
            for root, (messages, depth, number) in sorted(found.items())
        ]

    # --- goals, and what was deleted

    def goals(self) -> Mapping[str, str]:
        """Goals by root."""
        return dict(sorted(self._goals.items()))

    def put_goal(self, root: str, goal: str | None) -> None:
        """Keep the goal of a tangle; None: it has none."""
        self._set(self._goals, root, goal)

    def ghosts(self, root: str) -> Mapping[str, int]:
        """Messages that were deleted from a tangle, with their depths."""
        return {id_: depth for (other, id_), depth in sorted(self._ghosts.items()) if other == root}

    def put_ghost(self, root: str, id_: str, depth: int | None) -> None:
        """Remember a message that was deleted; None: forget it."""
        self._set(self._ghosts, (root, id_), depth)

    def drop_ghosts(self, root: str, below: int) -> None:
        """Forget those that are less deep."""
        for id_, depth in self.ghosts(root).items():
            if depth < below:
                self._set(self._ghosts, (root, id_))

    # --- undoing

    def _set(self, kept: dict[_Key, _Value], key: _Key, value: _Value | None = None) -> None:
        """Keep *value* under *key*; None: take it away."""
        assert self._undo is not None, "writes are done within a transaction"
        before = kept.get(key)
        self._undo.append(lambda: _put_back(kept, key, before))
        _put_back(kept, key, value)


def _put_back(kept: dict[_Key, _Value], key: _Key, value: _Value | None) -> None:
    if value is None:
        kept.pop(key, None)
    else:
        kept[key] = value
