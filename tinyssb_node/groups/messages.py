"""The messages of a private group: one value for each kind, which can only be built in a valid form.

The values have all fields of private-group-spec 8.1.0 (exclusion document 4.1 and 4.10), also those that the short form
leaves out. Whether a message counts depends on messages of others (`membership`).

The body of a `GroupContent` is the BIPF dict of all fields but `type`, `recps` and the group's tangle, in one canonical
encoding: names in order. It can hold JSON values and bytes (docs/formats/group-messages.md).
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Final, TypeAlias

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import BipfError, Scalar, Value
from tinyssb_node.content.files import WORD, File, read_file
from tinyssb_node.content.minutes import read_minutes, to_minutes
from tinyssb_node.content.tangle import TangleData
from tinyssb_node.content.telemetry import parse_telemetry
from tinyssb_node.errors import PeerError
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.ids import EpochKey, FeedId, GroupId, MessageId


class GroupMessageError(PeerError):
    """A message of a private group that is malformed: one of its fields has an invalid value."""

    def __init__(self, kind: str, where: str, what: str) -> None:
        super().__init__(f"{where} of a {kind} {what}")
        self.kind = kind
        self.where = where
        self.what = what


INIT: Final = "group/init"
ADD: Final = "group/add-member"
EXCLUDE: Final = "group/exclude-member"
_NOBODY: Final = bytes(limits.FEED_ID_SIZE)


@dataclass(frozen=True, slots=True)
class ExcludedMember:
    """A person who is excluded."""

    member: FeedId
    feed: FeedId | None = None
    """Their feed in the epoch that they are excluded from (v1.0); None: not given (v0.0)."""
    seq: int | None = None
    """Number of its last entry that the excluder has, 0 for none (v1.0)."""

    def __post_init__(self) -> None:
        """Raise GroupMessageError if the fields contradict each other."""
        _check_person(EXCLUDE, "excludes", self.member)
        if (self.feed is None) != (self.seq is None):
            raise GroupMessageError(
                EXCLUDE, "excludes", "has a feed without a number, or a number without a feed"
            )
        if self.seq is not None and not 0 <= self.seq <= limits.SEQ_MAX:
            raise GroupMessageError(EXCLUDE, "excludes", f"has {self.seq} for an entry's number")


@dataclass(frozen=True, slots=True)
class GroupInit:
    """The first message of an epoch, on its author's feed of that epoch (4.1.3)."""

    secret: EpochKey = field(repr=False)
    """The epoch's key. A key of zeros seals nothing."""
    group_tangle: TangleData
    epoch_tangle: TangleData
    members_tangle: TangleData
    """Always first: it begins the list of an epoch's members."""
    group: GroupId | None = None
    """None in the group's first message, whose id is not known while it is written."""
    author: FeedId | None = None
    """The author, for whom the message is sealed beside the group. None in the group's first message."""
    erase_days: int | None = None
    """After how many days texts of the group are erased, in its first message; None: never."""

    def __post_init__(self) -> None:
        """Raise GroupMessageError if a field is invalid."""
        _check_key(INIT, "secret", self.secret)
        if not self.members_tangle.first:
            raise GroupMessageError(INIT, "tangles.members", "does not begin a tangle")
        if self.erase_days is not None and (
            self.group is not None or not 1 <= self.erase_days <= limits.ERASE_DAYS_MAX
        ):
            raise GroupMessageError(INIT, "days", "are not of a group, or too many")
        if self.group is None:
            if self.author is not None:
                raise GroupMessageError(INIT, "recps", "names a person, but no group")
            if not (self.group_tangle.first and self.epoch_tangle.first):
                raise GroupMessageError(INIT, "recps", "names no group, though the message follows others")
            return
        if self.author is None:
            raise GroupMessageError(INIT, "recps", "does not name its author")
        _check_person(INIT, "recps", self.author)
        _check_follows(INIT, "tangles.group", self.group_tangle)
        _check_follows(INIT, "tangles.epoch", self.epoch_tangle)


