"""MQTT faces at a real broker: what they say where, when the broker goes and comes, and against whom they hold out."""

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from tests.faces.mqtt_rig import (
    CLAIM,
    client_of,
    endpoint,
    following,
    next_of,
    stranger,
    subscribed,
    topic_of,
    until,
)
from tests.faces.recording_sink import RecordingSink, running
from tests.faces.shelves import Shelf
from tests.mosquitto import Mosquitto, running_mosquitto
from tests.nodes import key_of
from tinyssb_node.codec.dmx import Network
from tinyssb_node.faces import limits
from tinyssb_node.faces.errors import BrokerError, FaceOpenError
from tinyssb_node.faces.mqtt_broker import Broker
from tinyssb_node.faces.mqtt_topics import feed_prefix
from tinyssb_node.scheduling.link import WIRED, LinkMedium

pytestmark = pytest.mark.mosquitto

BACKLOG = 3_000


# --- what is said where


async def test_what_is_said_of_a_set_comes_to_those_who_have_it(broker: Mosquitto) -> None:
    shelves = following("ana"), following("ben"), following("ana", network=Network(b"another"))
    async with (
        running(endpoint(broker), [shelves[0]]) as ana,
        running(endpoint(broker), [shelves[1]]) as ben,
        running(endpoint(broker), [shelves[2]]) as else_where,
    ):
        for sink in (ana, ben, else_where):
            await sink.until(lambda sink=sink: bool(sink.ups))  # type: ignore[misc]  # bound at once
        assert ana.face().name == f"mqtt:127.0.0.1:{broker.port}"
        assert ana.face().profile.medium is LinkMedium.LAN
        assert await ana.face().send([CLAIM, CLAIM[:8]]) == 2
        await ben.until(lambda: len(ben.frames) == 2)
        assert await ben.face().send([CLAIM[:40]]) == 1
        await ana.until(lambda: bool(ana.frames))
    assert [(packet, reception) for _, packet, reception in ben.frames] == [
        (CLAIM, WIRED), (CLAIM[:8], WIRED),
    ]  # fmt: skip
    assert ana.packets == [CLAIM[:40]]
    assert else_where.packets == []


async def test_what_is_new_comes_to_those_who_follow_its_feed(broker: Mosquitto) -> None:
    shelf, both, none = following("ana", "ben"), following("ana", "ben"), following("ben")
    async with (
        running(endpoint(broker), [both]) as taker,
        running(endpoint(broker), [none]) as other,
        running(endpoint(broker), [shelf]) as ana,
    ):
        await taker.until(lambda: bool(taker.ups))
        await other.until(lambda: bool(other.ups))
        packets = shelf.fill("ana", [b"hello", b"x" * 300])
        ana.append()
        await taker.until(lambda: len(taker.frames) == len(packets))
        last = shelf.fill("ben", [b"hello"])
        ana.append()
        await other.until(lambda: bool(other.frames))
    assert f"Sending PUBLISH to {client_of(shelf, broker)}" not in broker.log.read_text()
    assert taker.packets[: len(packets)] == packets
    assert other.packets == last


async def test_what_somebody_asked_for_is_said_again_in_its_feeds_topic(broker: Mosquitto) -> None:
    shelf = Shelf()
    (packet,) = shelf.fill("ana", [b"hello"])
    endpoint_of_ana = endpoint(broker)
    async with (
        stranger(broker, "tinyssb/1/+/feed/#") as watcher,
        running(endpoint_of_ana, [shelf]) as ana,
    ):
        first = await next_of(watcher)
        await until(lambda: not endpoint_of_ana.waiting)
        await ana.face().send([packet])
        again = await next_of(watcher)
    assert first == again == (topic_of(shelf, "ana", client_of(shelf, broker)), packet)


async def test_what_waits_is_left_to_its_turn(broker: Mosquitto) -> None:
    """News are handed to the face, too: they must not go twice."""
    shelf = Shelf()
    async with (
        stranger(broker, "tinyssb/1/+/feed/#") as watcher,
        running(endpoint(broker), [shelf]) as ana,
    ):
        await ana.until(lambda: bool(ana.ups))
        packets = shelf.fill("ana", [b"one", b"two"])
        assert await ana.face().send(packets) == 2
        ana.append()
        assert [await next_of(watcher) for _ in packets] == [
            (topic_of(shelf, "ana", client_of(shelf, broker)), packet) for packet in packets
        ]
        await ana.face().send([CLAIM])
        more = shelf.fill("ben", [b"three"])
        ana.append()
        assert (await next_of(watcher))[1] == more[0]


