"""The short form of a group's messages, in which they are sent over the air (docs/formats/group-messages.md, decision
0037).

Values that follow from the opening key are left out: the group, its first message, the author. So a message is decoded
with a `ReadingContext`: what the reader knows so far. If that is not enough yet, `decode` returns what is missing, and
the message waits. Each message has one canonical encoding.
"""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice, product
from typing import Final, NamedTuple, TypeAlias

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import BipfError, Value
from tinyssb_node.content.minutes import read_minutes
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.messages import (
    ADD,
    EXCLUDE,
    INIT,
    POST,
    AddMember,
    ExcludedMember,
    ExcludeMember,
    GroupContent,
    GroupInit,
    GroupMessage,
    GroupMessageError,
    body_of,
    checked_fields,
    fields_of,
    post,
)
from tinyssb_node.ids import EpochKey, FeedId, GroupId, MessageId

_WHAT: Final = "message to a group"
_INIT: Final = "I"
_ADD: Final = "A"
_EXCLUDE: Final = "X"
_POST: Final = "P"
_TIMED_POST: Final = "T"
_CONTENT: Final = "C"
_PAIR_SIZE: Final = 2 * limits.FEED_ID_SIZE
"""A member and their feed in the epoch."""


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """A reader's knowledge of a message, beside its bytes."""

    author: FeedId
    """Main feed of the author."""
    key: EpochKey | None = field(repr=False)
    """The group key that opened it; None: it was opened with a key between members, or our own."""
    root_of: Callable[[EpochKey], MessageId | None]
    """First message of the group of a key. A member may claim that another group's key is of theirs: such a message is
    decoded once for each group, and in the wrong group it follows nothing."""
    group_of: Callable[[MessageId], GroupId | None]
    """By the group's first message; None: that is not read yet."""
    creator_of: Callable[[MessageId], FeedId | None]
    """The same, for its author."""
    people: Callable[[bytes], Collection[FeedId]]
    """All known people whose main feed id begins with these 8 bytes."""


class MissingContext(StrEnum):
    """The kind of knowledge that is missing to read a message."""

    GROUP = "group"
    """The group of a key."""
    ROOT = "root"
    """A group's first message."""
    PERSON = "person"
    """The person meant by 8 bytes."""


class SharedEpochKey(NamedTuple):
    """A key that an addition shares."""

    key: EpochKey
    root: MessageId
    """First message of the group that it is for."""


@dataclass(frozen=True, slots=True)
class PendingMessage:
    """A message that cannot be read yet."""

    what: MissingContext
    ids: tuple[bytes, ...]
    """The key, the id of the first message, or the beginnings of feed ids. It is tried again when one of them becomes
    known."""
    secrets: tuple[SharedEpochKey, ...] = ()
    """Keys that it shares. They can be used at once."""


class AdditionHead(NamedTuple):
    """The part of an addition that can be read before its group's first message is here."""

    key: EpochKey
    """Key of the epoch."""
    root: MessageId
    """First message of the group."""
    epoch: MessageId
    """First message of the epoch."""
    names: tuple[bytes, ...]
    """Main feed ids of the people who are added, or their first 8 bytes."""


def read_addition_head(plain: bytes) -> AdditionHead | None:
    """Return what *plain*, the content of an envelope, adds to which epoch; None if it is not an addition."""
    try:
        value = bipf.decode(plain) if len(plain) <= group_limits.PLAIN_MAX else None
        if not isinstance(value, list) or len(value) < 6 or value[0] != _ADD:
            return None
        key = EpochKey(_bytes(ADD, "secret", value[1], limits.EPOCH_KEY_SIZE))
        root = MessageId(_bytes(ADD, "root", value[2], limits.MESSAGE_ID_SIZE))
        members = _members(ADD, value[5])
        data = _bytes(ADD, "recps", value[3])
        if len(data) % limits.FEED_ID_SIZE == 0:
            names = _parts(ADD, "recps", data, limits.FEED_ID_SIZE)
        else:
            rest = data[group_limits.SHORT_CHECK_SIZE :]
            names = _parts(ADD, "recps", rest, group_limits.SHORT_NAME_SIZE)
    except (BipfError, GroupMessageError):
        return None
    if members.root is None or not 1 <= len(names) <= limits.GROUP_ADD_MAX:
        return None
    return AdditionHead(key, root, members.root, names)


