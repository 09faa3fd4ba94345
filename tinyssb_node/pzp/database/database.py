"""The database: messages are added after they were checked, published, asked for, erased, deleted.

    with closing(Database(SqliteRows.open(home / PZP_FILE))) as database:
        with database.batch():
            for value in values:
                try:
                    database.add(value, wall_us=now_us)
                except MessageError as error:
                    ...

Every change is durable when its method returns, or, within ``batch``, when that ends. Pure: rows are somebody else's.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import cast

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.pzp.database import limits
from tinyssb_node.pzp.database.errors import (
    GroupUnknownError,
    PzpMissingError,
    PzpUnpublishableError,
    TangleUnknownError,
)
from tinyssb_node.pzp.database.placement import NOWHERE, has_shape, placed_by, places_of
from tinyssb_node.pzp.database.port import PayloadState, PzpPlacement, PzpRecord
from tinyssb_node.pzp.database.removal import MessageRemoval
from tinyssb_node.pzp.messages import base58, message, rules, versions
from tinyssb_node.pzp.messages import limits as pzp_limits
from tinyssb_node.pzp.messages.errors import MessageError, TextSizeError
from tinyssb_node.pzp.messages.goals import ALL
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.pzp.messages.message import Message
from tinyssb_node.pzp.messages.rules import ValidationCase
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import (
    V2,
    VERSIONS,
    PzpVersion,
    judge,
    judge_place,
    judge_said,
    version_of,
)


class PzpAddOutcome(StrEnum):
    """What became of a message that was added."""

    NEW = "new"
    FILLED = "filled"
    """It was here without what it says, which is here now."""
    KNOWN = "known"
    GONE = "gone"
    """It was deleted or erased here on purpose; nothing was changed."""


@dataclass(frozen=True, slots=True)
class PzpAddResult:
    """What came of ``add``."""

    id: str
    root: str
    """The tangle that it was checked for."""
    outcome: PzpAddOutcome


class PzpDatabase(MessageRemoval):
    """PZP messages, their tangles, and what is to be kept of them. For one thread at a time."""

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
            known = self._rows.get(case.id)
            if known is not None:
                return self._add_again(version, case, known, root)
            found = self._root_of(version, case) if root is None else root
            held = self._held.get(found)
            gone = case.id in held.ghosts
            if gone and case.message.get(version.fields.payload) is not None:
                return PzpAddResult(case.id, found, PzpAddOutcome.GONE)
            case.keys = self._keys_for(version, case)
            case.offer(held.tangle)
            judge(version, case, strict=strict)
            self._keep(version, case, found, wall_us=wall_us, strict=strict)
            if gone:
                self._keep_gone(case.id, found)
            return PzpAddResult(case.id, found, PzpAddOutcome.NEW)

    def _keep_gone(self, id_: str, root: str) -> None:
        """A message that was deleted has its place again, for others to be certified, and never more than that."""
        record = self._rows.get(id_)
        assert record is not None
        self.rewrite(replace(record, said=PayloadState.ERASED))
        self._rows.put_ghost(root, id_, None)
        self._held.get(root).ghosts.pop(id_, None)

    def _root_of(self, version: PzpVersion, case: ValidationCase) -> str:
        """The tangle that a message is for, if nobody says: its feed, or else one that is here, or its own."""
        tangles = case.metadata.get("tangles")
        if not isinstance(tangles, dict) or not tangles:
            return case.id
        owner, kind = case.metadata.get(version.fields.owner), case.metadata.get("type")
        if isinstance(owner, str) and isinstance(kind, str) and len(kind) <= pzp_limits.TYPE_MAX:
            feed = _feed_id(version.fields.v, owner, kind)
            if feed in tangles:
                return feed
        for name in sorted(tangles)[: limits.PLACES_MAX]:
            if self._rows.get(name) is not None:
                return name
        raise TangleUnknownError("metadata.tangles", sorted(tangles))

    def _keys_for(self, version: PzpVersion, case: ValidationCase) -> Container[str]:
        """The keys of the group that a message is for. Raises GroupUnknownError."""
        group = case.metadata.get(version.fields.owner)
        if version.fields.author_signed or not rules.counts(group):
            return ()
        keys = self._held.get(group).tangle.keys if isinstance(group, str) else ()
        if not keys:
            raise GroupUnknownError(f"metadata.{version.fields.owner}", group)
        return keys

    def _keep(
        self, version: PzpVersion, case: ValidationCase, root: str, *, wall_us: int, strict: bool
    ) -> None:
        """Write a message that was checked, and place it wherever it has a place."""
        text = _text(case.message)
        owner, kind = case.metadata.get(version.fields.owner), case.metadata.get("type")
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
        self._rows.put(record, places)
        self._held.drop(case.id)
        if self._rows.places(case.id):
            self._wake(case.id, case.id)
        for name, placed in places.items():
            held = self._held.get(name)
            if placed.taken:
                held.take(placed)
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
            tangle = self._held.get(name).tangle
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
        woken = self._held.get(root).woken_by(id_)
        while woken:
            waiting = woken.pop(0)
            record = self._rows.get(waiting.id)
            if record is None or waiting.id not in self._held.get(root).waiting:
                continue
            version = VERSIONS[record.version]
            case = ValidationCase(version.fields, record.message(), self._held.get(root).tangle)
            if self._may_be_placed(version, case, strict=record.strict):
                placed = placed_by(version, case, taken=True, id_=waiting.id)
                self._rows.take(root, placed)
                held = self._held.get(root)
                held.take(placed)
                woken += held.woken_by(waiting.id)

    def _add_again(
        self, version: PzpVersion, case: ValidationCase, known: PzpRecord, root: str | None
    ) -> PzpAddResult:
        """A message that is here comes again, perhaps with what it says."""
        found = self._root_of(version, case) if root is None else root
        tangle = self._held.get(found).tangle
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
        """What a message says may be a key that it adds to an identity, for which others may have waited there."""
        if version.fields.tips is None or message.added_key(version.fields, case.message) is None:
            return
        self._held.drop(case.id)
        places = places_of(self._held, version, case, case.id)
        for name, placed in places.items():
            self._rows.take(name, placed)
            self._held.drop(name)
        for name in (case.id, *places):
            self._wake(name, name)

    # --- publishing

    def create_identity(self, key: SigningKey, nonce: str, *, wall_us: int) -> str:
        """Found a group of *key*; returns its id, which follows from key and *nonce*. It is kept whole.

        Raises StoreFullError, StoreFailedError, PzpBusyError.
        """
        with self.batch():
            id_ = self._publish(versions.write_identity(key, nonce), None, wall_us)
            self.set_goal(id_, ALL)
            return id_

    def add_key(self, key: SigningKey, group: str, added: str, *, wall_us: int) -> str:
        """Add the key *added*, in base58, to a group of which *key* is one; returns the id of the message.

        Raises PzpMissingError, PzpUnpublishableError, StoreFullError, StoreFailedError, PzpBusyError.
        """
        with self.batch():
            tangle = self._tangle_to_write(group)
            return self._publish(versions.write_added_key(key, tangle, added), group, wall_us)

    def publish(
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

        Without a group it is one of Feed V1, and the feed is that of *key*. A feed that is not there is begun, and kept
        whole unless it has another goal. Raises PzpMissingError (the group or a tangle is not here),
        PzpUnpublishableError, StoreFullError, StoreFailedError, PzpBusyError.
        """
        version = versions.V1 if group is None else V2
        owner = base58.encode(key.feed_id) if group is None else group
        with self.batch():
            tips = None if group is None else sorted(self._tangle_to_write(group).tips)
            feed = message.feed_id(version.fields, owner, kind)
            if self._rows.get(feed) is None:
                self._publish(versions.write_feed_root(version, key, owner, kind), feed, wall_us)
                if feed not in self._rows.goals():
                    self.set_goal(feed, ALL)
            followed = [self._tangle_to_write(root) for root in dict.fromkeys([feed, *tangles])]
            try:
                written = versions.write(version, key, said, kind, followed, group, tips)
            except MessageError as error:
                raise PzpUnpublishableError(error) from error
            return self._publish(written, feed, wall_us)

    def _tangle_to_write(self, root: str) -> PzpTangle:
        tangle = self._held.get(root).tangle
        if not len(tangle):
            raise PzpMissingError(root, "the first message of this tangle, or group, is not here")
        return tangle

    def _publish(self, written: Mapping[str, Json], root: str | None, wall_us: int) -> str:
        try:
            return self.add(dict(written), root, wall_us=wall_us).id
        except MessageError as error:
            raise PzpUnpublishableError(error) from error


def _text(said: Message) -> bytes:
    """A message as it is kept. Raises TextSizeError: numbers may be longer than they came."""
    text = canonical(cast("Json", said))
    if len(text) > pzp_limits.TEXT_MAX:
        raise TextSizeError(
            "the message", len(text), f"at most {pzp_limits.TEXT_MAX} bytes in canonical form"
        )
    return text


@lru_cache(maxsize=limits.FEED_IDS_KEPT)
def _feed_id(version: int, owner: str, kind: str) -> str:
    return message.feed_id(VERSIONS[version].fields, owner, kind)
