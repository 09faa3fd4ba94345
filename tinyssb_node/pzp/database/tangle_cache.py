"""Tangles that are in memory, made from rows when they are asked for, and let go of when there are too many."""

from collections import OrderedDict
from typing import Final

from tinyssb_node.pzp.database import limits
from tinyssb_node.pzp.database.port import PzpPlacement, PzpRows
from tinyssb_node.pzp.messages.message import key_change, root_facts
from tinyssb_node.pzp.messages.tangle import KeyChange, PzpTangle
from tinyssb_node.pzp.messages.versions import VERSIONS


class CachedTangle:
    """A tangle, and what waits before it."""

    __slots__ = ("_waiting_for", "bare", "ghosts", "tangle", "waiting")

    def __init__(self, root: str) -> None:
        self.tangle: Final = PzpTangle(root)
        self.waiting: Final[dict[str, PzpPlacement]] = {}
        """Messages that were taken for another tangle, by id."""
        self.ghosts: Final[dict[str, int]] = {}
        """Depths of what was deleted."""
        self.bare: dict[str, bool] | None = None
        """Messages here without payload; True if it would be accepted. None: not read since a change."""
        self._waiting_for: dict[str, set[str]] = {}

    def take(self, placed: PzpPlacement, change: KeyChange | None) -> None:
        """Add a message that was checked, with the change of keys that it makes."""
        self.bare = None
        self.tangle.add(placed.id, placed.depth, placed.prev, change)
        if self.waiting.pop(placed.id, None) is not None:
            for one in placed.prev:
                self._waiting_for[one].discard(placed.id)

    def wait(self, placed: PzpPlacement) -> None:
        """Remember a message that cannot be checked yet; beyond some number it is left alone."""
        if len(self.waiting) < limits.WAITING_MAX:
            self.waiting[placed.id] = placed
            for one in placed.prev:
                self._waiting_for.setdefault(one, set()).add(placed.id)

    def remove(self, id_: str) -> None:
        """Take a message away that is not the root."""
        self.bare = None
        placed = self.waiting.pop(id_, None)
        if placed is not None:
            for one in placed.prev:
                self._waiting_for[one].discard(id_)
        if id_ in self.tangle:
            self.tangle.remove(id_)

    def fill_bare(self, bare: dict[str, bool]) -> dict[str, bool]:
        """Remember and return which messages have no payload here."""
        self.bare = bare
        return bare

    def drop_ghosts(self, below: int) -> None:
        """Forget deleted messages that are less deep."""
        for id_ in [id_ for id_, depth in self.ghosts.items() if depth < below]:
            del self.ghosts[id_]

    def woken_by(self, id_: str) -> list[PzpPlacement]:
        """Return the messages that can be checked now that *id_* is in the tangle, the least deep first."""
        ids = self.waiting if id_ == self.tangle.root else self._waiting_for.get(id_, ())
        return sorted((self.waiting[one] for one in ids), key=lambda placed: (placed.depth, placed.id))


class TangleCache:
    """The tangles that were asked for last."""

    def __init__(self, rows: PzpRows) -> None:
        self._rows: Final = rows
        self._held: OrderedDict[str, CachedTangle] = OrderedDict()
        self._generation = rows.generation()

    def __len__(self) -> int:
        return len(self._held)

    def refresh(self) -> None:
        """Let go of all, if somebody else has written."""
        generation = self._rows.generation()
        if generation != self._generation:
            self.clear()
            self._generation = generation

    def clear(self) -> None:
        """Let go of all."""
        self._held.clear()

    def drop(self, root: str) -> None:
        """Let go of one."""
        self._held.pop(root, None)

    def forget_bare(self, root: str) -> None:
        """Somebody who asks what is bare in a tangle is to look again."""
        if root in self._held:
            self._held[root].bare = None

    def get(self, root: str) -> CachedTangle:
        """One tangle, which is empty if its root is not here. What is added to its row has to be added to it."""
        held = self._held.get(root)
        if held is not None:
            self._held.move_to_end(root)
            return held
        held = self._load(root)
        while self._held and (
            len(self._held) >= limits.TANGLES_HELD_MAX
            # 150 MB at most; one tangle is held, however large.
            or self._messages() + len(held.tangle) > 250_000
        ):
            self._held.popitem(last=False)
        self._held[root] = held
        return held

    def _messages(self) -> int:
        return sum(len(held.tangle) + len(held.waiting) for held in self._held.values())

    def _load(self, root: str) -> CachedTangle:
        held = CachedTangle(root)
        record = self._rows.get(root)
        if record is not None:
            message, fields = record.message(), VERSIONS[record.version].fields
            facts = root_facts(fields, message)
            held.tangle.add_root(facts, key_change(fields, message) if facts.feed is None else None)
        for placed in self._rows.places(root):
            if placed.taken:
                change = None if placed.adds is None else self._change(placed.id)
                held.tangle.add(placed.id, placed.depth, placed.prev, change)
            else:
                held.wait(placed)
        held.ghosts.update(self._rows.ghosts(root))
        return held

    def _change(self, id_: str) -> KeyChange | None:
        """Return the change of keys that a message makes."""
        record = self._rows.get(id_)
        return None if record is None else key_change(VERSIONS[record.version].fields, record.message())
