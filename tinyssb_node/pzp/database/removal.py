"""Taking messages away: one by one, for good, or what no goal asks for when there are too many."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from tinyssb_node.pzp.database import limits
from tinyssb_node.pzp.database.errors import PzpDependencyError, PzpMissingError
from tinyssb_node.pzp.database.placement import NOWHERE, has_no_payload, metadata_of, places_of
from tinyssb_node.pzp.database.port import PayloadState, PzpRecord, PzpTotals, TangleSummary
from tinyssb_node.pzp.database.queries import PzpQueries
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.goals import ALL, NONE, Goal, GoalKind, GoalNeeds, needs
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.pzp.messages.rules import ValidationCase
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import VERSIONS


@dataclass(frozen=True, slots=True)
class CollectionResult:
    """What came of collecting."""

    before: PzpTotals
    after: PzpTotals
    deleted: int
    """Messages of which nothing is left."""
    stripped: int
    """Messages of which metadata and signature are left."""


class MessageRemoval(PzpQueries):
    """What takes messages away."""

    def set_goal(self, root: str, goal: Goal | None) -> None:
        """Say what is to be kept of a tangle, be it here or not; None: all, as long as there is room.

        Raises StoreFullError, StoreFailedError, PzpBusyError.
        """
        with self.batch():
            self._rows.put_goal(root, None if goal is None else str(goal))

    def erase(self, id_: str) -> bool:
        """Erase what a message says, for good; id and signature stay, and it is not taken again.

        False: there is nothing to erase. Raises PzpMissingError, PzpDependencyError (other messages were
        checked by this key, so it has to stay), StoreFullError, StoreFailedError, PzpBusyError.
        """
        with self.batch():
            record = self._held_record(id_)
            if message.is_identity_kind(VERSIONS[record.version].fields, metadata_of(record)):
                raise PzpDependencyError(
                    id_, "it names a key by which messages are checked", "Nothing was changed."
                )
            return self.strip(record, PayloadState.ERASED)

    def delete(self, id_: str, *, ghost_span: int = limits.GHOST_SPAN) -> None:
        """Delete a message. It is remembered, and not taken again, until the tangle is *ghost_span* deeper than it.

        Raises PzpMissingError, PzpDependencyError (others need it to be certified: erase it instead), StoreFullError,
        StoreFailedError, PzpBusyError.
        """
        with self.batch():
            record = self._held_record(id_)
            others = len(self._held.get(id_).tangle) > 1
            if others or message.is_identity_kind(VERSIONS[record.version].fields, metadata_of(record)):
                reason = "it is the root of other messages" if others else "it names a key of an identity"
                raise PzpDependencyError(id_, reason, "Nothing was changed.")
            for root in self.roots_of(record):
                if self._held.get(root).tangle.leads_others(id_):
                    raise PzpDependencyError(id_, "others are certified by it", "It can be erased instead.")
            self.remove(record, ghost_span)

    def _held_record(self, id_: str) -> PzpRecord:
        record = self._rows.get(id_)
        if record is None:
            raise PzpMissingError(id_, "there is no such message here")
        return record

    def strip(self, record: PzpRecord, said: PayloadState) -> bool:
        """Keep no more than metadata and signature of a message; False: there is no more. Part of a batch."""
        if record.said in (said, PayloadState.ERASED) or (
            record.said is PayloadState.HERE and has_no_payload(record)
        ):
            return False
        fields = VERSIONS[record.version].fields
        text = canonical(message.erase(fields, record.message()))
        self.rewrite(replace(record, said=said, text=text))
        return True

    def rewrite(self, record: PzpRecord) -> None:
        """Keep *record* in the place of what is kept of it. Part of a batch."""
        self._written = True
        self._rows.rewrite(record)
        for root in [record.id, *self.roots_of(record)]:
            self._held.forget_bare(root)

    def roots_of(self, record: PzpRecord) -> dict[str, int]:
        """The tangles in which a message has a place, beside its own, with its depth."""
        version = VERSIONS[record.version]
        case = ValidationCase(version.fields, record.message(), NOWHERE)
        return {
            root: placed.depth for root, placed in places_of(self._held, version, case, record.id).items()
        }

    def remove(self, record: PzpRecord, ghost_span: int) -> None:
        """Take a message away, and remember that, if *ghost_span* is above 0. Part of a batch."""
        self._written = True
        roots = self.roots_of(record)
        self._rows.delete(record, roots)
        self._held.drop(record.id)
        for root, depth in roots.items():
            held = self._held.get(root)
            held.remove(record.id)
            if ghost_span > 0:
                held.ghosts[record.id] = depth
                self._rows.put_ghost(root, record.id, depth)
                self._drop_ghosts(root, ghost_span)

    def _drop_ghosts(self, root: str, span: int) -> None:
        """Forget what was deleted long ago, as depths go, and what is too much."""
        held = self._held.get(root)
        below = held.tangle.max_depth - span
        if len(held.ghosts) > limits.GHOSTS_MAX:
            below = max(below, sorted(held.ghosts.values())[-limits.GHOSTS_MAX])
        if any(depth < below for depth in held.ghosts.values()):
            self._rows.drop_ghosts(root, below)
            held.ghosts = {id_: depth for id_, depth in held.ghosts.items() if depth >= below}

    # --- collecting

    def collect(self, budget_bytes: int) -> CollectionResult:
        """Make room, if there are more than *budget_bytes* of messages, until there are not, as far as goals allow.

        First goes what is in tangles with a goal and not asked for by it; then, while that is not enough, tangles
        without a goal, whole, the one that was added to least recently first; at last groups for which no message is
        left. Raises StoreFullError, StoreFailedError, PzpBusyError.
        """
        with self.batch():
            before = self.totals()
            if before.bytes <= budget_bytes:
                return CollectionResult(before, before, 0, 0)
            return _Collection(self, budget_bytes, before).run()


class _Collection:
    """One run of ``collect``."""

    def __init__(self, database: MessageRemoval, budget_bytes: int, before: PzpTotals) -> None:
        self._database: Final = database
        self._budget_bytes: Final = budget_bytes
        self._before: Final = before
        self._summaries: Final = {one.root: one for one in database.tangles()}
        self._goals: Final = dict(database.goals())
        self._needs: dict[str, GoalNeeds | None] = {}
        """Of the tangles looked at; None: all of it is needed."""
        self._deleted = self._stripped = 0

    def run(self) -> CollectionResult:
        """Take away what may go."""
        identities = {root for root in self._summaries if self._database.tangle(root).facts.identity}
        for root, goal in sorted(self._goals.items()):
            if goal.keep is not GoalKind.ALL and root in self._summaries.keys() - identities:
                self._trim(root, goal)
        cached = [one for root, one in self._summaries.items() if root not in self._goals.keys() | identities]
        for one in sorted(cached, key=lambda one: one.last_number):
            if self._fits():
                break
            self._drop(one)
        for root in sorted(identities):
            used = self._database.records(0, 1, owner=root)
            if not used and (self._goals.get(root) == NONE or not (root in self._goals or self._fits())):
                self._drop(self._summaries[root])
        return CollectionResult(self._before, self._database.totals(), self._deleted, self._stripped)

    def _fits(self) -> bool:
        return self._database.totals().bytes <= self._budget_bytes

    def _drop(self, summary: TangleSummary) -> None:
        self._goals[summary.root] = NONE
        self._needs.pop(summary.root, None)
        self._trim(summary.root, NONE)

    def _needs_of(self, root: str) -> GoalNeeds | None:
        """What is needed in a tangle; None: all of it."""
        if root not in self._needs:
            goal = self._goals.get(root, ALL)
            tangle = self._database.tangle(root)
            whole = goal.keep is GoalKind.ALL
            self._needs[root] = None if whole else needs(tangle, goal, lambda: self._said(tangle))
        return self._needs[root]

    def _said(self, tangle: PzpTangle) -> Mapping[str, Json]:
        """What the messages of a set say, by id."""
        found: dict[str, Json] = {}
        for id_ in tangle.topological():
            record = self._database.record(id_)
            if record is not None:
                found[id_] = record.message()[VERSIONS[record.version].fields.payload]
        return found

    def _trim(self, root: str, goal: Goal) -> None:
        """Take away what no tangle needs of the messages of this one, the deepest first and its root at last."""
        ghost_span = limits.GHOST_SPAN if goal.keep is GoalKind.SET else 0
        for id_ in reversed(self._database.tangle(root).topological()):
            record = self._database.record(id_)
            if record is None or self._is_whole(record, root):
                continue
            if self._is_trail(record, root):
                self._stripped += self._database.strip(record, PayloadState.ABSENT)
            else:
                self._database.remove(record, ghost_span)
                self._deleted += 1

    def _roots_of(self, record: PzpRecord, root: str) -> set[str]:
        """The tangles that a message is in, its own if there is one."""
        own = {record.id} & self._summaries.keys()
        return {root} | own | self._database.roots_of(record).keys()

    def _is_whole(self, record: PzpRecord, root: str) -> bool:
        found = [self._needs_of(one) for one in self._roots_of(record, root)]
        return any(one is None or record.id in one.whole for one in found)

    def _is_trail(self, record: PzpRecord, root: str) -> bool:
        if len(self._database.tangle(record.id)) > 1:
            return True
        found = [self._needs_of(one) for one in self._roots_of(record, root)]
        return any(one is not None and record.id in one.trail for one in found)