def with_owner(plain: bytes, main: FeedId) -> bytes:
    """Return the content of the first envelope of an epoch feed: the beginning of the owner's main feed id, and
    *plain*."""
    return main[: group_limits.OWNER_SIZE] + plain


def split_owner(plain: bytes) -> tuple[bytes, bytes]:
    """Return the first 8 bytes of the main feed id, and the message. Raises GroupMessageError if there is none."""
    if len(plain) <= group_limits.OWNER_SIZE:
        raise GroupMessageError(_WHAT, "owner", "is followed by nothing")
    return plain[: group_limits.OWNER_SIZE], plain[group_limits.OWNER_SIZE :]


def encode(message: GroupMessage, *, known: Collection[FeedId] = ()) -> bytes:
    """Return the short form of *message*. Raises GroupMessageError for an invalid body, or a message that is too long.

    *known* are the people in an epoch that every reader is in. If all people who are added are among them, they are
    named by 8 bytes.
    """
    value: list[Value]
    if isinstance(message, GroupInit):
        value = _init(message)
    elif isinstance(message, AddMember):
        value = _addition(message, known)
    elif isinstance(message, ExcludeMember):
        value = _exclusion(message)
    else:
        value = _content(message)
    plain = bipf.encode(value)
    if len(plain) > group_limits.PLAIN_MAX:
        raise GroupMessageError(_WHAT, "length", f"is more than {group_limits.PLAIN_MAX} bytes")
    return plain


def _init(message: GroupInit) -> list[Value]:
    if message.group is None:
        days: list[Value] = [] if message.erase_days is None else [message.erase_days]
        return [_INIT, bytes(message.secret), *days]
    _check_root(INIT, "tangles.epoch", message.epoch_tangle, message.group_tangle.root)
    return [
        _INIT,
        bytes(message.secret),
        _joined(message.group_tangle.previous),
        _joined(message.epoch_tangle.previous),
    ]


def _check_root(kind: str, where: str, place: TangleData, root: MessageId | None) -> None:
    """Raise GroupMessageError if *place* is in another group: the root is encoded once, for both."""
    if place.root != root:
        raise GroupMessageError(kind, where, "is of another group than the message")


def _addition(message: AddMember, known: Collection[FeedId]) -> list[Value]:
    _check_root(ADD, "tangles.group", message.group_tangle, message.root)
    short = all(person in known for person in message.people)
    alone = message.group_tangle.previous == (message.members_tangle.root,)
    value: list[Value] = [
        _ADD,
        bytes(message.secret),
        bytes(message.root),
        _named(message.people) if short else b"".join(message.people),
        b"" if alone else _joined(message.group_tangle.previous),
        _rooted(message.members_tangle),
    ]
    if message.old_secrets:
        value.append(b"".join(message.old_secrets))
    if message.text is not None:
        value.append(message.text)
    return value


def _named(people: tuple[FeedId, ...]) -> bytes:
    return _check_of(people) + b"".join(person[: group_limits.SHORT_NAME_SIZE] for person in people)


def _check_of(people: tuple[FeedId, ...]) -> bytes:
    return hashlib.sha256(b"".join(people)).digest()[: group_limits.SHORT_CHECK_SIZE]


def _exclusion(message: ExcludeMember) -> list[Value]:
    value: list[Value] = [
        _EXCLUDE,
        _joined(message.group_tangle.previous),
        _rooted(message.members_tangle),
    ]
    for each in message.excludes:
        value.append(bytes(each.member) if each.feed is None else each.member + each.feed)
        if each.seq is not None:
            value.append(each.seq)
    return value


