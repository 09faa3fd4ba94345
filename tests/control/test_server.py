"""The control socket: what it answers, whom it lets in, and that nothing sent to it can hurt."""

import asyncio
import contextlib
import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.daemon.controlled import PATIENCE_S, code_of, serving
from tests.daemon.fakes import KEY, OTHER, FakeFace, make_node
from tinyssb_node import limits
from tinyssb_node.control.access import ControlAccess
from tinyssb_node.control.server import ControlServer
from tinyssb_node.daemon.handler import ControlHandler
from tinyssb_node.errors import HomeInaccessibleError
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import Allowance, air_profile
from tinyssb_node.store.memory import MemoryStore


async def test_only_its_user_may_open_the_socket(tmp_path: Path) -> None:
    async with serving(tmp_path):
        assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o600


async def test_a_socket_left_behind_is_replaced_and_a_wrong_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "c").touch()
    async with serving(tmp_path) as (_, connect), connect() as line:
        assert "result" in (await line.ask("status"))[0]
    server = ControlServer(
        ControlHandler.__new__(ControlHandler),
        tmp_path / "no" / "c",
        ControlAccess(structlog.wrap_logger(None)),
    )
    with pytest.raises(HomeInaccessibleError, match=r"no/c cannot be made"):
        await server.run(asyncio.Event())


async def test_publish_log_show_and_feeds(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, connect), connect() as line:
        (published,) = await line.ask("publish", content=b"hello".hex())
        assert published["result"] == {
            "feed": KEY.feed_id.hex(),
            "seq": 1,
            "id": published["result"]["id"],
            "type": 1,
            "size": 5,
            "chunks": 0,
        }
        await line.ask("publish", content=bytes(5000).hex())
        small, large, end = await line.ask("log", feed="me")
        assert small["item"]["content"] == b"hello".hex()
        assert large["item"]["content"] is None
        assert large["item"]["chunks_held"] == large["item"]["chunks"] == 50
        assert end["result"] == {"count": 2}
        (shown,) = await line.ask("show", feed=KEY.feed_id.hex()[:6], seq=2)
        assert shown["result"]["content"] == bytes(5000).hex()
        assert shown["result"]["signature"] == "good"
        newest, _ = await line.ask("log", feed="me", last=1)
        assert newest["item"]["seq"] == 2
        row, _ = await line.ask("feeds")
        assert row["item"]["own"] is True


async def test_log_follows_what_is_appended_until_the_client_goes(tmp_path: Path) -> None:
    async with serving(tmp_path) as (bench, connect), connect() as other:
        async with connect() as line:
            line.send({"v": 1, "id": "f", "command": "log", "arguments": {"feed": "me", "follow": True}})
            await other.ask("publish", content="aa")
            assert (await line.reply())["item"]["seq"] == 1
            await other.ask("publish", content="bb")
            assert (await line.reply())["item"]["content"] == "bb"
            line.writer.write_eof()
            assert (await line.reply())["result"] == {"count": 2}
        assert bench.runtime.read_only is None


async def test_follow_unfollow_goset_and_faces(tmp_path: Path) -> None:
    feed = OTHER.feed_id.hex()
    async with serving(tmp_path) as (bench, connect), connect() as line:
        assert (await line.ask("follow", feed=feed))[0]["result"] == {
            "feed": feed,
            "changed": True,
            "pending": True,
            "forgotten": False,
        }
        again = (await line.ask("follow", feed=feed))[0]["result"]
        assert again == {"feed": feed, "changed": False, "pending": True, "forgotten": False}
        (goset,) = await line.ask("goset")
        assert goset["result"]["feeds"] == [KEY.feed_id.hex()], "a mistyped id costs nobody a place"
        undone = (await line.ask("unfollow", feed=feed[:8]))[0]["result"]
        assert undone == {"feed": feed, "changed": True, "pending": False, "forgotten": True}
        assert feed not in {row["item"]["feed"] for row in await line.ask("feeds") if "item" in row}
        bench.runtime.up(FakeFace(), "wire:1")
        while len(rows := await line.ask("faces")) < 2:
            pass
        assert rows[0]["item"]["face"] == "wire"
        assert rows[0]["item"]["heard_us"] is None