async def test_whoever_is_first_says_it_for_all(broker: Mosquitto) -> None:
    quick, slow = Shelf(), Shelf()
    both = [shelf.fill("ana", [b"heard by radio"], face="lora") for shelf in (quick, slow)]
    assert both[0] == both[1]
    async with (
        stranger(broker, "tinyssb/1/+/feed/#") as watcher,
        running(endpoint(broker, entropy=1.0), [slow]) as second,
    ):
        await second.until(lambda: bool(second.ups))
        async with running(endpoint(broker), [quick]):
            assert (await next_of(watcher))[1] == both[0][0]
            own = slow.fill("ben", [b"by ourselves"])
            second.append()
            assert (await next_of(watcher))[1] == own[0]


async def test_what_was_said_only_to_those_who_are_here_is_said_for_the_others_too(broker: Mosquitto) -> None:
    shelf = Shelf()
    (packet,) = shelf.fill("ana", [b"asked for"], face="lora")
    async with (
        stranger(broker, topic_of(shelf, "ana")) as watcher,
        running(endpoint(broker, entropy=0.2), [shelf]) as ana,
    ):
        await ana.until(lambda: bool(ana.ups))
        await watcher.publish(topic_of(shelf, "ana", "0" * 16), packet, 0)
        await ana.until(lambda: bool(ana.frames))
        client = client_of(shelf, broker)
        assert [(await next_of(watcher))[0].rpartition("/")[2] for _ in range(2)] == ["0" * 16, client]


async def test_without_gossip_only_feeds_go_either_way(broker: Mosquitto) -> None:
    shelf = Shelf()
    async with (
        stranger(broker, "tinyssb/1/+/#") as watcher,
        running(endpoint(broker, "gossip=off"), [shelf]) as quiet,
        running(endpoint(broker), [following("ana")]) as talking,
    ):
        await quiet.until(lambda: bool(quiet.ups))
        await talking.until(lambda: bool(talking.ups))
        assert await quiet.face().send([CLAIM]) == 1
        await talking.face().send([CLAIM[:50]])
        (packet,) = shelf.fill("ana", [b"hello"])
        quiet.append()
        await talking.until(lambda: bool(talking.frames))
        assert [(await next_of(watcher))[1] for _ in range(4)][2:] == [CLAIM[:50], packet]
    assert talking.packets == [packet]
    assert quiet.packets == []


async def test_each_network_has_topics_of_its_own(broker: Mosquitto) -> None:
    open_, village = Shelf(), Shelf(Network(b"only us"))
    async with (
        running(endpoint(broker), [following(network=Network(b"only us"))]) as villager,
        running(endpoint(broker), [open_, village]) as both,
    ):
        await villager.until(lambda: bool(villager.ups))
        await both.until(lambda: bool(both.ups))
        village.known.add(CLAIM)
        await both.face().send([CLAIM[:30], CLAIM])
        await villager.until(lambda: bool(villager.frames))
    assert villager.packets == [CLAIM]


async def test_entries_cross_between_two_sets_of_one_network_and_gossip_does_not(broker: Mosquitto) -> None:
    old, fresh = Shelf(), following("ana", network=Network(set_key=b"after the junk"))
    async with running(endpoint(broker), [fresh]) as taker, running(endpoint(broker), [old]) as ana:
        await taker.until(lambda: bool(taker.ups))
        await ana.until(lambda: bool(ana.ups))
        await ana.face().send([CLAIM])
        packets = old.fill("ana", [b"hello"])
        ana.append()
        await taker.until(lambda: bool(taker.frames))
    assert taker.packets == packets


