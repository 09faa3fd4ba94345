"""What may be asked of the database."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from tinyssb_node.pzp.database import limits
from tinyssb_node.pzp.database.port import PayloadState, PzpRecord, PzpRows, PzpTotals, TangleSummary
from tinyssb_node.pzp.database.tangle_cache import TangleCache
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.goals import Goal, parse_goal
from tinyssb_node.pzp.messages.message import Message
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import VERSIONS


class PzpQueries:
    """Questions to the rows and to the tangles made from them. Each raises StoreFailedError."""

    def __init__(self, rows: PzpRows) -> None:
        """Use *rows*, which are closed with it."""
        self._rows: Final = rows
        self._held: Final = TangleCache(rows)
        self._in_batch = False
        self._written = False
        """Something was written in this batch."""

    def close(self) -> None:
        """Let go of the rows."""
        self._rows.close()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Many changes as one: all of them are durable at its end, or, if it ends by an exception, none.

        Nobody else can write meanwhile. Raises StoreFullError, StoreFailedError, PzpBusyError.
        """
        if self._in_batch:
            yield
            return
        self._written = False
        try:
            with self._rows.transaction():
                self._held.refresh()
                self._in_batch = True
                yield
        except BaseException:
            if self._written:
                self._held.clear()
            raise
        finally:
            self._in_batch = False

    def record(self, id_: str) -> PzpRecord | None:
        """A message. Raises StoreFailedError, as all questions do."""
        return self._rows.get(id_)

    def records(
        self,
        after: int = 0,
        limit: int = limits.RECORDS_PAGE,
        *,
        owner: str | None = None,
        kind: str | None = None,
    ) -> Sequence[PzpRecord]:
        """Up to *limit* messages with numbers above *after*, in order of arrival.

        Of *owner*, a group or for V1 a key, and *kind* only, unless they are None.
        """
        return self._rows.records(after, limit, owner, kind)

    def totals(self) -> PzpTotals:
        """How much there is."""
        return self._rows.totals()

    def tangles(self) -> Sequence[TangleSummary]:
        """The tangles there are, by root: feeds, identities, and whatever was followed in another tangle."""
        return self._rows.tangles()

    def tangle(self, root: str) -> PzpTangle:
        """What is known of a tangle: tips, order, depths, paths; empty if its root is not here.

        To be looked at until the next call, and not to be changed.
        """
        if not self._in_batch:
            self._held.refresh()
        return self._held.get(root).tangle

    def slice(self, root: str, low: int, high: int) -> Iterator[PzpRecord]:
        """The messages of a tangle from depth *low* to depth *high*, both included, in topological order.

        One at a time, since all together may be too much for memory.
        """
        for id_ in self.tangle(root).slice(low, high):
            record = self._rows.get(id_)
            if record is not None:
                yield record

    def certificate(self, id_: str, root: str) -> list[Message] | None:
        """What proves that a message is in the tangle *root*: itself and, without what they say, those on its path.

        None: the message is not in it, or links are missing.
        """
        path = self.tangle(root).certificate(id_)
        records = [self._rows.get(one) for one in path or ()]
        found = [record for record in records if record is not None]
        if not found or len(found) < len(records):
            return None
        first, *others = found
        return [
            first.message(),
            *(message.erase(VERSIONS[one.version].fields, one.message()) for one in others),
        ]

    def bare(self, root: str) -> Mapping[str, bool]:
        """The messages of a tangle of which is not here what they say; True if that would be taken.

        A feed's root is none of them: it never said anything.
        """
        if not self._in_batch:
            self._held.refresh()
        held = self._held.get(root)
        if held.bare is None:
            held.bare = {id_: said is PayloadState.ABSENT for id_, said in self._rows.bare(root).items()}
        return held.bare

    def ghosts(self, root: str) -> Mapping[str, int]:
        """The messages of a tangle that were deleted and are remembered, with their depths."""
        if not self._in_batch:
            self._held.refresh()
        return dict(self._held.get(root).ghosts)

    # --- goals

    def goals(self) -> Mapping[str, Goal]:
        """What is to be kept of which tangle, by root."""
        return {root: parse_goal(text) for root, text in self._rows.goals().items()}
