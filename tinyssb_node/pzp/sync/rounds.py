"""The messages of one round, on their way out and on their way in."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final, cast

from tinyssb_node.pzp.messages.errors import MessageError
from tinyssb_node.pzp.messages.jsontext import Json, canonical, read
from tinyssb_node.pzp.messages.message import (
    FieldLayout,
    Message,
    erase,
    is_identity_kind,
    message_id,
    owner_of,
)
from tinyssb_node.pzp.messages.versions import VERSIONS, version_of
from tinyssb_node.pzp.sync import limits
from tinyssb_node.pzp.sync.holdings import Bloom, PlannedMessage, TangleHoldings, identity_ids
from tinyssb_node.pzp.sync.packets import DepthRange, ExchangeId, PzpGive, SyncPacketError
from tinyssb_node.pzp.sync.port import MessageOutcome, PzpReplica


def _metadata(message: Message) -> dict[str, Json]:
    return cast("dict[str, Json]", message["metadata"])


def _group_of(message: Message) -> str | None:
    """The group that *message* is written for; None in V1, and in an identity's own messages."""
    fields = version_of(dict(message)).fields
    group = owner_of(fields, _metadata(message))
    return group if isinstance(group, str) and not fields.author_signed else None


class RoundSender:
    """Messages given in one round, packet by packet: every message after the identity it is written for."""

    def __init__(
        self,
        msgs: PzpReplica,
        of: ExchangeId,
        round_: int,
        planned: Collection[PlannedMessage],
        theirs: Bloom,
        before: set[str],
    ) -> None:
        """Give what is *planned*, and nothing of what was given *before*, to which it is added."""
        self._msgs = msgs
        self._of = of
        self._round = round_
        self._number = 0
        self._theirs = theirs
        self._before = before
        self._groups: set[str] = set()
        self._texts = self._bounded(self._all(planned))
        self.given = 0
        """Messages given until now."""

    def next_packet(self) -> PzpGive:
        """The next packet; not to be called after the last."""
        batch: list[bytes] = []
        size = 0
        for text in self._texts:
            batch.append(text)
            size += len(text)
            if size >= limits.BATCH_SIZE:
                return self._packet(batch, last=False)
        return self._packet(batch, last=True)

    def _packet(self, batch: list[bytes], *, last: bool) -> PzpGive:
        self._number += 1
        return PzpGive(self._of, self._round, self._number - 1, last, batch)

    def _bounded(self, texts: Iterable[bytes]) -> Iterator[bytes]:
        size = 0
        for text in texts:
            size += len(text)
            if self.given >= limits.GIVEN_MAX or size > limits.GIVEN_SIZE_MAX:
                return
            self.given += 1
            yield text

    def _all(self, planned: Iterable[PlannedMessage]) -> Iterator[bytes]:
        for one in planned:
            message = self._msgs.get(one.id)
            if one.id in self._before or message is None:
                continue
            yield from self._identity(_group_of(message))
            yield self._text(one.id, message, place_only=one.place_only)
        yield from self._identity(TangleHoldings(self._msgs, self._of.root).owner)

    def _identity(self, group: str | None) -> Iterator[bytes]:
        if group is None or group in self._groups or len(self._groups) >= limits.GROUPS_MAX:
            return
        self._groups.add(group)
        held = TangleHoldings(self._msgs, group)
        for one in identity_ids(held):
            message = self._msgs.get(one)
            if one not in self._before and message is not None and held.is_lacked(one, self._theirs):
                yield self._text(one, message, place_only=False)

    def _text(self, id_: str, message: Message, *, place_only: bool) -> bytes:
        self._before.add(id_)
        fields = VERSIONS[cast("int", _metadata(message)["v"])].fields
        return canonical(erase(fields, message) if place_only else cast("Json", message))


class RoundReceiver:
    """Messages accepted in one round: those wanted, their paths to the root, and identities they need."""

    def __init__(self, msgs: PzpReplica, of: ExchangeId, want: DepthRange) -> None:
        """Take messages of the tangle that *of* names, of the depths in *want*."""
        self._msgs: Final = msgs
        self._root: Final = of.root
        self._want = want
        self._aside: dict[str, list[Message]] = {}
        self._number = 0
        self._offered = 0
        self._size = 0
        self._size_aside = 0
        self.counts = dict.fromkeys(MessageOutcome, 0)
        """Messages by what became of them."""
        self.ended = False
        """True if the last packet came."""

    def take(self, give: PzpGive) -> bool:
        """Take what is in a packet, unless one before it was lost: then nothing more is taken. True for the last one.

        Raises SyncPacketError for more than anybody gives, and what the replica's ``add`` does.
        """
        if give.number != self._number or self.ended:
            return False
        self._number += 1
        self._offered += len(give.messages)
        self._size += sum(map(len, give.messages))
        if self._offered > limits.GIVEN_MAX or self._size > limits.GIVEN_SIZE_MAX:
            raise SyncPacketError("more messages than go in a round")
        with self._msgs.batch():
            for text in give.messages:
                self._offer(text)
            if give.last:
                self._add_identity(TangleHoldings(self._msgs, self._root).owner)
                self.ended = True
        return give.last

    def _offer(self, text: bytes) -> None:
        try:
            value = read(text)
            fields = version_of(value).fields
            message = cast("Message", value)
            depth = self._depth(fields, message)
        except MessageError:
            self.counts[MessageOutcome.REFUSED] += 1
            return
        if depth is None:
            self._set_aside(fields, message, len(text))
        elif self._is_welcome(fields, message, depth):
            self._add_identity(_group_of(message))
            self._add(self._root, message)
        else:
            self.counts[MessageOutcome.REFUSED] += 1

    def _depth(self, fields: FieldLayout, message: Message) -> int | None:
        """The depth of *message* in the tangle, as it says; None if it is not of it."""
        tangles = _metadata(message).get("tangles")
        place = tangles.get(self._root) if isinstance(tangles, dict) else None
        if isinstance(place, dict):
            depth = place.get("depth")
            return depth if isinstance(depth, int) else limits.DEPTH_MAX
        return 0 if message_id(fields, message) == self._root else None

    def _is_welcome(self, fields: FieldLayout, message: Message, depth: int) -> bool:
        """Return True if *message* was requested, or is on the path from there to the root."""
        if message.get(fields.payload) is None:
            return depth <= self._want.high
        return depth in self._want

    def _set_aside(self, fields: FieldLayout, message: Message, size: int) -> None:
        """Keep what may be of an identity, until a message comes that is written for it."""
        metadata = _metadata(message)
        tangles = metadata.get("tangles")
        if not is_identity_kind(fields, metadata) or not isinstance(tangles, dict):
            self.counts[MessageOutcome.REFUSED] += 1
            return
        self._size_aside += size
        if self._size_aside > limits.ASIDE_SIZE_MAX:
            raise SyncPacketError("more of identities than anything needs")
        group = next(iter(tangles)) if tangles else message_id(fields, message)
        self._aside.setdefault(group, []).append(message)

    def _add_identity(self, group: str | None) -> None:
        for message in self._aside.pop(group, ()) if group is not None else ():
            self._add(group or "", message)

    def _add(self, root: str, message: Message) -> None:
        self.counts[self._msgs.add(root, message)] += 1
