"""Database of PZP messages: adding after checks, writing, queries, goals, erasing, deleting, collecting.

    with closing(PzpDatabase(SqlitePzpRows.open(home / PZP_FILE))) as database:
        with database.batch():
            for value in values:
                try:
                    database.add(value, wall_us=now_us)
                except MessageError as error:
                    ...

Every change is durable when its method returns, or, within ``batch``, when that ends. Pure: the rows are behind a port.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final, cast

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.errors import ExitCode, LocalError
from tinyssb_node.pzp.database import limits
from tinyssb_node.pzp.database.errors import PzpDependencyError, PzpMissingError
from tinyssb_node.pzp.database.port import (
    PayloadState,
    PzpPlacement,
    PzpRecord,
    PzpRows,
    PzpTotals,
    TangleSummary,
)
from tinyssb_node.pzp.database.tangle_cache import TangleCache
from tinyssb_node.pzp.messages import account, base58, message, rules, versions
from tinyssb_node.pzp.messages import limits as pzp_limits
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.goals import ALL, NONE, Goal, GoalKind, GoalNeeds, needs, parse_goal
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.pzp.messages.message import Message
from tinyssb_node.pzp.messages.rules import ValidationCase
from tinyssb_node.pzp.messages.tangle import KeyChange, PzpTangle
from tinyssb_node.pzp.messages.versions import (
    VERSIONS,
    PzpVersion,
    judge,
    judge_place,
    judge_said,
    version_of,
)

# Depths for which a deleted message is remembered, so that no peer gives it to us again. PZP's programs choose theirs
# by what a feed is for; a peer that lacks so many messages has more to fetch than those.
_GHOST_SPAN: Final = 1_000
_GHOSTS_MAX: Final = 4_096  # deleted messages of a tangle that are remembered, the deepest ones
NOWHERE: Final = PzpTangle("")
"""Before it is known for which tangle a message is."""


def placed_by(
    version: PzpVersion, case: ValidationCase, *, taken: bool, id_: str | None = None
) -> PzpPlacement:
    """The place of a message in the tangle that it was offered for last, whose shape was looked at."""
    change = key_change_of(version, case)
    return PzpPlacement(
        case.id if id_ is None else id_,
        cast("int", case.place["depth"]),
        tuple(cast("list[str]", case.place["prev"])),
        change.key if change is not None else None,
        taken,
    )


def key_change_of(version: PzpVersion, case: ValidationCase) -> KeyChange | None:
    """The change of keys that a message makes in the tangle that it was offered for last."""
    return None if case.tangle.facts.feed is not None else message.key_change(version.fields, case.message)


def has_shape(case: ValidationCase) -> bool:
    """Return True if the place in a tangle can be stored: ``compat`` also accepts places of any shape."""
    prev = case.place.get("prev")
    return (
        rules.is_integer(case.place.get("depth"), 1)
        and isinstance(prev, list)
        and all(isinstance(one, str) for one in prev)
        and len(set(cast("list[str]", prev))) == len(prev)
    )


def places_of(
    held: TangleCache, version: PzpVersion, case: ValidationCase, id_: str
) -> dict[str, PzpPlacement]:
    """The places of a message that is held, as they are kept, by root."""
    tangles = case.metadata.get("tangles")
    places: dict[str, PzpPlacement] = {}
    for name in tangles if isinstance(tangles, dict) else ():
        found = held.get(name)
        if id_ != name and (id_ in found.tangle or id_ in found.waiting):
            case.offer(found.tangle)
            places[name] = placed_by(version, case, taken=id_ in found.tangle, id_=id_)
    return places


def metadata_of(record: PzpRecord) -> dict[str, Json]:
    """The metadata of a message that is held."""
    return message.metadata_of(record.message())


def has_no_payload(record: PzpRecord) -> bool:
    """Return True if the payload of a message is not here, or if it never had one."""
    return record.message()[VERSIONS[record.version].fields.payload] is None


class PzpAddOutcome(StrEnum):
    """Outcome of adding one message."""

    NEW = "new"
    FILLED = "filled"
    """It was here without what it says, which is here now."""
    KNOWN = "known"
    GONE = "gone"
    """It was deleted or erased here on purpose; nothing was changed."""


@dataclass(frozen=True, slots=True)
class PzpAddResult:
    """Result of ``add``."""

    id: str
    root: str
    """The tangle that it was checked for."""
    outcome: PzpAddOutcome


@dataclass(frozen=True, slots=True)
class CollectionResult:
    """Result of collecting."""

    before: PzpTotals
    after: PzpTotals
    deleted: int
    """Messages of which nothing is left."""
    stripped: int
    """Messages of which metadata and signature are left."""


class PzpDatabase:
    """PZP messages, their tangles, and what is to be kept of them. For one thread at a time.

    Every query raises StoreFailedError.
    """

    def __init__(self, rows: PzpRows) -> None:
        """Use *rows*, which are closed with it."""
        self.rows: Final = rows
        self.cache: Final = TangleCache(rows)
        self._in_batch = False
        self._written = False
        """Something was written in this batch."""

    def close(self) -> None:
        """Let go of the rows."""
        self.rows.close()

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
            with self.rows.transaction():
                self.cache.refresh()
                self._in_batch = True
                yield
        except BaseException:
            if self._written:
                self.cache.clear()
            raise
        finally:
            self._in_batch = False

    def record(self, id_: str) -> PzpRecord | None:
        """A message. Raises StoreFailedError, as all questions do."""
        return self.rows.get(id_)

    def records(
        self,
        after: int = 0,
        limit: int = 256,  # 256 MB if all were as large as possible, 200 kB mostly
        *,
        owner: str | None = None,
        kind: str | None = None,
    ) -> Sequence[PzpRecord]:
        """Up to *limit* messages with numbers above *after*, in order of arrival.

        Of *owner*, a group or for V1 a key, and *kind* only, unless they are None.
        """
        return self.rows.records(after, limit, owner, kind)

    def totals(self) -> PzpTotals:
        """Return the totals of the stored messages."""
        return self.rows.totals()

    def tangles(self) -> Sequence[TangleSummary]:
        """The tangles there are, by root: feeds, identities, and whatever was followed in another tangle."""
        return self.rows.tangles()

    def tangle(self, root: str) -> PzpTangle:
        """Return the known part of a tangle: tips, order, depths, paths; empty if its root is not here.

        Valid until the next call; callers do not change it.
        """
        if not self._in_batch:
            self.cache.refresh()
        return self.cache.get(root).tangle

    def slice(self, root: str, low: int, high: int) -> Iterator[PzpRecord]:
        """The messages of a tangle from depth *low* to depth *high*, both included, in topological order.

        One at a time, since all together may be too much for memory.
        """
        for id_ in self.tangle(root).slice(low, high):
            record = self.rows.get(id_)
            if record is not None:
                yield record

    def certificate(self, id_: str, root: str) -> list[Message] | None:
        """Return the proof that a message is in the tangle *root*: itself and its path, without payloads.

        None: the message is not in it, or links are missing.
        """
        path = self.tangle(root).certificate(id_)
        records = [self.rows.get(one) for one in path or ()]
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
            self.cache.refresh()
        held = self.cache.get(root)
        if held.bare is None:
            return held.fill_bare(
                {id_: said is PayloadState.ABSENT for id_, said in self.rows.bare(root).items()}
            )
        return held.bare

    def ghosts(self, root: str) -> Mapping[str, int]:
        """The messages of a tangle that were deleted and are remembered, with their depths."""
        if not self._in_batch:
            self.cache.refresh()
        return dict(self.cache.get(root).ghosts)

    # --- goals

    def goals(self) -> Mapping[str, Goal]:
        """Return the goals of tangles, by root."""
        return {root: parse_goal(text) for root, text in self.rows.goals().items()}

    # --- goals and removal

    def set_goal(self, root: str, goal: Goal | None) -> None:
        """Say what is to be kept of a tangle, be it here or not; None: all, as long as there is room.

        Raises StoreFullError, StoreFailedError, PzpBusyError.
        """
        with self.batch():
            self.rows.put_goal(root, None if goal is None else str(goal))

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

    def delete(self, id_: str, *, ghost_span: int = _GHOST_SPAN) -> None:
        """Delete a message. It is remembered, and not taken again, until the tangle is *ghost_span* deeper than it.

        Raises PzpMissingError, PzpDependencyError (others need it to be certified: erase it instead), StoreFullError,
        StoreFailedError, PzpBusyError.
        """
        with self.batch():
            record = self._held_record(id_)
            others = len(self.cache.get(id_).tangle) > 1
            if others or message.is_identity_kind(VERSIONS[record.version].fields, metadata_of(record)):
                reason = "it is the root of other messages" if others else "it names a key of an identity"
                raise PzpDependencyError(id_, reason, "Nothing was changed.")
            for root in self.roots_of(record):
                if self.cache.get(root).tangle.leads_others(id_):
                    raise PzpDependencyError(id_, "others are certified by it", "It can be erased instead.")
            self.remove(record, ghost_span)

    def _held_record(self, id_: str) -> PzpRecord:
        record = self.rows.get(id_)
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
        self.rows.rewrite(record)
        for root in [record.id, *self.roots_of(record)]:
            self.cache.forget_bare(root)

    def roots_of(self, record: PzpRecord) -> dict[str, int]:
        """The tangles in which a message has a place, beside its own, with its depth."""
        version = VERSIONS[record.version]
        case = ValidationCase(version.fields, record.message(), NOWHERE)
        return {
            root: placed.depth for root, placed in places_of(self.cache, version, case, record.id).items()
        }

    def remove(self, record: PzpRecord, ghost_span: int) -> None:
        """Take a message away, and remember that, if *ghost_span* is above 0. Part of a batch."""
        self._written = True
        roots = self.roots_of(record)
        self.rows.delete(record, roots)
        self.cache.drop(record.id)
        for root, depth in roots.items():
            held = self.cache.get(root)
            held.remove(record.id)
            if ghost_span > 0:
                held.ghosts[record.id] = depth
                self.rows.put_ghost(root, record.id, depth)
                self._drop_ghosts(root, ghost_span)

    def _drop_ghosts(self, root: str, span: int) -> None:
        """Forget what was deleted long ago, as depths go, and what is too much."""
        held = self.cache.get(root)
        below = held.tangle.max_depth - span
        if len(held.ghosts) > _GHOSTS_MAX:
            below = max(below, sorted(held.ghosts.values())[-_GHOSTS_MAX])
        if any(depth < below for depth in held.ghosts.values()):
            self.rows.drop_ghosts(root, below)
            held.drop_ghosts(below)

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

    # --- adding

    def add(self, value: Json, root: str | None = None, *, wall_us: int, strict: bool = True) -> PzpAddResult:
        """Check a message and keep it, in its feed or in the tangle *root*, and in others that it names.

        One that is known is not checked again; if it was here without what it says, that is checked and kept. Of one
        that was deleted only its place is taken again. It is checked as its text says, or, if not *strict*, as the
        original does.

        Raises a MessageError that says what is wrong with it, StoreFullError, StoreFailedError, PzpBusyError.
        """
        version = version_of(value)
        case = ValidationCase(version.fields, cast("Message", value), NOWHERE)
        with self.batch():
            known = self.rows.get(case.id)
            if known is not None:
                return self._add_again(version, case, known, root)
            found = self._root_of(version, case) if root is None else root
            held = self.cache.get(found)
            gone = case.id in held.ghosts
            if gone and case.message.get(version.fields.payload) is not None:
                return PzpAddResult(case.id, found, PzpAddOutcome.GONE)
            case.offer(held.tangle, self.keys_for(version, case, strict=strict))
            judge(version, case, strict=strict)
            self._keep(version, case, found, wall_us=wall_us, strict=strict)
            if gone:
                self._keep_gone(case.id, found)
            return PzpAddResult(case.id, found, PzpAddOutcome.NEW)

    def _keep_gone(self, id_: str, root: str) -> None:
        """A message that was deleted has its place again, for others to be certified, and never more than that."""
        record = self.rows.get(id_)
        assert record is not None
        self.rewrite(replace(record, said=PayloadState.ERASED))
        self.rows.put_ghost(root, id_, None)
        self.cache.get(root).ghosts.pop(id_, None)

    def _root_of(self, version: PzpVersion, case: ValidationCase) -> str:
        """The tangle that a message is for, if nobody says: its feed, or else one that is here, or its own."""
        tangles = case.metadata.get("tangles")
        if not isinstance(tangles, dict) or not tangles:
            return case.id
        owner, kind = _owner_and_kind(version, case)
        if isinstance(owner, str) and isinstance(kind, str) and len(kind) <= pzp_limits.TYPE_MAX:
            feed = _feed_id(version.fields.v, owner, kind)
            if feed in tangles:
                return feed
        for name in sorted(tangles)[: limits.PLACES_MAX]:
            if self.rows.get(name) is not None:
                return name
        raise MessageError(PzpRule.TANGLE_UNKNOWN, "metadata.tangles", sorted(tangles))

    def keys_for(self, version: PzpVersion, case: ValidationCase, *, strict: bool) -> Container[str]:
        """The keys of the group that a message is for. Raises MessageError."""
        fields, group = version.fields, message.owner_of(version.fields, case.metadata)
        if fields.author_signed or not rules.counts(group) or version.is_unowned_root(case):
            return ()
        tangle = self.cache.get(group).tangle if isinstance(group, str) else NOWHERE
        if not tangle.changes:
            raise MessageError(PzpRule.GROUP_UNKNOWN, f"metadata.{fields.owner}", group)
        tips = case.metadata.get(fields.tips or "")
        named = [one for one in tips if isinstance(one, str)] if isinstance(tips, list) else []
        if not strict and fields.own is not None:
            return account.keys_besides(tangle, named)
        if not strict or tips is None:
            return tangle.keys  # of V2, whose original program removes none
        if missing := [one for one in named if one not in tangle]:
            raise MessageError(PzpRule.TIPS_UNKNOWN, f"metadata.{fields.tips}", missing, tangle.root)
        return account.keys_after(tangle, named).keys()

    def _keep(
        self, version: PzpVersion, case: ValidationCase, root: str, *, wall_us: int, strict: bool
    ) -> None:
        """Write a message that was checked, and place it wherever it has a place."""
        text = _text(case.message)
        owner, kind = _owner_and_kind(version, case)
        silent = case.message[version.fields.payload] is None
        record = PzpRecord(
            number=0,
            id=case.id,
            version=version.fields.v,
            owner=owner if isinstance(owner, str) else None,
            kind=kind if isinstance(kind, str) else None,
            said=PayloadState.ABSENT if silent and not rules.is_feed_root(case) else PayloadState.HERE,
            strict=strict,
            added_us=wall_us,
            text=text,
        )
        places = self._places(version, case, root, strict=strict)
        self._written = True
        self.rows.put(record, places)
        self.cache.drop(case.id)
        if self.rows.places(case.id):
            self._wake(case.id, case.id)
        for name, placed in places.items():
            held = self.cache.get(name)
            if placed.taken:
                case.offer(held.tangle)
                held.take(placed, key_change_of(version, case))
                self._wake(name, case.id)
            elif placed.id not in held.waiting:
                held.wait(placed)

    def _places(
        self, version: PzpVersion, case: ValidationCase, root: str, *, strict: bool
    ) -> dict[str, PzpPlacement]:
        """The places of a message that was checked for *root*: there, and in other tangles that it names."""
        tangles = case.metadata["tangles"]
        named = tangles if isinstance(tangles, dict) else {}
        places: dict[str, PzpPlacement] = {}
        for name in [root, *sorted(named.keys() - {root})][: limits.PLACES_MAX]:
            if name == case.id:
                continue
            tangle = self.cache.get(name).tangle
            case.offer(tangle)
            if not has_shape(case):
                continue
            taken = name == root or self._may_be_placed(version, case, strict=strict)
            places[name] = placed_by(version, case, taken=taken)
        return places

    def _may_be_placed(self, version: PzpVersion, case: ValidationCase, *, strict: bool) -> bool:
        if not len(case.tangle):
            return False
        try:
            judge_place(version, case, strict=strict)
        except MessageError:
            return False
        return True

    def _wake(self, root: str, id_: str) -> None:
        """Look again at what waited for *id_* in the tangle *root*, and for that, and so on."""
        woken = self.cache.get(root).woken_by(id_)
        while woken:
            waiting = woken.pop(0)
            record = self.rows.get(waiting.id)
            if record is None or waiting.id not in self.cache.get(root).waiting:
                continue
            version = VERSIONS[record.version]
            case = ValidationCase(version.fields, record.message(), self.cache.get(root).tangle)
            if self._may_be_placed(version, case, strict=record.strict):
                placed = placed_by(version, case, taken=True, id_=waiting.id)
                self.rows.take(root, placed)
                held = self.cache.get(root)
                held.take(placed, key_change_of(version, case))
                woken += held.woken_by(waiting.id)

    def _add_again(
        self, version: PzpVersion, case: ValidationCase, known: PzpRecord, root: str | None
    ) -> PzpAddResult:
        """A message that is here comes again, perhaps with what it says."""
        found = self._root_of(version, case) if root is None else root
        tangle = self.cache.get(found).tangle
        case.offer(tangle)
        if found != case.id and case.id not in tangle:
            judge_place(version, case, strict=known.strict)  # which says why it is not
        said = case.message.get(version.fields.payload)
        if said is None or known.said is PayloadState.HERE:
            return PzpAddResult(case.id, found, PzpAddOutcome.KNOWN)
        if known.said is PayloadState.ERASED:
            return PzpAddResult(case.id, found, PzpAddOutcome.GONE)
        judge_said(version, case, strict=known.strict)
        # Key and signature stay those that were checked.
        text = _text({**known.message(), version.fields.payload: said})
        self.rewrite(replace(known, said=PayloadState.HERE, text=text))
        self._learn_key(version, case)
        return PzpAddResult(case.id, found, PzpAddOutcome.FILLED)

    def _learn_key(self, version: PzpVersion, case: ValidationCase) -> None:
        """Wake messages that waited for a key, if the payload of this message adds one to an identity."""
        if message.key_change(version.fields, case.message) is None:
            return
        self.cache.drop(case.id)
        places = places_of(self.cache, version, case, case.id)
        for name, placed in places.items():
            self.rows.take(name, placed)
            self.cache.drop(name)
        for name in (case.id, *places):
            self._wake(name, name)

    # --- publishing

    def create_identity(
        self, key: SigningKey, nonce: str, *, wall_us: int, version: PzpVersion = versions.DEFAULT
    ) -> str:
        """Found a group of *key*; returns its id, which follows from key and *nonce*. It is kept whole.

        Raises StoreFullError, StoreFailedError, PzpBusyError.
        """
        with self.batch():
            id_ = self._write(versions.write_identity(version, key, nonce), None, wall_us)
            self.set_goal(id_, ALL)
            return id_

    def add_key(
        self,
        key: SigningKey,
        group: str,
        added: str,
        *,
        wall_us: int,
        consent: str | None = None,
        powers: Sequence[str] = (),
    ) -> str:
        """Add the key *added*, in base58, to a group of which *key* is one; returns the id of the message.

        An account of V4 needs the *consent* of that key's owner, and gives it *powers*. Raises PzpMissingError,
        LocalError, StoreFullError, StoreFailedError, PzpBusyError.
        """
        with self.batch():
            tangle = self._tangle_to_write(group)
            root = self._held_record(group)
            written = versions.write_added_key(
                VERSIONS[root.version],
                key,
                tangle,
                added,
                kind=root.kind or "",
                consent=consent,
                powers=powers,
            )
            return self._write(written, group, wall_us)

    def remove_key(
        self,
        key: SigningKey,
        group: str,
        removed: str,
        confirms: Mapping[str, Sequence[str]],
        *,
        wall_us: int,
    ) -> str:
        """Remove the key *removed* from a group, in which *key* may do so; returns the id of the message.

        *confirms* are messages of the removed key that stay valid (``revocations``). Raises PzpMissingError,
        LocalError, StoreFullError, StoreFailedError, PzpBusyError.
        """
        with self.batch():
            identity = self._tangle_to_write(group)
            root = self._held_record(group)
            written = versions.write_removed_key(
                VERSIONS[root.version], key, identity, removed, confirms, kind=root.kind or ""
            )
            return self._write(written, group, wall_us)

    def write(
        self,
        key: SigningKey,
        said: Json,
        kind: str,
        group: str | None = None,
        *,
        tangles: Sequence[str] = (),
        wall_us: int,
    ) -> str:
        """Write a message that says *said* into the feed of *group* and *kind*, and into *tangles*; returns its id.

        Without a group it is one of Feed V1, and the feed is that of *key*; otherwise it is of the group's version. A
        feed that is not there is begun, and kept
        whole unless it has another goal. Raises PzpMissingError (the group or a tangle is not here),
        LocalError, StoreFullError, StoreFailedError, PzpBusyError.
        """
        owner = base58.encode(key.feed_id) if group is None else group
        with self.batch():
            root = None if group is None else self.rows.get(group)
            version = versions.V1 if root is None else VERSIONS[root.version]
            tips = None if group is None else sorted(self._tangle_to_write(group).tips)
            feed = message.feed_id(version.fields, owner, kind)
            if self.rows.get(feed) is None:
                self._write(versions.write_feed_root(version, key, owner, kind), feed, wall_us)
                if feed not in self.rows.goals():
                    self.set_goal(feed, ALL)
            followed = [self._tangle_to_write(root) for root in dict.fromkeys([feed, *tangles])]
            try:
                written = versions.write(version, key, said, kind, followed, group, tips)
            except MessageError as error:
                raise LocalError(
                    f"Nothing was published, because no node would accept it: {error}.",
                    exit_code=ExitCode.DATA,
                ) from error
            return self._write(written, feed, wall_us)

    def _tangle_to_write(self, root: str) -> PzpTangle:
        tangle = self.cache.get(root).tangle
        if not len(tangle):
            raise PzpMissingError(root, "the first message of this tangle, or group, is not here")
        return tangle

    def _write(self, written: Mapping[str, Json], root: str | None, wall_us: int) -> str:
        try:
            return self.add(dict(written), root, wall_us=wall_us).id
        except MessageError as error:
            raise LocalError(
                f"Nothing was published, because no node would accept it: {error}.", exit_code=ExitCode.DATA
            ) from error


class _Collection:
    """One run of ``collect``."""

    def __init__(self, database: PzpDatabase, budget_bytes: int, before: PzpTotals) -> None:
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
        """Return the messages needed in a tangle; None: all of them."""
        if root not in self._needs:
            goal = self._goals.get(root, ALL)
            tangle = self._database.tangle(root)
            whole = goal.keep is GoalKind.ALL
            self._needs[root] = None if whole else needs(tangle, goal, lambda: self._said(tangle))
        return self._needs[root]

    def _said(self, tangle: PzpTangle) -> Mapping[str, Json]:
        """Return the payloads of the messages of a set, by id."""
        found: dict[str, Json] = {}
        for id_ in tangle.topological():
            record = self._database.record(id_)
            if record is not None:
                found[id_] = record.message()[VERSIONS[record.version].fields.payload]
        return found

    def _trim(self, root: str, goal: Goal) -> None:
        """Take away what no tangle needs of the messages of this one, the deepest first and its root at last."""
        ghost_span = _GHOST_SPAN if goal.keep is GoalKind.SET else 0
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


def _text(said: Message) -> bytes:
    """A message as it is kept. Raises MessageError: numbers may be longer than they came."""
    text = canonical(cast("Json", said))
    if len(text) > pzp_limits.TEXT_MAX:
        raise MessageError(
            PzpRule.TEXT_SIZE,
            "the message",
            len(text),
            f"at most {pzp_limits.TEXT_MAX} bytes in canonical form",
        )
    return text


def _owner_and_kind(version: PzpVersion, case: ValidationCase) -> tuple[Json, Json]:
    """The owner and the kind of a message of any shape."""
    return message.owner_of(version.fields, case.metadata), case.metadata.get(version.fields.kind)


@lru_cache(maxsize=1_024)  # each message of a feed asks for the same one
def _feed_id(version: int, owner: str, kind: str) -> str:
    return message.feed_id(VERSIONS[version].fields, owner, kind)