@dataclass(frozen=True, slots=True)
class AddMember:
    """An addition: its author shares an epoch's key with people, on their additions feed (4.1.5)."""

    secret: EpochKey = field(repr=False)
    """Key of the epoch."""
    group: GroupId
    root: MessageId
    """The group's first message, which a newcomer needs to find the group."""
    creator: FeedId
    """Author of the group's first message."""
    people: tuple[FeedId, ...]
    """1 to 15, each once."""
    group_tangle: TangleData
    members_tangle: TangleData
    """Its root is the init of the epoch."""
    text: str | None = None
    """A greeting."""
    old_secrets: tuple[EpochKey, ...] = field(default=(), repr=False)
    """Keys of earlier epochs; none for people who were not in them and join a new one."""

    def __post_init__(self) -> None:
        """Raise GroupMessageError if a field is invalid."""
        _check_key(ADD, "secret", self.secret)
        _check_person(ADD, "creator", self.creator)
        _check_people(ADD, "recps", self.people, limits.GROUP_ADD_MAX)
        _check_follows(ADD, "tangles.group", self.group_tangle)
        _check_follows(ADD, "tangles.members", self.members_tangle)
        if self.text is not None and len(self.text.encode()) > limits.GROUP_TEXT_MAX:
            raise GroupMessageError(ADD, "text", f"has more than {limits.GROUP_TEXT_MAX} bytes")
        if len(self.old_secrets) > limits.GROUP_NAMED_MAX:
            raise GroupMessageError(ADD, "oldSecrets", f"has more than {limits.GROUP_NAMED_MAX} keys")
        if len({self.secret, *self.old_secrets}) != 1 + len(self.old_secrets):
            raise GroupMessageError(ADD, "oldSecrets", "has a key twice")
        for key in self.old_secrets:
            _check_key(ADD, "oldSecrets", key)


@dataclass(frozen=True, slots=True)
class ExcludeMember:
    """An exclusion: the next epoch will be without some people. It is on its author's feed of this epoch (4.1.4)."""

    group: GroupId
    excludes: tuple[ExcludedMember, ...]
    """At least one, each person once, all in one form."""
    group_tangle: TangleData
    members_tangle: TangleData

    def __post_init__(self) -> None:
        """Raise GroupMessageError if a field is invalid."""
        _check_people(EXCLUDE, "excludes", [each.member for each in self.excludes], limits.GROUP_NAMED_MAX)
        if len({each.feed is None for each in self.excludes}) != 1:
            raise GroupMessageError(EXCLUDE, "excludes", "mixes two forms")
        _check_follows(EXCLUDE, "tangles.group", self.group_tangle)
        _check_follows(EXCLUDE, "tangles.members", self.members_tangle)

    @property
    def people(self) -> frozenset[FeedId]:
        """The people who are excluded."""
        return frozenset(each.member for each in self.excludes)


@dataclass(frozen=True, slots=True)
class GroupContent:
    """Any other message to a group."""

    kind: str
    """Its type, such as `post`."""
    body: bytes
    """The other fields, as they were in the envelope."""
    group: GroupId
    group_tangle: TangleData

    def __post_init__(self) -> None:
        """Raise GroupMessageError if a field is invalid."""
        if not 1 <= len(self.kind.encode()) <= limits.GROUP_KIND_MAX:
            raise GroupMessageError("message to a group", "type", "is empty or too long")
        if self.kind in {INIT, ADD, EXCLUDE}:
            raise GroupMessageError(
                "message to a group", "type", f"is {self.kind}, which has fields of its own"
            )
        _check_follows("message to a group", "tangles.group", self.group_tangle)


GroupMessage: TypeAlias = GroupInit | AddMember | ExcludeMember | GroupContent


class FeedRole(StrEnum):
    """The role of a member's feed."""

    ADDITIONS = "additions"
    """The member's one feed of additions."""
    EPOCH = "epoch"
    """The member's feed in one epoch."""


@dataclass(frozen=True, slots=True)
class OpenedGroupMessage:
    """A message of a group, out of its envelope."""

    id: MessageId
    author: FeedId
    """Main feed of the member whose feed it is on."""
    role: FeedRole
    """Role of the feed that it is on."""
    key: EpochKey | None = field(repr=False)
    """Key of the epoch whose feed it is on; None on an additions feed."""
    message: GroupMessage
    seq: int = 0
    """Its number in its feed."""
    arrival: int = field(default=0, compare=False)
    """Arrival number in the store of its last packet."""