def _content(message: GroupContent) -> list[Value]:
    previous = _joined(message.group_tangle.previous)
    fields = fields_of(message.body)
    text, minutes = fields.get("text"), fields.get("t")
    if message.kind == POST and isinstance(text, str):
        if len(fields) == 1:
            return [_POST, previous, text]
        if len(fields) == 2 and read_minutes(minutes) is not None:
            return [_TIMED_POST, previous, text, minutes]
    return [_CONTENT, previous, message.kind, dict(fields.items())]


def _joined(ids: tuple[MessageId, ...]) -> bytes:
    return b"".join(ids)


def _rooted(place: TangleData) -> bytes:
    """Return a tangle's first message, and the predecessors unless that is the only one."""
    root = place.root or b""
    return root if place.previous == (root,) else root + _joined(place.previous)


def decode(plain: bytes, reading: ReadingContext) -> GroupMessage | PendingMessage:
    """Return the message in *plain*, the content of an envelope without an owner. Raises GroupMessageError, and nothing
    else."""
    if len(plain) > group_limits.PLAIN_MAX:
        raise GroupMessageError(_WHAT, "length", f"is more than {group_limits.PLAIN_MAX} bytes")
    try:
        value = bipf.decode(plain)
    except BipfError as error:
        raise GroupMessageError(_WHAT, "form", f"is {error}") from error
    if not isinstance(value, list) or not value:
        raise GroupMessageError(_WHAT, "form", "is not a list, or is empty")
    letter, *items = value
    parse = _PARSERS.get(letter) if isinstance(letter, str) else None
    if parse is None:
        raise GroupMessageError(_WHAT, "letter", "is unknown")
    message = parse(items, reading)
    if not isinstance(message, PendingMessage) and plain != _again(message, items):
        raise GroupMessageError(_WHAT, "form", "is not in the canonical encoding")
    return message


def _again(message: GroupMessage, items: list[Value]) -> bytes:
    """Return *message* encoded again, with people named as *items* name them."""
    if isinstance(message, AddMember) and items[2] == _named(message.people):
        return encode(message, known=message.people)
    return encode(message)


def _parse_init(items: list[Value], reading: ReadingContext) -> GroupInit | PendingMessage:
    _check_count(INIT, items, 1, 2, 3)
    secret = EpochKey(_bytes(INIT, "secret", items[0], limits.EPOCH_KEY_SIZE))
    if len(items) == 1:
        return GroupInit(secret, FIRST, FIRST, FIRST)
    if len(items) == 2:
        days = items[1]
        if not isinstance(days, int) or isinstance(days, bool):
            raise GroupMessageError(INIT, "days", "are not a number")
        return GroupInit(secret, FIRST, FIRST, FIRST, erase_days=days)
    group = _bytes(INIT, "tangles.group", items[1])
    epoch = _bytes(INIT, "tangles.epoch", items[2])
    known = _group(secret, reading)
    if isinstance(known, PendingMessage):
        return known
    return GroupInit(
        secret,
        _behind(INIT, "tangles.group", known.root, group),
        _behind(INIT, "tangles.epoch", known.root, epoch),
        FIRST,
        known.id,
        reading.author,
    )


def _parse_add(items: list[Value], reading: ReadingContext) -> AddMember | PendingMessage:
    _check_count(ADD, items, 5, 6, 7)
    secret = EpochKey(_bytes(ADD, "secret", items[0], limits.EPOCH_KEY_SIZE))
    root = MessageId(_bytes(ADD, "root", items[1], limits.MESSAGE_ID_SIZE))
    members = _members(ADD, items[4])
    group = _bytes(ADD, "tangles.group", items[3])
    old, text = _rest(items[5:])
    secrets = tuple(SharedEpochKey(key, root) for key in (secret, *old))
    people = _people(_bytes(ADD, "recps", items[2]), reading)
    group_id, creator = reading.group_of(root), reading.creator_of(root)
    if group_id is None or creator is None:
        return PendingMessage(MissingContext.ROOT, (root,), secrets)
    if isinstance(people, PendingMessage):
        return PendingMessage(people.what, people.ids, secrets)
    return AddMember(
        secret,
        group_id,
        root,
        creator,
        people,
        _behind(ADD, "tangles.group", root, group or members.root or b""),
        members,
        text,
        old,
    )


