"""MQTT faces against whoever else is at the broker: rubbish, floods, messages of another time."""

import asyncio

import aiomqtt
import pytest

from tests.faces.mqtt_rig import CLAIM, endpoint, following, stranger, subscribed, topic_of, until
from tests.faces.recording_sink import running
from tests.faces.shelves import Shelf
from tests.mosquitto import Mosquitto
from tinyssb_node.faces import limits
from tinyssb_node.faces.mqtt import MqttVisit
from tinyssb_node.faces.mqtt_topics import TopicNames

pytestmark = pytest.mark.mosquitto

FLOOD = 400


async def test_what_is_no_packet_is_counted_and_hurts_nobody(broker: Mosquitto) -> None:
    shelf, other = following("ana"), following("ana")
    feed, set_ = (
        topic_of(shelf, "ana", "0" * 16),
        TopicNames("tinyssb", "0" * 16).of_set(shelf.network, shelf.set),
    )
    async with stranger(broker) as somebody:
        await somebody.publish(set_, CLAIM, 1, retain=True)
        await somebody.publish(feed, bytes(120), 1, retain=True)
        async with running(endpoint(broker, "version=3.1.1"), [other]) as old:
            await old.until(lambda: len(old.junks) == 2)
            async with running(endpoint(broker), [shelf]) as ana:
                await ana.until(lambda: bool(ana.ups))
                for length in (0, 7, 121, limits.MQTT_MESSAGE_MAX - 90):
                    await somebody.publish(set_, bytes(length), 1)
                await somebody.publish(set_, bytes(limits.MQTT_MESSAGE_MAX), 1)
                await somebody.publish(set_, bytes(1_000_000), 1)
                await somebody.publish(feed, bytes(119), 1)
                await somebody.publish(feed, bytes(range(120)), 1)
                await ana.until(lambda: bool(ana.frames))
                await old.until(lambda: bool(old.frames))
    assert [(reason, length) for _, reason, length in old.junks[:2]] == [("retained", 105), ("retained", 120)]
    assert [(reason, length) for _, reason, length in ana.junks] == [
        ("too short", 0), ("too short", 7), ("too long", 121), ("too long", limits.MQTT_MESSAGE_MAX - 90),
        ("too short", 119),
    ]  # fmt: skip
    assert ana.packets == old.packets == [bytes(range(120))]


async def test_old_mqtt_brings_back_our_own_words_which_are_passed_over(broker: Mosquitto) -> None:
    shelf = Shelf()
    async with (
        running(endpoint(broker, "version=3.1.1"), [shelf]) as ana,
        running(endpoint(broker, "version=3.1.1"), [following("ana")]) as ben,
    ):
        await ana.until(lambda: bool(ana.ups))
        await ben.until(lambda: bool(ben.ups))
        packets = shelf.fill("ana", [b"hello"])
        ana.append()
        await ana.face().send([CLAIM])
        await ben.until(lambda: len(ben.frames) == 2)
        await ben.face().send([CLAIM[:20]])
        await ana.until(lambda: bool(ana.frames))
    assert {*ben.packets} == {CLAIM, *packets}
    assert ana.packets == [CLAIM[:20]]
    assert ana.junks == ben.junks == []


async def test_a_session_from_before_brings_nothing_that_is_not_taken_now(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MQTT_LOOK_S", 0.02)
    shelf = following("ana", "ben")
    async with running(endpoint(broker), [shelf]) as ana:
        await ana.until(lambda: bool(ana.ups))
    shelf.follow("ben", wanted=False)
    topic = topic_of(shelf, "ben", "0" * 16)
    async with stranger(broker) as somebody, running(endpoint(broker), [shelf]) as ana:
        await ana.until(lambda: bool(ana.ups))
        await somebody.publish(topic, bytes(120), 1)
        await ana.until(lambda: bool(ana.junks))
        assert ana.junks[0][1:] == ("not subscribed to", 120)
        await until(lambda: not subscribed(broker, shelf, "ben"))
        await somebody.publish(topic, bytes(120), 1)
        await somebody.publish(topic_of(shelf, "ana", "0" * 16), bytes(range(120)), 1)
        await ana.until(lambda: bool(ana.frames))
    assert len(ana.junks) == 1


async def test_a_flood_waits_and_what_is_too_much_is_dropped(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MQTT_QUEUE", 50)
    shelf = following("ana")
    topic = topic_of(shelf, "ana", "0" * 16)
    async with running(endpoint(broker), [shelf]) as ana:
        await ana.until(lambda: bool(ana.ups))
        ana.accepting.clear()
        async with stranger(broker) as flooder:
            for number in range(FLOOD):
                await flooder.publish(topic, number.to_bytes(120, "big"), 0)
            await ana.until(lambda: len(ana.junks) + 51 == FLOOD)
            assert {reason for _, reason, _ in ana.junks} == {"too many at once"}
            assert len(ana.frames) == 1
            ana.accepting.set()
            await ana.until(lambda: len(ana.frames) == 51)
            await flooder.publish(topic, bytes(range(120)), 1)
            await ana.until(lambda: ana.packets[-1] == bytes(range(120)))


async def test_what_was_dropped_before_the_face_was_up_is_counted(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MQTT_QUEUE", 20)
    shelf, begin = following("ana"), MqttVisit.begin
    topic = topic_of(shelf, "ana", "0" * 16)

    kept: list[aiomqtt.Message] = []
    put = asyncio.Queue.put_nowait

    def noting(queue: asyncio.Queue[object], item: object) -> None:
        put(queue, item)
        if isinstance(item, aiomqtt.Message):
            kept.append(item)

    async def begin_slowly(visit: MqttVisit) -> None:
        await begin(visit)
        async with stranger(broker) as flooder:
            for number in range(50):
                await flooder.publish(topic, number.to_bytes(120, "big"), 0)
            await flooder.publish(topic, bytes(range(120)), 1)
        await until(lambda: len(kept) == 21)

    monkeypatch.setattr(MqttVisit, "begin", begin_slowly)
    monkeypatch.setattr(asyncio.Queue, "put_nowait", noting)
    async with running(endpoint(broker), [shelf]) as ana:
        await ana.until(lambda: len(ana.frames) == 21)
    assert [(reason, length) for _, reason, length in ana.junks] == [("too many at once", 120)] * 30
    assert ana.packets[-1] == bytes(range(120))


async def test_no_more_is_taken_in_a_second_than_a_node_can_do_besides(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MQTT_TAKE_PER_S", 100)
    shelf = following("ana")
    clock = asyncio.get_running_loop().time
    async with running(endpoint(broker), [shelf]) as ana, stranger(broker) as flooder:
        await ana.until(lambda: bool(ana.ups))
        begun_s = clock()
        for number in range(150):
            await flooder.publish(topic_of(shelf, "ana", "0" * 16), number.to_bytes(120, "big"), 0)
        await ana.until(lambda: len(ana.frames) == 150)
        assert clock() - begun_s > 0.9
