"""Events as lines of an event log (``docs/formats/events.md``), as the daemon and the simulator write them.

A line is written for every packet. So everything that follows from an event's class is computed once: its msgspec
struct, its fields of bytes, which become hexadecimal, and its texts, which may need cutting.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from tinyssb_node import limits
from tinyssb_node.codec import events

EVENT_VERSION: Final = 1
"""The schema written."""

START: Final = "start"
"""Kind of the first record of a boot."""
STOP: Final = "stop"
"""Kind of the last record of a boot that ended in order."""
MARK: Final = "mark"
"""Kind of the record that states the log's last arrival number when its segment began."""

KINDS: Final[Mapping[type[events.Event], str]] = {
    events.DaemonStarted: START,
    events.DaemonStopped: STOP,
    events.ClockSet: "clock",
    events.FaceUp: "face_up",
    events.FaceDown: "face_down",
    events.EntryAppended: "entry",
    events.ChunkAppended: "chunk",
    events.PacketReceived: "rx",
    events.PacketSent: "tx",
    events.PacketsSent: "tx_more",
    events.PacketsReceived: "rx_more",
    events.RecordsLeftOut: "left_out",
    events.WantSeen: "want",
    events.ChnkSeen: "chnk",
    events.ClaimSeen: "claim",
    events.NoveltySeen: "novelty",
    events.SketchSeen: "sketch",
    events.AskSeen: "ask",
    events.FeedsSeen: "feeds",
    events.SetChanged: "set",
    events.ForkFound: "fork",
    events.Refused: "refused",
    events.AnswersSpared: "spared",
}
"""The kinds of records by class of event."""

Serializer = Callable[[Any, int, int, int], bytes]
"""(event, offset, t_us, mono_us) to a line."""

SEGMENT_SUFFIX: Final = ".jsonl"
"""Suffix of a segment's file name."""
BOOT_DIGITS: Final = 8
"""Digits of the boot in it."""
OFFSET_DIGITS: Final = 12
"""Digits of the first record's offset in it."""

_HEADER: Final = ("v", "node", "boot", "offset", "t_us", "mono_us", "kind")
_NETWORK: Final = "network"
"""Which network the record is of; left out in the open one."""
_ENCODER: Final = msgspec.json.Encoder()


def record_serializers(
    node: str, boot: int, network: str | None = None
) -> Mapping[type[events.Event], Serializer]:
    """Return how to write each class of events in the log of *node* (16 hexadecimal digits) and *boot*.

    *network*: 14 hexadecimal digits, None for the open network.
    """
    return {event: _serializer(event, kind, node, boot, network) for event, kind in KINDS.items()}


def segment_name(boot: int, first_offset: int) -> str:
    """Return the file name of the segment of *boot* that begins with *first_offset*."""
    return f"{boot:0{BOOT_DIGITS}}-{first_offset:0{OFFSET_DIGITS}}{SEGMENT_SUFFIX}"


def serialize_mark(
    node: str, boot: int, offset: int, t_us: int, mono_us: int, arrival: int, network: str | None = None
) -> bytes:
    """Return the line stating that the records before it go up to *arrival*."""
    values = (EVENT_VERSION, node, boot, offset, t_us, mono_us, MARK)
    record = dict(zip((*_HEADER, "arrival"), (*values, arrival), strict=True))
    return _ENCODER.encode(record if network is None else {**record, _NETWORK: network}) + b"\n"


@dataclass(frozen=True, slots=True)
class _Field:
    """The properties of an event's field that matter to the log."""

    name: str
    type: type
    optional: bool


def _fields(event: type[events.Event]) -> list[_Field]:
    """Return the fields of a class of events, optional ones last, as positional arguments require."""
    found = [_field(name, hint) for name, hint in get_type_hints(event).items()]
    return sorted(found, key=attrgetter("optional"))


def _field(name: str, hint: object) -> _Field:
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = next(option for option in options if option is not NoneType)
    plain = getattr(plain, "__supertype__", plain)  # a NewType is the type it was made from
    return _Field(name, get_origin(plain) or plain, NoneType in options)


def _serializer(
    event: type[events.Event], kind: str, node: str, boot: int, network: str | None
) -> Serializer:
    known = _fields(event)
    fields = [(field.name, Any, None) if field.optional else (field.name, Any) for field in known]
    record = msgspec.defstruct(event.__name__, [*_HEADER, *fields, (_NETWORK, Any, None)], omit_defaults=True)
    values_of = _getter([field.name for field in known])
    hex_at = [index for index, field in enumerate(known) if issubclass(field.type, bytes)]
    text_at = [index for index, field in enumerate(known) if field.type is str]

    def serialize(event: events.Event, offset: int, t_us: int, mono_us: int) -> bytes:
        values = [*values_of(event)]
        for index in hex_at:
            if (value := values[index]) is not None:
                values[index] = value.hex()
        for index in text_at:
            if (value := values[index]) is not None:
                values[index] = _clean(value)
        return (
            _ENCODER.encode(record(EVENT_VERSION, node, boot, offset, t_us, mono_us, kind, *values, network))
            + b"\n"
        )

    return serialize


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads several attributes at once; ``attrgetter`` makes no tuple of a single one."""
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda event: (get(event),)


@lru_cache(maxsize=limits.FACES_MAX)
def _clean(text: str) -> str:
    """Cut a text so that its record keeps to its size, and replace characters that UTF-8 cannot encode by question
    marks."""
    return text[: limits.EVENT_TEXT_MAX].encode("utf-8", "replace").decode()