async def test_feeds_that_come_into_the_set_are_taken_from_then_on(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MQTT_LOOK_S", 0.02)
    shelf, growing = Shelf(), following("ben")
    async with running(endpoint(broker), [growing]) as taker, running(endpoint(broker), [shelf]) as ana:
        await taker.until(lambda: bool(taker.ups))
        await ana.until(lambda: bool(ana.ups))
        growing.follow("ana")
        growing.follow("ben", wanted=False)
        await until(lambda: subscribed(broker, growing, "ana"))
        await until(lambda: not subscribed(broker, growing, "ben"))
        (packet,) = shelf.fill("ana", [b"hello"])
        ana.append()
        await taker.until(lambda: bool(taker.frames))
    assert taker.packets == [packet]


# --- brokers that go and come


async def test_what_is_new_while_the_broker_is_away_follows(broker: Mosquitto) -> None:
    shelf, face = Shelf(), endpoint(broker)
    async with running(endpoint(broker), [following("ana", "ben")]) as taker:
        await taker.until(lambda: bool(taker.ups))
        broker.stop()
        async with running(face, [shelf]) as ana:
            packets = shelf.fill("ana", [b"%d" % number for number in range(40)])
            ana.append()
            await until(lambda: face.problem is not None)
            problem = face.problem or ""
            assert problem == (
                f"no MQTT broker at 127.0.0.1:{broker.port}: no connection (connection refused); "
                "40 packets wait for it"
            )
            broker.start()
            await taker.until(lambda: {*taker.packets} == {*packets})
            assert not face.problem
            broker.stop()
            await ana.until(lambda: len(ana.downs) == 1)
            packets += shelf.fill("ben", [b"later"])
            ana.append()
            broker.start()
            await taker.until(lambda: {*taker.packets} == {*packets})
    # What was not confirmed when the broker stopped comes twice, which does no harm.
    assert [*dict.fromkeys(taker.packets)] == packets


async def test_a_restart_says_nothing_twice(broker: Mosquitto) -> None:
    shelf = Shelf()
    first, last = shelf.fill("ana", [b"before"]), []
    async with stranger(broker, "tinyssb/1/+/feed/#") as watcher:
        endpoint_of_ana = endpoint(broker)
        async with running(endpoint_of_ana, [shelf]):
            assert (await next_of(watcher))[1] == first[0]
            await until(lambda: not endpoint_of_ana.waiting)
        last = shelf.fill("ben", [b"between"])
        async with running(endpoint(broker), [shelf]):
            assert (await next_of(watcher))[1] == last[0]


async def test_the_broker_keeps_what_is_new_for_those_who_are_away(broker: Mosquitto) -> None:
    taking, shelf = following("ana"), Shelf()
    async with running(endpoint(broker), [taking]) as taker:
        await taker.until(lambda: bool(taker.ups))
    endpoint_of_ana = endpoint(broker)
    async with running(endpoint_of_ana, [shelf]) as ana:
        await ana.until(lambda: bool(ana.ups))
        packets = shelf.fill("ana", [b"one", b"two", b"three"])
        ana.append()
        await until(lambda: not endpoint_of_ana.waiting)
        # Asked for by others meanwhile: not for those who are away.
        await ana.face().send([packets[0], CLAIM])
    broker.stop()
    broker.start()
    async with running(endpoint(broker), [taking]) as taker:
        await taker.until(lambda: len(taker.frames) == 3)
    assert taker.packets == packets


@pytest.mark.parametrize("options", ["", "version=3.1.1"])
async def test_all_that_waited_comes_however_much_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    """mosquitto 2.0.11 sends more than it is asked to, and more than fits."""
    monkeypatch.setattr(limits, "MQTT_TAKE_PER_S", 100_000)
    monkeypatch.setattr(limits, "MQTT_READ_MAX", 1_000)
    shelf = following("ana")
    topic = topic_of(shelf, "ana", "0" * 16)
    packets = [number.to_bytes(120, "big") for number in range(BACKLOG)]
    with running_mosquitto(tmp_path, settings=[f"max_queued_messages {BACKLOG}"]) as broker:
        async with running(endpoint(broker, options), [shelf]) as ana:
            await ana.until(lambda: bool(ana.ups))
        async with stranger(broker, max_inflight_messages=BACKLOG) as somebody:
            somebody.pending_calls_threshold = BACKLOG
            await asyncio.gather(*(somebody.publish(topic, packet, 1) for packet in packets))
        async with running(endpoint(broker, options), [shelf]) as ana:
            await until(lambda: len(ana.frames) >= BACKLOG and {*ana.packets} == {*packets})
        assert ana.junks == []


async def test_what_the_node_had_no_room_for_is_left_with_the_broker(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MQTT_RECEIVE_MAX", 5)
    shelf = following("ana")
    packets = [number.to_bytes(120, "big") for number in range(30)]
    async with stranger(broker) as somebody:
        async with running(endpoint(broker), [shelf]) as ana:
            await ana.until(lambda: bool(ana.ups))
            ana.accepting.clear()
            for packet in packets:
                await somebody.publish(topic_of(shelf, "ana", "0" * 16), packet, 1)
            await ana.until(lambda: ana.rooms == 1)
            given = f"Sending PUBLISH to {client_of(shelf, broker)}"
            await until(lambda: broker.log.read_text().count(given) >= limits.MQTT_RECEIVE_MAX)
        assert ana.packets == packets[:1]
        async with running(endpoint(broker), [shelf]) as ana:
            await ana.until(lambda: ana.packets[-1:] == packets[-1:])
    assert ana.packets == packets


async def test_a_broker_that_hangs_stalls_nobody(broker: Mosquitto, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MQTT_TIMEOUT_S", 0.3)
    monkeypatch.setattr(limits, "MQTT_GOODBYE_S", 0.1)
    shelf = Shelf()
    face = endpoint(broker)
    async with running(face, [shelf]) as ana:
        await ana.until(lambda: bool(ana.ups))
        broker.freeze()
        shelf.fill("ana", [b"hello"])
        ana.append()
        await ana.until(lambda: bool(ana.downs))
        assert ana.downs[0][1] == "it did not answer within 0 s"
        await until(lambda: "no answer in time" in (face.problem or ""))
        broker.thaw()
        await ana.until(lambda: len(ana.ups) == 2)
        async with stranger(broker) as watcher:
            await watcher.subscribe("tinyssb/1/+/feed/#")


async def test_who_goes_says_so_and_who_vanishes_is_told_of(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = socket.create_connection
    connections: list[socket.socket] = []

    def connect_and_keep(*where: Any, **how: Any) -> socket.socket:
        connections.append(connect(*where, **how))
        return connections[-1]

    async with stranger(broker, "tinyssb/1/status/+") as watcher:
        monkeypatch.setattr(socket, "create_connection", connect_and_keep)
        async with running(endpoint(broker), [Shelf()]) as ana:
            assert (await next_of(watcher))[1] == b"online"
            await ana.until(lambda: bool(ana.ups))
            connections[0].shutdown(socket.SHUT_RDWR)
            assert (await next_of(watcher))[1] == b"offline"
            assert (await next_of(watcher))[1] == b"online"
            await ana.until(lambda: len(ana.ups) == 2)
        topic, payload = await next_of(watcher)
    assert payload == b"offline"
    async with stranger(broker, "tinyssb/1/status/+") as late:
        assert await next_of(late) == (topic, b"offline")


# --- who may come


async def test_a_wrong_password_is_told_with_what_was_kept_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("wrong\n")
    file.chmod(0o600)
    shelf = Shelf()
    shelf.fill("ana", [b"hello"])
    with running_mosquitto(tmp_path, users={"ana": "open sesame"}) as broker:
        face = endpoint(broker, f"user=ana&password={file}")
        async with running(face, [shelf]) as ana:
            await until(lambda: face.problem is not None)
            problem = face.problem
            assert problem == (
                f"no MQTT broker at 127.0.0.1:{broker.port}: it refuses user 'ana' with the password in {file}; "
                "1 packet waits for it. "
                "Look at user= and password=, and at the broker's passwords."
            )
            file.write_text("open sesame\n")
            await ana.until(lambda: bool(ana.ups))
            assert not face.problem
        face = endpoint(broker)
        async with running(face, [shelf]):
            await until(lambda: "it refuses clients without a user name" in (face.problem or ""))


async def test_tls_with_a_certificate_of_ours(tmp_path: Path) -> None:
    with running_mosquitto(tmp_path, tls=True, client_certificates=True) as broker:
        assert broker.authority is not None
        pair, ca = broker.authority.issue("ana"), broker.authority.certificate
        known = endpoint(broker, f"tls=on&ca={ca}&cert={pair.certificate}&key={pair.key}")
        async with running(known, [Shelf()]) as ana:
            await ana.until(lambda: bool(ana.ups))


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # paho-mqtt closes no socket then
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "no answer in time"),
        ("tls=on", "its certificate is not trusted (self-signed certificate in certificate chain)"),
        ("tls=on&ca={ca}", "no answer in time"),
    ],
)
async def test_who_is_not_to_be_trusted_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, said: str
) -> None:
    monkeypatch.setattr(limits, "MQTT_TIMEOUT_S", 0.5)
    with running_mosquitto(tmp_path, tls=True, client_certificates=True) as broker:
        assert broker.authority is not None
        face = endpoint(broker, options.format(ca=broker.authority.certificate))
        async with running(face, [Shelf()]) as ana:
            await until(lambda: face.problem is not None)
            assert said in (face.problem or "")
        assert ana.ups == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_certificate_for_another_name_is_not_taken(tmp_path: Path) -> None:
    broker = Mosquitto(tmp_path, tls=True)
    assert broker.authority is not None
    broker.authority.issue("broker", "127.0.0.2")
    try:
        broker.start()
        face = endpoint(broker, f"tls=on&ca={broker.authority.certificate}")
        async with running(face, [Shelf()]) as ana:
            await until(lambda: face.problem is not None)
            assert "IP address mismatch" in (face.problem or "")
        assert ana.ups == []
    finally:
        broker.kill()


