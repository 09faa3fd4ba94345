"""Events and effects: values that cannot change, with the fields the event log documents."""

import dataclasses
import typing

import pytest

from tests.nodes import FACE, feed_of
from tinyssb_node.codec.events import Effect, Event, Send, SetChanged
from tinyssb_node.ids import PacketKind


@pytest.mark.parametrize("kind", typing.get_args(Event))
def test_every_event_is_a_frozen_record_with_named_fields(kind: type) -> None:
    assert dataclasses.is_dataclass(kind)
    assert not hasattr(kind, "__dict__") or "__slots__" in vars(kind)
    assert all(field.kw_only for field in dataclasses.fields(kind))
    assert kind.__doc__


def test_an_event_cannot_be_changed() -> None:
    event = SetChanged(feed=feed_of(1), count=1, state=bytes(32), face=None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.count = 2  # type: ignore[misc] # frozen: that is the test


def test_an_effect_is_a_packet_to_send_or_an_event() -> None:
    send = Send(FACE, b"packet", PacketKind.ENTRY)
    assert isinstance(send, Effect)
    assert isinstance(SetChanged(feed=feed_of(1), count=1, state=bytes(32), face=None), Effect)
    with pytest.raises(dataclasses.FrozenInstanceError):
        send.packet = b"another"  # type: ignore[misc] # frozen: that is the test