@dataclass(frozen=True, slots=True)
class MessageFlaw:
    """The reason why a message does not count."""

    rule: str
    """Number of the rule in docs/reference/groups.md, such as `R32`."""
    what: str
    """Description for the audit."""


def _check_key(kind: str, where: str, key: EpochKey) -> None:
    if not any(key):
        raise GroupMessageError(kind, where, "is all zeros, which seals nothing")


def _check_person(kind: str, where: str, person: FeedId) -> None:
    if person == _NOBODY:
        raise GroupMessageError(kind, where, "names the feed of 32 zeros, which has no owner")


def _check_people(kind: str, where: str, people: Sequence[FeedId], most: int) -> None:
    if not 1 <= len(people) <= most:
        raise GroupMessageError(kind, where, f"names {len(people)} people, not 1 to {most}")
    if len(set(people)) != len(people):
        raise GroupMessageError(kind, where, "names a person twice")
    for person in people:
        _check_person(kind, where, person)


def _check_follows(kind: str, where: str, place: TangleData) -> None:
    """Raise GroupMessageError unless *place* names a root and predecessors (R32 to R34)."""
    if place.root is None:
        raise GroupMessageError(kind, where, "names no root")
    if len(place.previous) > limits.TANGLE_PREVIOUS_MAX:
        raise GroupMessageError(kind, where, f"follows more than {limits.TANGLE_PREVIOUS_MAX} messages")


POST: Final = "post"
FILE: Final = "file"
NAME: Final = "group/name"
TELEMETRY: Final = "telemetry"
LEAVE: Final = "group/leave"
_BYTES_FIELD: Final = "$base64"
"""In JSON, bytes are an object with this one field. So no dict may look like that."""
_WHAT: Final = "message to a group"
_TEXT: Final = "text"
_REPLY: Final = "re"
_NAME: Final = "name"
_FILE: Final = "file"
_TIME: Final = "t"
_RECORD: Final = "record"


def body_of(fields: Mapping[str, Value]) -> bytes:
    """Return the canonical encoding of *fields*.

    Raises GroupMessageError for values that JSON does not have, and for fields that every message has.
    """
    taken = fields.keys() & {"type", "recps"}
    if taken:
        raise GroupMessageError(_WHAT, "body", f"has a field {min(taken)}, which every message has")
    if "tangles" in fields:
        _check_others(fields["tangles"])
    try:
        return bipf.encode(_tidy(dict(fields.items()), 0))
    except BipfError as error:
        raise GroupMessageError(_WHAT, "body", f"cannot be encoded in BIPF: {error.reason}") from error


def fields_of(body: bytes) -> dict[str, Value]:
    """Return the fields in *body*. Raises GroupMessageError."""
    try:
        fields = bipf.decode(body)
    except BipfError as error:
        raise GroupMessageError(_WHAT, "body", f"is {error}") from error
    checked = checked_fields(fields)
    if body_of(checked) != body:
        raise GroupMessageError(_WHAT, "body", "is not in the canonical encoding of its fields")
    return checked


def checked_fields(value: Value) -> dict[str, Value]:
    """Return *value* as fields, if it is a dict of names. Raises GroupMessageError."""
    if not isinstance(value, dict):
        raise GroupMessageError(_WHAT, "body", "is not a dict")
    return {_name(key): item for key, item in value.items()}


def _check_others(tangles: Value) -> None:
    if not isinstance(tangles, dict) or not tangles or "group" in tangles:
        raise GroupMessageError(_WHAT, "tangles", "are not a dict of tangles beside the group's")


def _tidy(value: Value, depth: int) -> Value:
    if depth > group_limits.BODY_DEPTH_MAX:
        raise GroupMessageError(_WHAT, "body", f"is nested deeper than {group_limits.BODY_DEPTH_MAX}")
    if isinstance(value, list):
        return [_tidy(item, depth + 1) for item in value]
    if isinstance(value, dict):
        if like_bytes(value):
            raise GroupMessageError(_WHAT, "body", f"has {_BYTES_FIELD} as its only name, which means bytes")
        return {name: _tidy(value[name], depth + 1) for name in sorted(map(_name, value))}
    if isinstance(value, float) and not isfinite(value):
        raise GroupMessageError(_WHAT, "body", "has a number that is infinite or undefined")
    return value