async def test_airtime_is_told_by_sub_band(tmp_path: Path) -> None:
    allowance = Allowance(band="EU868 868.0-868.6", limit_us=36_000_000, window_us=3_600_000_000)
    radio = replace(air_profile([205_056] * 121), allowance=allowance)
    async with serving(tmp_path) as (bench, connect), connect() as line:
        assert (await line.ask("airtime"))[0]["result"] == {"count": 0}
        bench.runtime.up(FakeFace(FaceName("one"), radio), "radio:1")
        bench.runtime.up(FakeFace(FaceName("two"), radio), "radio:2")
        while len(rows := await line.ask("airtime")) < 2 or len(rows[0]["item"]["faces"]) < 2:
            pass
        assert rows[0]["item"] == {
            "band": "EU868 868.0-868.6",
            "faces": ["one", "two"],
            "limit_us": 36_000_000,
            "window_us": 3_600_000_000,
            "used_us": 0,
            "left_us": 36_000_000,
            "advert_left_us": 18_000_000,
            "content_left_us": 32_400_000,
            "full_us": 205_056,
            "wait_us": 0,
        }
        assert rows[1]["result"] == {"count": 1}


async def test_import_takes_what_is_signed_and_stops_at_what_is_not(tmp_path: Path) -> None:
    store = MemoryStore()
    author = make_node(store, OTHER)
    author.publish(b"one", 0)
    author.publish(bytes(300), 0)
    packets = [store.entries(OTHER.feed_id, 1, 1)[0].packet, store.entries(OTHER.feed_id, 2, 1)[0].packet]
    packets += store.chunks(OTHER.feed_id, 2, 0, 9)
    feed, digits = OTHER.feed_id.hex(), [packet.hex() for packet in packets]
    async with serving(tmp_path) as (bench, connect), connect() as line:
        (first,) = await line.ask("import", feed=feed, packets=digits[:1])
        assert first["result"] == {"entries": 1, "chunks": 0, "held": 0, "refused": None}
        forged = "77" * limits.PACKET_SIZE
        (second,) = await line.ask("import", feed=feed, packets=[*digits, forged, digits[0]])
        counts = second["result"]
        assert counts["entries"] == 1
        assert counts["chunks"] == 3
        assert counts["held"] == 1
        assert counts["refused"]["packet"] == 5
        assert [entry.origin.value for entry in bench.store.entries(OTHER.feed_id, 1, 9)] == ["import"] * 2


@pytest.mark.parametrize(
    ("command", "arguments", "code"),
    [
        ("dance", {}, "unknown_command"),
        ("status", {"loud": True}, "bad_request"),
        ("publish", {}, "bad_request"),
        ("publish", {"content": "xyz"}, "bad_request"),
        ("publish", {"content": "00" * (limits.CONTENT_PUBLISH_MAX + 1)}, "too_long"),
        ("log", {"feed": "me", "first": 0}, "bad_request"),
        ("log", {"feed": "me", "first": 1, "last": 1}, "bad_request"),
        ("log", {"feed": "me", "follow": 1}, "bad_request"),
        ("log", {"feed": ""}, "unknown_feed"),
        ("show", {"feed": "me", "seq": 1}, "unknown_entry"),
        ("show", {"feed": "me", "seq": True}, "bad_request"),
        ("show", {"feed": "zz", "seq": 1}, "unknown_feed"),
        ("restart_face", {"face": "lora"}, "unknown_face"),
        ("restart_face", {}, "bad_request"),
        ("log_level", {"level": "loud"}, "bad_request"),
        ("tune_face", {"face": "lora", "settings": {"sf": "9"}, "minutes": 15}, "unknown_face"),
        ("tune_face", {"face": "lora", "settings": {}, "minutes": 15}, "bad_request"),
        ("tune_face", {"face": "lora", "settings": {"sf": 9}, "minutes": 15}, "bad_request"),
        ("tune_face", {"face": "lora", "settings": {"sf": "9"}, "minutes": 0}, "bad_request"),
        ("confirm_face", {"face": "lora"}, "unknown_face"),
        ("follow", {"feed": "abcd"}, "bad_request"),
        ("follow", {"feed": "ab " * 21 + "a"}, "bad_request"),
        ("follow", {"feed": "  " + "ab" * 31}, "bad_request"),
        ("follow", {"feed": 7}, "bad_request"),
        ("follow", {"feed": "00" * 32}, "bad_request"),
        ("import", {"feed": "00" * 32, "packets": ["00"]}, "bad_request"),
        ("import", {"feed": "00" * 32, "packets": 7}, "bad_request"),
        ("import", {"feed": "00" * 32, "packets": ["00" * 120] * 513}, "bad_request"),
    ],
)
async def test_a_request_that_cannot_be_answered_is_told_why_and_the_next_one_is_answered(
    tmp_path: Path, command: str, arguments: dict[str, object], code: str
) -> None:
    async with serving(tmp_path) as (_, connect), connect() as line:
        (reply,) = await line.ask(command, **arguments)
        assert code_of(reply) == code
        assert "result" in (await line.ask("status"))[0]