@pytest.mark.parametrize("version_5", [True, False])
async def test_a_broker_that_lets_us_take_nothing_is_told(version_5: bool) -> None:
    """mosquitto's access lists refuse no subscription; other brokers do."""

    class Refusing:
        async def subscribe(self, _topics: list[object]) -> object:
            refused = ReasonCode(PacketTypes.SUBACK, "Not authorized") if version_5 else 128
            return [
                refused if number else ReasonCode(PacketTypes.SUBACK, "Granted QoS 1") for number in range(2)
            ]

    broker = Broker(Refusing(), version_5=version_5, timeout_s=1, left=asyncio.Event())  # type: ignore[arg-type]  # made of parts
    with pytest.raises(BrokerError, match="it does not let this node take two") as caught:
        await broker.subscribe(["one", "two"], 1)
    assert caught.value.remedy == "Look at the broker's access list."


async def test_without_the_library_it_says_what_to_type(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "tinyssb_node.faces.mqtt_broker", raising=False)
    monkeypatch.setitem(sys.modules, "aiomqtt", None)
    monkeypatch.delattr("tinyssb_node.faces.mqtt_broker", raising=False)
    with pytest.raises(FaceOpenError, match=r"Type: .* -m pip install 'aiomqtt"):
        await endpoint(broker).run(RecordingSink([Shelf()]))