def _name(key: Scalar) -> str:
    if not isinstance(key, str):
        raise GroupMessageError(_WHAT, "body", "has a field whose name is not a text")
    return key


def like_bytes(value: Mapping[Scalar, Value]) -> bool:
    """Return whether *value* looks like bytes in JSON: an object with one field, in canonical base64."""
    text = value.get(_BYTES_FIELD)
    if len(value) != 1 or not isinstance(text, str):
        return False
    try:
        return b64encode(b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False


def post(text: str, reply_to: MessageId | None = None, said_s: int | None = None) -> tuple[str, bytes]:
    """Return kind and body of a text to the group, which may answer one of its messages. *said_s*: the author's clock,
    seconds since 1970, written in minutes; None: the text has no time."""
    return POST, body_of({_TEXT: text, **_about(reply_to, said_s)})


def attach(file: File, reply_to: MessageId | None = None, said_s: int | None = None) -> tuple[str, bytes]:
    """Return kind and body of a file to the group, in the form of public files (docs/formats/files.md); see `post`.
    Raises GroupMessageError."""
    if len(file.data) > limits.GROUP_FILE_MAX:
        raise GroupMessageError(FILE, "data", f"has more than {limits.GROUP_FILE_MAX:,} bytes")
    return FILE, body_of({_FILE: [WORD, file.name, file.type, file.data], **_about(reply_to, said_s)})


def share(record: bytes) -> tuple[str, bytes]:
    """Return kind and body of a position, or of values of sensors, for the group: the content of a public one
    (docs/formats/telemetry.md)."""
    return TELEMETRY, body_of({_RECORD: record})


def record_in(content: GroupMessage) -> bytes | None:
    """Return the position, or the values of sensors, in a message; None if there are none, or they are malformed."""
    value = _field(content, TELEMETRY, _RECORD) if isinstance(content, GroupContent) else None
    return value if isinstance(value, bytes) and parse_telemetry(value) is not None else None


def _about(reply_to: MessageId | None, said_s: int | None) -> dict[str, Value]:
    """Return the fields for the message that is answered, and for the time, as far as there are any."""
    minutes = 0 if said_s is None else to_minutes(said_s)
    found: dict[str, Value] = {} if reply_to is None else {_REPLY: bytes(reply_to)}
    return {**found, _TIME: minutes} if minutes else found


def said_us_of(content: GroupContent) -> int | None:
    """Return its author's clock when a post or a file was written, microseconds since 1970; None: it states none."""
    said_s = read_minutes(_field(content, content.kind, _TIME)) if content.kind in {POST, FILE} else None
    return None if said_s is None else said_s * 1_000_000


def rename(text: str) -> tuple[str, bytes]:
    """Return kind and body of a message that names the group. The last one in the group's order counts."""
    return NAME, body_of({_NAME: text})


def leave() -> tuple[str, bytes]:
    """Return kind and body of a message by which its author leaves the group."""
    return LEAVE, body_of({})


def text_of(content: GroupContent) -> str | None:
    """Return the text of a post; None if *content* is not a post, or has no text."""
    return _said(content, POST, _TEXT)


def file_of(content: GroupContent) -> File | None:
    """Return the file in a message; None if there is none, or it is malformed."""
    value = _field(content, FILE, _FILE)
    return None if value is None else read_file(value)


def reply_of(content: GroupContent) -> MessageId | None:
    """Return the message that a post or a file answers; None if it answers none."""
    answered = _field(content, POST, _REPLY) or _field(content, FILE, _REPLY)
    if not isinstance(answered, bytes) or len(answered) != MessageId.SIZE:
        return None
    return MessageId(answered)


def name_of(content: GroupContent) -> str | None:
    """Return the name that *content* gives the group; None if it gives none."""
    return _said(content, NAME, _NAME)


def _said(content: GroupContent, kind: str, field: str) -> str | None:
    said = _field(content, kind, field)
    return said if isinstance(said, str) else None


def _field(content: GroupContent, kind: str, field: str) -> Value:
    if content.kind != kind:
        return None
    try:
        return fields_of(content.body).get(field)
    except GroupMessageError:
        return None