async def test_the_level_of_the_log_changes_and_the_one_before_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, connect), connect() as line:
        levels = ["debug", "error", "info"]
        answers = [(await line.ask("log_level", level=level))[0]["result"] for level in levels]
        assert [answer["level"] for answer in answers] == levels
        assert [answer["before"] for answer in answers[1:]] == levels[:2]


async def test_a_full_disk_is_an_error_of_its_own(tmp_path: Path) -> None:
    async with serving(tmp_path) as (bench, connect), connect() as line:
        bench.store.full = True
        for _ in range(2):
            (reply,) = await line.ask("publish", content="aa")
            assert code_of(reply) == "read_only"
        assert (await line.ask("status"))[0]["result"]["read_only"] == "no room"
        assert (await line.ask("log", feed="me"))[0]["result"] == {"count": 0}


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"hello\n", "bad_request"),
        (b"[]\n", "bad_request"),
        (b'{"v":2,"id":1,"command":"status"}\n', "version"),
        (b'{"v":1,"id":null,"command":"status"}\n', "bad_request"),
        (b'{"v":1,"id":true,"command":"status"}\n', "bad_request"),
        (b'{"v":1,"id":1,"command":7}\n', "bad_request"),
        (b'{"v":1,"id":1,"command":"status","arguments":[]}\n', "bad_request"),
        (b"\xff\xfe\n", "bad_request"),
        (b"[" * 100_000 + b"\n", "bad_request"),
        (b"x" * (limits.CONTROL_REQUEST_MAX + 10), "bad_request"),
    ],
)
async def test_what_is_no_request_ends_the_connection_with_a_word(
    tmp_path: Path, raw: bytes, code: str
) -> None:
    async with serving(tmp_path) as (_, connect), connect() as line:
        line.writer.write(raw)
        reply = await line.reply()
        assert reply["id"] is None
        assert code_of(reply) == code
        assert await asyncio.wait_for(line.reader.read(), PATIENCE_S) == b""


async def test_one_client_too_many_is_turned_away(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, connect), contextlib.AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(connect()) for _ in range(limits.CONTROL_CLIENTS_MAX)]
        for line in lines:
            await line.ask("status")
        async with connect() as late:
            assert code_of(await late.reply()) == "busy"
        assert "result" in (await lines[0].ask("status"))[0]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
names = st.sampled_from(["feed", "seq", "first", "last", "follow", "content", "packets"]) | st.text(
    max_size=5
)
commands = st.sampled_from(
    [
        "status",
        "publish",
        "feeds",
        "log",
        "show",
        "follow",
        "unfollow",
        "purge",
        "goset",
        "faces",
        "airtime",
        "receipts",
        "import",
    ]
)
requests = st.builds(
    lambda id_, command, arguments: (
        json.dumps({"v": 1, "id": id_, "command": command, "arguments": arguments}).encode() + b"\n"
    ),
    json_values,
    commands,
    st.dictionaries(names, json_values, max_size=3),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(noise=st.lists(st.binary(max_size=200) | requests, min_size=1, max_size=20))
async def test_no_bytes_hurt_the_daemon(tmp_path: Path, noise: list[bytes]) -> None:
    async with serving(tmp_path) as (_, connect):
        async with connect() as line:
            for raw in noise:
                line.writer.write(raw)
            line.writer.write_eof()
            for reply in (await asyncio.wait_for(line.reader.read(), PATIENCE_S)).splitlines():
                assert len({"result", "item", "error"} & json.loads(reply).keys()) == 1
        async with connect() as line:
            assert "result" in (await line.ask("status"))[0]
