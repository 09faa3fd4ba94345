"""Hypothesis strategies for events of every class."""

from enum import Enum
from types import NoneType
from typing import get_args, get_type_hints

from hypothesis import strategies as st

from tinyssb_node import limits
from tinyssb_node.codec import events
from tinyssb_node.codec.event_records import KINDS
from tinyssb_node.ids import FaceName, FeedId, MessageId, NetworkName

numbers = st.integers(0, limits.SEQ_MAX)
texts = st.text(max_size=300) | st.text(st.characters(max_codepoint=31), min_size=250, max_size=300)
BY_TYPE = {
    FeedId: st.binary(min_size=32, max_size=32).map(FeedId),
    MessageId: st.binary(min_size=20, max_size=20).map(MessageId),
    FaceName: texts.map(FaceName),
    NetworkName: st.from_regex(r"[a-z][a-z0-9-]{0,31}", fullmatch=True).map(NetworkName),
    str: texts,
    int: st.integers(0, 2**63 - 1),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bytes: st.binary(min_size=32, max_size=32),
    tuple[int, ...]: st.lists(numbers, max_size=limits.VECTOR_SIZE // 2).map(tuple),
    tuple[tuple[int, int, int], ...]: st.lists(st.tuples(numbers, numbers, numbers), max_size=28).map(tuple),
}


def values(hint):
    options = get_args(hint) if NoneType in get_args(hint) else (hint,)
    return st.one_of([st.none() if option is NoneType else plain(option) for option in options])


def plain(hint):
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    return BY_TYPE[hint]


def events_of(event_class):
    return st.builds(
        event_class, **{name: values(hint) for name, hint in get_type_hints(event_class).items()}
    )


any_event = st.one_of([events_of(event_class) for event_class in get_args(events.Event)])
assert set(get_args(events.Event)) == set(KINDS), "every event has its kind"