def _rest(items: list[Value]) -> tuple[tuple[EpochKey, ...], str | None]:
    """Return earlier keys and a greeting, either of which may be left out."""
    old: tuple[EpochKey, ...] = ()
    if items and isinstance(items[0], bytes):
        data = _bytes(ADD, "oldSecrets", items[0])
        keys = _parts(ADD, "oldSecrets", data, limits.EPOCH_KEY_SIZE)
        old, items = tuple(map(EpochKey, keys)), items[1:]
    if not items:
        return old, None
    if len(items) > 1 or not isinstance(items[0], str):
        raise GroupMessageError(ADD, "form", "has unknown fields")
    return old, items[0]


def _people(data: bytes, reading: ReadingContext) -> tuple[FeedId, ...] | PendingMessage:
    """Return the people named. All people who match the short names are tried, until the check is right."""
    if len(data) % limits.FEED_ID_SIZE == 0:
        return tuple(map(FeedId, _parts(ADD, "recps", data, limits.FEED_ID_SIZE)))
    check, rest = data[: group_limits.SHORT_CHECK_SIZE], data[group_limits.SHORT_CHECK_SIZE :]
    names = _parts(ADD, "recps", rest, group_limits.SHORT_NAME_SIZE)
    if not 1 <= len(names) <= limits.GROUP_ADD_MAX:
        raise GroupMessageError(ADD, "recps", f"names {len(names)} people")
    meant = [sorted(reading.people(name)) for name in names]
    nobody = tuple(name for name, some in zip(names, meant, strict=True) if not some)
    if nobody:
        return PendingMessage(MissingContext.PERSON, nobody)
    for people in islice(product(*meant), group_limits.SHORT_TRIES_MAX):
        if _check_of(people) == check:
            return people
    return PendingMessage(MissingContext.PERSON, names)


def _parse_exclude(items: list[Value], reading: ReadingContext) -> ExcludeMember | PendingMessage:
    if len(items) <= 2:
        raise GroupMessageError(EXCLUDE, "form", "lacks fields")
    group = _bytes(EXCLUDE, "tangles.group", items[0])
    members = _members(EXCLUDE, items[1])
    excludes = _excludes(items[2:])
    known = _group_of_opening(EXCLUDE, reading)
    if isinstance(known, PendingMessage):
        return known
    return ExcludeMember(known.id, excludes, _behind(EXCLUDE, "tangles.group", known.root, group), members)


def _excludes(items: list[Value]) -> tuple[ExcludedMember, ...]:
    first = _bytes(EXCLUDE, "excludes", items[0])
    if len(first) != _PAIR_SIZE:
        return tuple(
            ExcludedMember(FeedId(_bytes(EXCLUDE, "excludes", each, limits.FEED_ID_SIZE))) for each in items
        )
    if len(items) % 2:
        raise GroupMessageError(EXCLUDE, "excludes", "ends in the middle")
    excluded = []
    for pair, seq in zip(items[::2], items[1::2], strict=True):
        both = _bytes(EXCLUDE, "excludes", pair, _PAIR_SIZE)
        if not isinstance(seq, int) or isinstance(seq, bool):
            raise GroupMessageError(EXCLUDE, "excludes", "has no number in the place of a sequence number")
        member, feed = both[: limits.FEED_ID_SIZE], both[limits.FEED_ID_SIZE :]
        excluded.append(ExcludedMember(FeedId(member), FeedId(feed), seq))
    return tuple(excluded)


def _parse_post(items: list[Value], reading: ReadingContext) -> GroupContent | PendingMessage:
    _check_count(_WHAT, items, 2)
    if not isinstance(items[1], str):
        raise GroupMessageError(_WHAT, "text", "is not a text")
    return _said(items[0], *post(items[1]), reading)


