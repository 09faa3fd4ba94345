"""The long form of a group's messages: JSON objects, as programs for classic feeds write (private-group-spec 8.1.0).

Nothing is lost from either form to the other, so that a bridge can hand on what was said. It has to know who is who:
which feed, message and group over there is which one here.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.bipf import Value
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.content import BYTES_FIELD, body_of, bytes_in, fields_of
from tinyssb_node.groups.messages import (
    ADD,
    EXCLUDE,
    INIT,
    VERSION,
    AddMember,
    ExcludedMember,
    ExcludeMember,
    ExcludesForm,
    GroupContent,
    GroupInit,
    GroupMessage,
    GroupMessageError,
)
from tinyssb_node.ids import EpochKey, FeedId, GroupId, MessageId

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
T = TypeVar("T", MessageId, FeedId, GroupId)

_WHAT: Final = "message to a group"
_32_BYTES: Final = r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]="
_MESSAGE: Final = re.compile(rf"ssb:message/classic/{_32_BYTES}")
_PERSON: Final = re.compile(rf"ssb:feed/bendybutt-v1/{_32_BYTES}")
_FEED: Final = re.compile(rf"ssb:feed/(?:classic|bendybutt-v1)/{_32_BYTES}")
_GROUP: Final = re.compile(rf"ssb:identity/group/{_32_BYTES}")


@dataclass(frozen=True, slots=True)
class ClassicIdTable:
    """What is called what on the other side of a bridge. Raises ValueError if two of one kind are called the same."""

    messages: Mapping[MessageId, str]
    people: Mapping[FeedId, str]
    """Main feeds here, root metafeeds there."""
    feeds: Mapping[FeedId, str]
    """Feeds of epochs."""
    groups: Mapping[GroupId, str]
    back: Mapping[str, MessageId | FeedId | GroupId] = field(init=False, repr=False)
    """All of it, from there to here."""

    def __post_init__(self) -> None:
        tables = self.messages.items(), self.people.items(), self.feeds.items(), self.groups.items()
        back = {name: id_ for table in tables for id_, name in table}
        if len(back) != sum(len(table) for table in tables):
            raise ValueError("two ids have one name on the other side")
        object.__setattr__(self, "back", back)


@dataclass(frozen=True, slots=True)
class UnknownClassicId:
    """A message names something that the table of ids lacks. It can be translated once that is in it."""

    id: str | MessageId | FeedId | GroupId


class _UnknownIdError(Exception):
    def __init__(self, id_: str | MessageId | FeedId | GroupId) -> None:
        super().__init__(id_)
        self.id = id_


def to_classic(
    message: GroupMessage, ids: ClassicIdTable, *, excludes: ExcludesForm = ExcludesForm.V1
) -> dict[str, Json] | UnknownClassicId:
    """The JSON object of *message*. Raises GroupMessageError for a body that has none.

    With *excludes* v0.0 an exclusion names people only, as private-group-spec knows it; v1.0 says all that it says.
    """
    try:
        return _written(message, ids, excludes)
    except _UnknownIdError as unknown:
        return UnknownClassicId(unknown.id)


def _written(message: GroupMessage, ids: ClassicIdTable, excludes: ExcludesForm) -> dict[str, Json]:
    if isinstance(message, GroupInit):
        return _init_written(message, ids)
    if isinstance(message, AddMember):
        return _add_written(message, ids)
    if isinstance(message, ExcludeMember):
        return {
            "type": EXCLUDE,
            "excludes": [_excluded_written(each, ids, excludes) for each in message.excludes],
            "recps": [_name(ids.groups, message.group)],
            "tangles": {
                "group": _place_written(message.group_tangle, ids),
                "members": _place_written(message.members_tangle, ids),
            },
        }
    said = {name: _json(value) for name, value in fields_of(message.body).items()}
    others = said.pop("tangles", None)
    return {
        "type": message.kind,
        **said,
        "recps": [_name(ids.groups, message.group)],
        "tangles": {
            "group": _place_written(message.group_tangle, ids),
            **(others if isinstance(others, dict) else {}),
        },
    }


def _init_written(message: GroupInit, ids: ClassicIdTable) -> dict[str, Json]:
    written: dict[str, Json] = {
        "type": INIT,
        "version": VERSION,
        "secret": _key_written(message.secret),
        "tangles": {
            "group": _place_written(message.group_tangle, ids),
            "epoch": _place_written(message.epoch_tangle, ids),
            "members": _place_written(message.members_tangle, ids),
        },
    }
    if message.group is not None and message.author is not None:
        written["recps"] = [_name(ids.groups, message.group), _name(ids.people, message.author)]
    return written


def _add_written(message: AddMember, ids: ClassicIdTable) -> dict[str, Json]:
    written: dict[str, Json] = {
        "type": ADD,
        "version": VERSION,
        "secret": _key_written(message.secret),
        "root": _name(ids.messages, message.root),
        "creator": _name(ids.people, message.creator),
        "recps": [
            _name(ids.groups, message.group),
            *(_name(ids.people, person) for person in message.people),
        ],
        "tangles": {
            "group": _place_written(message.group_tangle, ids),
            "members": _place_written(message.members_tangle, ids),
        },
    }
    if message.text is not None:
        written["text"] = message.text
    if message.old_secrets:
        written["oldSecrets"] = [_key_written(key) for key in message.old_secrets]
    return written


def _excluded_written(each: ExcludedMember, ids: ClassicIdTable, form: ExcludesForm) -> Json:
    member = _name(ids.people, each.member)
    if form is ExcludesForm.V0 or each.feed is None:
        return member
    return {"id": member, "groupFeedId": _name(ids.feeds, each.feed), "sequence": each.seq}


def _place_written(place: TangleData, ids: ClassicIdTable) -> Json:
    if place.root is None:
        return {"root": None, "previous": None}
    return {
        "root": _name(ids.messages, place.root),
        "previous": [_name(ids.messages, id_) for id_ in place.previous],
    }


def _key_written(key: EpochKey) -> str:
    return b64encode(key).decode()


def _name(table: Mapping[T, str], id_: T) -> str:
    name = table.get(id_)
    if name is None:
        raise _UnknownIdError(id_)
    return name


def _json(value: Value) -> Json:
    if isinstance(value, bytes):
        return {BYTES_FIELD: b64encode(value).decode()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _json(item) for name, item in value.items()}
    return value


def from_classic(written: object, ids: ClassicIdTable) -> GroupMessage | UnknownClassicId:
    """The message that the JSON value *written* is. Raises GroupMessageError, and nothing else."""
    if not isinstance(written, dict):
        raise GroupMessageError(_WHAT, "form", "is no object")
    kind = _text(_WHAT, "type", written.get("type"))
    try:
        return _READERS.get(kind, _read_content)(written, ids)
    except _UnknownIdError as unknown:
        return UnknownClassicId(unknown.id)


def _read_init(written: dict[str, object], ids: ClassicIdTable) -> GroupInit:
    first = "recps" not in written
    _check_fields(INIT, written, {"version", "secret", "tangles"} | (set() if first else {"recps"}))
    _check_version(INIT, written)
    tangles = _tangles(INIT, written, {"group", "epoch", "members"})
    secret = _key(INIT, "secret", written["secret"])
    group_place, epoch_place, members_place = (
        _place(INIT, name, tangles[name], ids) for name in ("group", "epoch", "members")
    )
    if first:
        return GroupInit(secret, group_place, epoch_place, members_place)
    recps = _list(INIT, "recps", written["recps"], 2, 2)
    group = _id(INIT, "recps", recps[0], _GROUP, ids, GroupId)
    author = _id(INIT, "recps", recps[1], _PERSON, ids, FeedId)
    return GroupInit(secret, group_place, epoch_place, members_place, group, author)


def _read_add(written: dict[str, object], ids: ClassicIdTable) -> AddMember:
    needed = {"version", "secret", "root", "creator", "recps", "tangles"}
    _check_fields(ADD, written, needed, {"text", "oldSecrets"})
    _check_version(ADD, written)
    tangles = _tangles(ADD, written, {"group", "members"})
    recps = _list(ADD, "recps", written["recps"], 2, 1 + limits.GROUP_ADD_MAX)
    old = _list(ADD, "oldSecrets", written.get("oldSecrets", []), 0, limits.GROUP_NAMED_MAX)
    return AddMember(
        secret=_key(ADD, "secret", written["secret"]),
        group=_id(ADD, "recps", recps[0], _GROUP, ids, GroupId),
        root=_id(ADD, "root", written["root"], _MESSAGE, ids, MessageId),
        creator=_id(ADD, "creator", written["creator"], _PERSON, ids, FeedId),
        people=tuple(_id(ADD, "recps", each, _PERSON, ids, FeedId) for each in recps[1:]),
        group_tangle=_place(ADD, "group", tangles["group"], ids),
        members_tangle=_place(ADD, "members", tangles["members"], ids),
        text=_text(ADD, "text", written["text"]) if "text" in written else None,
        old_secrets=tuple(_key(ADD, "oldSecrets", each) for each in old),
    )


def _read_exclude(written: dict[str, object], ids: ClassicIdTable) -> ExcludeMember:
    _check_fields(EXCLUDE, written, {"excludes", "recps", "tangles"})
    tangles = _tangles(EXCLUDE, written, {"group", "members"})
    people = _list(EXCLUDE, "excludes", written["excludes"], 1, limits.GROUP_NAMED_MAX)
    return ExcludeMember(
        _group(EXCLUDE, written, ids),
        tuple(_read_excluded(each, ids) for each in people),
        _place(EXCLUDE, "group", tangles["group"], ids),
        _place(EXCLUDE, "members", tangles["members"], ids),
    )


def _read_excluded(written: object, ids: ClassicIdTable) -> ExcludedMember:
    if not isinstance(written, dict):
        return ExcludedMember(_id(EXCLUDE, "excludes", written, _PERSON, ids, FeedId))
    if written.keys() != {"id", "groupFeedId", "sequence"}:
        raise GroupMessageError(EXCLUDE, "excludes", "has an object with other fields than three")
    seq = written["sequence"]
    if not isinstance(seq, int) or isinstance(seq, bool):
        raise GroupMessageError(EXCLUDE, "excludes", "has something else for an entry's number")
    member = _id(EXCLUDE, "excludes", written["id"], _PERSON, ids, FeedId)
    return ExcludedMember(member, _id(EXCLUDE, "excludes", written["groupFeedId"], _FEED, ids, FeedId), seq)


def _read_content(written: dict[str, object], ids: ClassicIdTable) -> GroupContent:
    kind = _text(_WHAT, "type", written["type"])
    tangles = written.get("tangles")
    if not isinstance(tangles, dict) or "group" not in tangles:
        raise GroupMessageError(_WHAT, "tangles", "have no place in the group's")
    said = {
        _text(_WHAT, "field", name): _value(item, 0)
        for name, item in written.items()
        if name not in {"type", "recps", "tangles"}
    }
    others = {name: item for name, item in tangles.items() if name != "group"}
    if others:
        said["tangles"] = _value(others, 0)
    place = _place(_WHAT, "group", tangles["group"], ids)
    return GroupContent(kind, body_of(said), _group(_WHAT, written, ids), place)


def _group(kind: str, written: dict[str, object], ids: ClassicIdTable) -> GroupId:
    """The group that is the only one a message is for."""
    return _id(kind, "recps", _list(kind, "recps", written.get("recps"), 1, 1)[0], _GROUP, ids, GroupId)


def _tangles(kind: str, written: dict[str, object], names: set[str]) -> dict[str, object]:
    tangles = written["tangles"]
    if not isinstance(tangles, dict) or tangles.keys() != names:
        raise GroupMessageError(kind, "tangles", f"are not {', '.join(sorted(names))}")
    return tangles


def _place(kind: str, name: str, written: object, ids: ClassicIdTable) -> TangleData:
    where = f"tangles.{name}"
    if not isinstance(written, dict) or written.keys() != {"root", "previous"}:
        raise GroupMessageError(kind, where, "is no object with root and previous")
    if written["root"] is None and written["previous"] is None:
        return FIRST
    root = _id(kind, where, written["root"], _MESSAGE, ids, MessageId)
    behind = _list(kind, where, written["previous"], 1, limits.TANGLE_PREVIOUS_MAX)
    previous = tuple(_id(kind, where, each, _MESSAGE, ids, MessageId) for each in behind)
    if len(set(previous)) != len(previous):
        raise GroupMessageError(kind, where, "follows a message twice")
    return TangleData(root, previous)


def _key(kind: str, where: str, written: object) -> EpochKey:
    key = bytes_in(written)
    if key is None or len(key) != limits.EPOCH_KEY_SIZE:
        raise GroupMessageError(kind, where, f"is no {limits.EPOCH_KEY_SIZE} bytes in base64")
    return EpochKey(key)


def _id(
    kind: str, where: str, written: object, form: re.Pattern[str], ids: ClassicIdTable, type_: type[T]
) -> T:
    """What the name *written* names here, after a look at its form."""
    if not isinstance(written, str) or form.fullmatch(written) is None:
        raise GroupMessageError(kind, where, "names something that is no id of that kind")
    id_ = ids.back.get(written)
    if not isinstance(id_, type_):
        raise _UnknownIdError(written)
    return id_


def _list(kind: str, where: str, written: object, least: int, most: int) -> list[object]:
    if not isinstance(written, list) or not least <= len(written) <= most:
        raise GroupMessageError(kind, where, f"is no list of {least} to {most}")
    return written


def _text(kind: str, where: str, written: object) -> str:
    if not isinstance(written, str):
        raise GroupMessageError(kind, where, "is no text")
    try:
        written.encode()
    except UnicodeEncodeError as error:
        raise GroupMessageError(kind, where, "has half a surrogate pair") from error
    return written


def _check_version(kind: str, written: dict[str, object]) -> None:
    if written["version"] != VERSION:
        raise GroupMessageError(kind, "version", f"is not {VERSION}")


def _check_fields(
    kind: str, written: dict[str, object], needed: set[str], optional: frozenset[str] | set[str] = frozenset()
) -> None:
    if not needed <= written.keys() - {"type"} <= needed | optional:
        raise GroupMessageError(kind, "form", "lacks a field, or has one too many")


def _value(written: object, depth: int) -> Value:
    """A JSON value as BIPF says it."""
    if depth > group_limits.BODY_DEPTH_MAX:
        raise GroupMessageError(_WHAT, "body", f"is nested deeper than {group_limits.BODY_DEPTH_MAX}")
    if isinstance(written, list):
        return [_value(item, depth + 1) for item in written]
    if isinstance(written, dict):
        data = bytes_in(written.get(BYTES_FIELD)) if len(written) == 1 else None
        if data is not None:
            return data
        return {_text(_WHAT, "field", name): _value(item, depth + 1) for name, item in written.items()}
    if written is None or isinstance(written, bool | int | float | str):
        return written
    raise GroupMessageError(_WHAT, "body", "has something that is not of JSON")


_Reader: TypeAlias = Callable[[dict[str, object], ClassicIdTable], GroupMessage]
_READERS: Final[dict[str, _Reader]] = {INIT: _read_init, ADD: _read_add, EXCLUDE: _read_exclude}
