"""The backlog for a broker: all new packets, once, in order, bounded, over restarts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faces.shelves import Shelf
from tests.nodes import key_of
from tinyssb_node.faces import limits
from tinyssb_node.faces.mqtt_backlog import MqttBacklog
from tinyssb_node.ids import FaceName

FACE = FaceName("mqtt:broker:1883")


def drain(backlog: MqttBacklog) -> list[bytes]:
    packets: list[bytes] = []
    while waiting := backlog.look():
        assert len(waiting) <= limits.MQTT_BATCH
        packets += [each.packet for each in waiting]
        backlog.done()
    return packets


def test_all_that_is_held_waits_once_in_the_order_it_came() -> None:
    shelf = Shelf()
    packets = shelf.fill("ana", [b"one", b"x" * 400]) + shelf.fill("ben", [b"two"], face="lora")
    backlog = MqttBacklog(shelf, FACE)
    assert backlog.size == len(packets) == 7
    assert [(each.packet, each.ours) for each in backlog.look()] == [
        (packet, number < 6) for number, packet in enumerate(packets)
    ]
    assert all(backlog.holds(packet) for packet in packets)
    assert drain(backlog) == packets
    assert not any(backlog.holds(packet) for packet in packets)
    assert (backlog.size, backlog.look()) == (0, ())
    news = shelf.fill("cid", [b"three"])
    assert drain(backlog) == news


def test_what_came_from_the_broker_does_not_go_back() -> None:
    shelf = Shelf()
    shelf.fill("ana", [b"%d" % number for number in range(3 * limits.MQTT_BATCH)], face=FACE)
    ours = shelf.fill("ben", [b"here"])
    assert drain(MqttBacklog(shelf, FACE)) == ours


def test_only_what_is_followed_is_said() -> None:
    shelf = Shelf()
    shelf.fill("ana", [b"unwanted"], wanted=False)
    ours = shelf.fill("ben", [b"here"])
    backlog = MqttBacklog(shelf, FACE)
    assert drain(backlog) == ours
    shelf.fill("cid", [b"later"], wanted=False)
    assert drain(backlog) == []
    assert backlog.size == 0


def test_a_restart_goes_on_from_what_was_kept() -> None:
    shelf = Shelf()
    packets = shelf.fill("ana", [b"%d" % number for number in range(40)])
    backlog = MqttBacklog(shelf, FACE)
    backlog.look()
    backlog.done()
    backlog.keep()
    backlog.look()
    backlog.done()
    assert drain(MqttBacklog(shelf, FACE)) == packets[limits.MQTT_BATCH :]
    assert drain(MqttBacklog(shelf, FaceName("mqtt:other:1883"))) == packets


def test_what_was_looked_at_and_not_published_still_waits() -> None:
    shelf = Shelf()
    packets = shelf.fill("ana", [b"%d" % number for number in range(20)])
    backlog = MqttBacklog(shelf, FACE)
    backlog.look()
    backlog.keep()
    assert drain(MqttBacklog(shelf, FACE)) == packets


def test_of_too_much_the_oldest_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MQTT_BACKLOG_MAX", 30)
    shelf = Shelf()
    packets = shelf.fill("ana", [b"%d" % number for number in range(100)])
    backlog = MqttBacklog(shelf, FACE)
    assert backlog.size == 30
    assert drain(backlog) == packets[70:]


@pytest.mark.parametrize("kept", ["", "nonsense", "-4", "9" * 30])
def test_a_place_that_is_none_makes_nothing_worse(kept: str) -> None:
    shelf = Shelf()
    shelf.store.put_meta(f"mqtt:{FACE}:arrival", kept)
    packets = shelf.fill("ana", [b"one"])
    backlog = MqttBacklog(shelf, FACE)
    assert drain(backlog) == packets
    assert backlog.size == 0


def test_feeds_are_known_by_their_packets() -> None:
    shelf = Shelf()
    entry, first, *_, last = shelf.fill("ana", [b"a" * 150 + b"x" * 150])
    shelf.fill("ben", [b"b" * 150 + b"x" * 150])
    assert shelf.feeds_of(entry) == shelf.feeds_of(first) == [key_of("ana").feed_id]
    # The same end, and so the same last chunk.
    assert {*shelf.feeds_of(last)} == {key_of("ana").feed_id, key_of("ben").feed_id}
    assert shelf.feeds_of(entry[:7] + bytes(113)) == []
    assert shelf.feeds_of(bytes(120)) == []


@given(st.data())
def test_every_append_is_said_exactly_once_however_it_is_taken(data: st.DataObject) -> None:
    shelf = Shelf()
    backlog, said, due = MqttBacklog(shelf, FACE), [], []
    for number in range(data.draw(st.integers(1, 6))):
        face = data.draw(st.sampled_from([None, "lora", FACE]))
        packets = shelf.fill(f"author {number}", [b"%d" % each for each in range(20)], face=face)
        due += [] if face == FACE else packets
        for _ in range(data.draw(st.integers(0, 3))):
            said += [each.packet for each in backlog.look()]
            backlog.done()
        if data.draw(st.booleans()):
            backlog.keep()
            backlog = MqttBacklog(shelf, FACE)
    assert said + drain(backlog) == due