def _parse_timed_post(items: list[Value], reading: ReadingContext) -> GroupContent | PendingMessage:
    _check_count(_WHAT, items, 3)
    said_s = read_minutes(items[2])
    if not isinstance(items[1], str):
        raise GroupMessageError(_WHAT, "text", "is not a text")
    if said_s is None:
        raise GroupMessageError(_WHAT, "time", "is not a number of minutes")
    return _said(items[0], *post(items[1], said_s=said_s), reading)


def _parse_content(items: list[Value], reading: ReadingContext) -> GroupContent | PendingMessage:
    _check_count(_WHAT, items, 3)
    if not isinstance(items[1], str):
        raise GroupMessageError(_WHAT, "type", "is not a text")
    return _said(items[0], items[1], body_of(checked_fields(items[2])), reading)


def _said(previous: Value, kind: str, body: bytes, reading: ReadingContext) -> GroupContent | PendingMessage:
    ids = _bytes(_WHAT, "tangles.group", previous)
    known = _group_of_opening(_WHAT, reading)
    if isinstance(known, PendingMessage):
        return known
    return GroupContent(kind, body, known.id, _behind(_WHAT, "tangles.group", known.root, ids))


class _Group(NamedTuple):
    root: MessageId
    id: GroupId


def _group_of_opening(kind: str, reading: ReadingContext) -> _Group | PendingMessage:
    if reading.key is None:
        raise GroupMessageError(kind, "envelope", "is not sealed for the group")
    return _group(reading.key, reading)


def _group(key: EpochKey, reading: ReadingContext) -> _Group | PendingMessage:
    root = reading.root_of(key)
    if root is None:
        return PendingMessage(MissingContext.GROUP, (key,))
    group = reading.group_of(root)
    if group is None:
        return PendingMessage(MissingContext.ROOT, (root,))
    return _Group(root, group)


def _members(kind: str, value: Value) -> TangleData:
    """Return the tangle data of a tangle whose first message is given."""
    ids = _bytes(kind, "tangles.members", value)
    root, rest = ids[: limits.MESSAGE_ID_SIZE], ids[limits.MESSAGE_ID_SIZE :]
    if len(root) != limits.MESSAGE_ID_SIZE:
        raise GroupMessageError(kind, "tangles.members", "names no root")
    return _behind(kind, "tangles.members", MessageId(root), rest or root)


def _behind(kind: str, where: str, root: MessageId, ids: bytes) -> TangleData:
    previous = tuple(map(MessageId, _parts(kind, where, ids, limits.MESSAGE_ID_SIZE)))
    if len(previous) != len(set(previous)):
        raise GroupMessageError(kind, where, "follows a message twice")
    if not previous:
        raise GroupMessageError(kind, where, "follows nothing")
    return TangleData(root, previous)


def _parts(kind: str, where: str, data: bytes, size: int) -> tuple[bytes, ...]:
    if len(data) % size:
        raise GroupMessageError(kind, where, f"is no row of {size} bytes each")
    return tuple(data[start : start + size] for start in range(0, len(data), size))


def _bytes(kind: str, where: str, value: Value, size: int | None = None) -> bytes:
    if not isinstance(value, bytes) or (size is not None and len(value) != size):
        raise GroupMessageError(kind, where, "is no bytes" if size is None else f"is not {size} bytes")
    return value


def _check_count(kind: str, items: list[Value], *allowed: int) -> None:
    if len(items) not in allowed:
        raise GroupMessageError(kind, "form", f"has {len(items)} fields")


_Parser: TypeAlias = Callable[[list[Value], ReadingContext], GroupMessage | PendingMessage]
_PARSERS: Final[dict[str, _Parser]] = {
    _INIT: _parse_init,
    _ADD: _parse_add,
    _EXCLUDE: _parse_exclude,
    _POST: _parse_post,
    _TIMED_POST: _parse_timed_post,
    _CONTENT: _parse_content,
}
