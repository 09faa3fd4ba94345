"""Notes: content that names the tangles it is in (docs/formats/tangles.md)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeGuard

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import Value
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.padded import decode
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.ids import MessageId

_TANGLES: Final = "tangles"
_ROOT: Final = "root"
_PREVIOUS: Final = "previous"


@dataclass(frozen=True, slots=True)
class Note:
    """Content with its tangle data."""

    places: Mapping[str, TangleData]
    """By the name of the tangle. In a compact list none has a root: it is that of the predecessors."""
    body: Value
    """The other content: of a map the other keys, of a compact list its last item."""


def parse_note(content: bytes) -> Note | None:
    """Parse *content* in either form; None if it names no tangles, as most content. Never raises."""
    return read_note(decode(content))


def read_note(value: Value) -> Note | None:
    """Parse content that is decoded already, as `parse_note` does."""
    if isinstance(value, dict):
        return _read_map(value)
    return _read_compact(value) if isinstance(value, list) else None


def _read_map(value: Mapping[bipf.Scalar, Value]) -> Note | None:
    tangles = value.get(_TANGLES)
    if not isinstance(tangles, dict):
        return None
    places = {
        name: place
        for name, data in islice(tangles.items(), content_limits.TANGLES_MAX)
        if is_name(name) and (place := _read_data(data)) is not None
    }
    return Note(places, {key: item for key, item in value.items() if key != _TANGLES})


def _read_data(data: Value) -> TangleData | None:
    """Return the SIP's tangle data; None if it is malformed, or names too many predecessors."""
    if not isinstance(data, dict) or _ROOT not in data or _PREVIOUS not in data:
        return None
    root, previous = data[_ROOT], data[_PREVIOUS]
    if root is None and previous is None:
        return FIRST
    if not isinstance(previous, list) or not _is_id(root) or not previous or not all(map(_is_id, previous)):
        return None
    return _place(root, previous)


def _place(root: object, previous: Sequence[object]) -> TangleData | None:
    """Return tangle data of ids that have been checked."""
    if len(previous) > limits.TANGLE_PREVIOUS_MAX:
        return None
    ids = dict.fromkeys(MessageId(id_) for id_ in previous if isinstance(id_, bytes))
    return TangleData(MessageId(root) if isinstance(root, bytes) else None, tuple(ids))


def _is_id(value: object) -> bool:
    return isinstance(value, bytes) and len(value) == limits.MESSAGE_ID_SIZE


def is_name(value: object) -> TypeGuard[str]:
    """Return whether *value* may name a tangle."""
    return (
        isinstance(value, str) and 1 <= len(value.encode(errors="replace")) <= 32  # a word that people read
    )


def _read_compact(items: Sequence[Value]) -> Note | None:
    if len(items) % 2 == 0 or not 3 <= len(items) <= 2 * content_limits.TANGLES_MAX + 1:
        return None
    places: dict[str, TangleData] = {}
    for packed, name in zip(items[:-1:2], items[1::2], strict=True):
        if not isinstance(packed, bytes) or len(packed) % limits.MESSAGE_ID_SIZE:
            return None
        if not is_name(name) or name in places:
            return None
        place = _place(None, list(_unpack(packed)))
        if place is None:
            return None
        places[name] = place
    return Note(places, items[-1])


def _unpack(packed: bytes) -> Iterator[bytes]:
    for start in range(0, len(packed), limits.MESSAGE_ID_SIZE):
        yield packed[start : start + limits.MESSAGE_ID_SIZE]


def serialize_map(note: Note) -> bytes:
    """Serialize *note* in the SIP's form. Raises ValueError if the body is not a dict or has a key ``tangles``, for
    tangle data with predecessors and no root, and beyond the format's limits; BipfError for a body that BIPF cannot
    encode."""
    _check(note)
    if not isinstance(note.body, dict) or _TANGLES in note.body:
        raise ValueError("the body of a map is a dict without tangles")
    tangles: dict[bipf.Scalar, Value] = {}
    for name, place in note.places.items():
        if not place.first and place.root is None:
            raise ValueError(f"the root of tangle {name!r} is not said")
        tangles[name] = {_ROOT: place.root, _PREVIOUS: list(place.previous) or None}
    return bipf.encode({_TANGLES: tangles, **note.body})


def serialize_compact(note: Note) -> bytes:
    """Serialize *note* as a compact list. Raises ValueError for tangle data with a root or if there is none, and beyond
    the format's limits; BipfError for a body that BIPF cannot encode."""
    _check(note)
    if not note.places:
        raise ValueError("a compact list is in some tangle")
    items: list[Value] = []
    for name, place in note.places.items():
        if place.root is not None:
            raise ValueError(f"a compact list does not say the root of tangle {name!r}")
        items += [b"".join(place.previous), name]
    return bipf.encode([*items, note.body])


def _check(note: Note) -> None:
    """Raise ValueError for a note that no reader accepts."""
    if len(note.places) > content_limits.TANGLES_MAX:
        raise ValueError(f"a message is in at most {content_limits.TANGLES_MAX} tangles")
    for name, place in note.places.items():
        if not is_name(name):
            raise ValueError(f"{name!r} is no name of a tangle")
        if len(place.previous) > limits.TANGLE_PREVIOUS_MAX:
            raise ValueError(f"a message follows at most {limits.TANGLE_PREVIOUS_MAX} others in one tangle")