async def test_we_say_no_more_in_a_second_than_a_broker_likes(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MQTT_PUBLISH_PER_S", 50)
    shelf = Shelf()
    packets = shelf.fill("ana", [b"%d" % number for number in range(40)])
    clock = asyncio.get_running_loop().time
    async with stranger(broker, "tinyssb/1/+/feed/#") as watcher:
        begun_s = clock()
        async with running(endpoint(broker), [shelf]):
            for packet in packets:
                assert (await next_of(watcher))[1] == packet
        assert clock() - begun_s > 2 * limits.MQTT_BATCH / 50


def test_the_page_has_the_numbers_of_the_code() -> None:
    pages = Path(__file__).parents[2] / "docs"
    text = (pages / "formats" / "mqtt.md").read_text() + (pages / "reference" / "faces.md").read_text()
    numbers = [
        f"{limits.MQTT_SESSION_S:,} s",
        f"more than {limits.MQTT_BACKLOG_MAX:,} ",
        f"faster\nthan {limits.MQTT_TAKE_PER_S:,} messages a second",
        f"{limits.MQTT_QUEUE:,} messages",
        f"at most {limits.MQTT_TAKE_PER_S:,} a second",
        f"at most {limits.MQTT_RECEIVE_MAX} ahead",
        f"up to {limits.MQTT_READ_MAX:,}\n  are read ahead",
        f"more than {limits.MQTT_MESSAGE_MAX:,} bytes",
        f"up to {limits.MQTT_PUBLISH_PER_S} packets a second",
        f"reply within {limits.MQTT_TIMEOUT_S:.0f} s",
        f"silent for {1.5 * limits.MQTT_KEEPALIVE_S:.0f} s",
        f"first {limits.MQTT_FEED_SIZE} bytes of the feed id",
        f"1 to {limits.MQTT_ROOT_MAX} letters",
    ]
    assert [number for number in numbers if number not in text] == []
    assert feed_prefix(key_of("ana").feed_id) in json.dumps(key_of("ana").feed_id.hex())
