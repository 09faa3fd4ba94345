"""Commands from end to end, against real daemons."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.processes import PATIENCE_S, PROGRAM, RunningDaemon, daemon, make_home, tinyssb
from tinyssb_node import limits
from tinyssb_node.cli.commands.node import companion_text, short_spec
from tinyssb_node.cli.commands.publish import parse_json
from tinyssb_node.codec import bipf
from tinyssb_node.control.rows import CompanionRow
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import Dialect


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDaemon]:
    """One daemon for all tests that only add to it."""
    home = tmp_path_factory.mktemp("node")
    make_home(home, "ws:listen:127.0.0.1:0", name="ana")
    with daemon(home) as running:
        yield running


def said(home: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Return the output of a command that must succeed."""
    ended = tinyssb(home, *arguments, stdin=stdin)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def publish(home: Path, *arguments: str, stdin: bytes = b"") -> dict[str, Any]:
    (row,) = objects(said(home, "publish", "--json", *arguments, stdin=stdin))
    return row


def test_init_says_what_to_do_next_and_is_not_repeated(tmp_path: Path) -> None:
    first = said(tmp_path / "n", "init", "--name", "ana", "--dialect", "deployed")
    assert f"Start it: tinyssb --home {tmp_path / 'n'} run" in first
    assert "the tinySSB phone app and ESP32 boards can read it" in first
    (row,) = objects(said(tmp_path / "n", "id", "--json"))
    assert row["feed"] in first
    assert (row["dialect"], row["name"]) == ("deployed", "ana")
    for_groups = said(tmp_path / "g", "init", "--name", "ben")
    assert (
        "ESP32 boards cannot read it. If people near you use these: tinyssb identity new phone" in for_groups
    )
    again = tinyssb(tmp_path / "n", "init")
    assert again.returncode == ExitCode.CREATE
    assert tinyssb(tmp_path / "m", "init", "--name", "x" * 99).returncode == ExitCode.CONFIG
    assert tinyssb(tmp_path / "m", "init", "--face", "carrier:pigeon").returncode == ExitCode.CONFIG


def test_what_phones_do_not_survive_is_published_only_if_one_insists(tmp_path: Path) -> None:
    make_home(tmp_path, name="ana", dialect=Dialect.DEPLOYED)
    with daemon(tmp_path):
        refused = tinyssb(tmp_path, "publish", "-", stdin=b"All is well")
        assert refused.returncode == ExitCode.DATA
        assert b"Phones that hold this feed would crash" in refused.stderr
        assert b"8 bytes are too few" in refused.stderr
        assert publish(tmp_path, "All is well")["seq"] == 1
        assert publish(tmp_path, "--force", "-", stdin=b"All is well")["seq"] == 2


def test_a_text_is_published_with_the_time(running: RunningDaemon) -> None:
    row = publish(running.home, "grüezi")
    (shown,) = objects(said(running.home, "show", "me", str(row["seq"]), "--json"))
    minutes, text = shown["decoded"]
    assert text == "grüezi"
    assert abs(1_577_836_800 + 60 * minutes - time.time()) < 300


@pytest.mark.parametrize(
    ("arguments", "stdin", "content", "form", "decoded"),
    [
        (["--bipf", '"grüezi"'], b"", "386772c3bc657a69", "bipf", "grüezi"),
        (
            ["--bipf", '["TAV", [], null, 1.5, {"a": true}]'],
            b"",
            None,
            "bipf",
            ["TAV", [], None, 1.5, {"a": True}],
        ),
        (["--bipf", '["TAV", {"hex": "00FF"}]'], b"", None, "bipf", ["TAV", {"hex": "00ff"}]),
        (["-"], b"\xff\x00", "ff00", "hex", "ff00"),
        (["-"], b"plain words", "706c61696e20776f726473", "text", "plain words"),
        (["-"], b"", "", "text", ""),
        (["--bipf", '""'], b"", "00", "bipf", ""),
    ],
)
def test_what_is_published_is_shown(
    running: RunningDaemon,
    arguments: list[str],
    stdin: bytes,
    content: str | None,
    form: str,
    decoded: object,
) -> None:
    row = publish(running.home, *arguments, stdin=stdin)
    (shown,) = objects(said(running.home, "show", "me", str(row["seq"]), "--json"))
    assert (shown["form"], shown["decoded"]) == (form, decoded)
    assert content is None or shown["content"] == content
    assert shown["signature"] == "good"
    page = said(running.home, "show", str(row["feed"])[:9], str(row["seq"]))
    assert f"read as:    {form}" in page
    (last,) = objects(said(running.home, "log", "me", "--limit", "1", "--json"))
    assert last["seq"] == row["seq"]


def test_a_file_becomes_a_side_chain(running: RunningDaemon, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)) * 40)
    asked = tinyssb(running.home, "publish", "--file", str(tmp_path / "file"))
    assert asked.returncode == ExitCode.USAGE
    assert b"takes 104 packets" in asked.stderr
    assert b"Nothing was published." in asked.stderr
    assert b"This is no message. Others see 10,240 bytes without a name, as: 000102" in asked.stderr
    assert f"tinyssb attach {tmp_path / 'file'}".encode() in asked.stderr
    (tmp_path / "message").write_bytes(bipf.encode(["TAV", [], "hello", None, 1_700_000_000]))
    assert b"no message" not in tinyssb(running.home, "publish", "--file", str(tmp_path / "message")).stderr
    told = said(running.home, "publish", "--file", str(tmp_path / "file"), "--yes")
    assert "10240 bytes in 1 entry and 103 chunks" in told
    (row,) = objects(said(running.home, "log", "me", "--limit", "1", "--json"))
    assert row["content"] is None
    assert "type `tinyssb show`" in said(running.home, "log", "me", "--limit", "1")
    (shown,) = objects(said(running.home, "show", "me", str(row["seq"]), "--json"))
    assert bytes.fromhex(str(shown["content"])) == bytes(range(256)) * 40


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "words"),
    [
        (["publish", "-"], bytes(limits.CONTENT_PUBLISH_MAX + 1), ExitCode.DATA, ["65536", "packets"]),
        (["publish", ""], b"", ExitCode.DATA, ["text is empty", "--bipf '\"\"'"]),
        (["publish", " \n"], b"", ExitCode.DATA, ["text is empty"]),
        (["publish", "--bipf", "{"], b"", ExitCode.DATA, ["not JSON"]),
        (["publish", "--bipf", "NaN"], b"", ExitCode.DATA, ["NaN"]),
        (["publish", "--bipf", str(2**80)], b"", ExitCode.DATA, ["BIPF"]),
        (["publish", "--file", "/no/such/file"], b"", ExitCode.MISSING, ["/no/such/file"]),
        (["show", "me", "9999"], b"", ExitCode.MISSING, ["9999"]),
        (["log", "7" * 12], b"", ExitCode.MISSING, ["tinyssb feeds"]),
        (["follow", "abcd"], b"", ExitCode.USAGE, ["feed id has 64 digits. These are 4,"]),
        (
            ["follow", "ab" * 31 + "a"],
            b"",
            ExitCode.USAGE,
            ["feed id has 64 digits. These are 63,", "tinyssb id"],
        ),
        (["follow", "ab" * 33], b"", ExitCode.USAGE, ["These are 66,"]),
        (["import", "/no/such/file"], b"", ExitCode.MISSING, ["/no/such/file"]),
        (["export", "/no/such/folder/file"], b"", ExitCode.MISSING, ["/no/such/folder/file"]),
        (["export", "-", "7" * 12], b"", ExitCode.MISSING, ["tinyssb feeds"]),
    ],
)
def test_what_cannot_be_done_is_told_in_words(
    running: RunningDaemon, arguments: list[str], stdin: bytes, code: ExitCode, words: list[str]
) -> None:
    ended = tinyssb(running.home, *arguments, stdin=stdin)
    assert ended.returncode == code
    told = ended.stderr.decode()
    assert [word for word in words if word not in told] == []
    assert "Traceback" not in told


def test_listings_are_tables_and_json(running: RunningDaemon) -> None:
    publish(running.home, "x")
    (status,) = objects(said(running.home, "status", "--json"))
    assert status["name"] == "ana"
    assert "ana" in said(running.home, "status")
    (feed,) = [row for row in objects(said(running.home, "feeds", "--json")) if row["own"]]
    assert feed["feed"] == status["feed"]
    assert str(feed["feed"])[:12] in said(running.home, "feeds")
    (goset,) = objects(said(running.home, "goset", "--json"))
    assert feed["feed"] in goset["feeds"]
    assert str(feed["feed"]) in said(running.home, "goset")
    assert objects(said(running.home, "faces", "--json")) == []
    assert said(running.home, "faces").startswith("FACE")


def test_airtime_says_when_there_is_no_limit(running: RunningDaemon) -> None:
    assert objects(said(running.home, "airtime", "--json")) == []
    assert "No link that is up has an airtime limit" in said(running.home, "airtime")


def test_receipts_say_who_has_what_was_written(running: RunningDaemon) -> None:
    first, second = publish(running.home, "who has this?"), publish(running.home, "and this?")
    rows = objects(said(running.home, "receipts", "--json", "--limit", "2"))
    assert [row["seq"] for row in rows] == [first["seq"], second["seq"]]
    assert (rows[0]["held"], rows[0]["expected"], rows[0]["holders"]) == (0, 0, [])
    assert said(running.home, "receipts").splitlines()[-1].endswith("no other nodes are known")
    for name in (str(second["seq"]), second["id"][:12], second["id"].upper()):
        assert objects(said(running.home, "receipts", name, "--json")) == rows[1:]
    assert second["id"] in said(running.home, "receipts", str(second["seq"]))
    for name in ("99999", "0", "ffff", ""):
        assert tinyssb(running.home, "receipts", name).returncode == ExitCode.MISSING


def test_feeds_are_followed_and_no_longer(running: RunningDaemon) -> None:
    feed = "ee" * 32
    now = said(running.home, "follow", feed).splitlines()
    assert now[0] == f"Now following {feed}."
    assert now[1].startswith("! Nobody here knows this id, so check its digits. It is pending. ")
    assert now[2] == f"If it is mistyped: tinyssb unfollow {feed}"
    assert "follows" in said(running.home, "status")
    assert "1 feed that you follow is pending" in said(running.home, "status")
    assert said(running.home, "follow", feed).startswith(f"Already following {feed}.\n")
    assert said(running.home, "follow", "EEEE").startswith(f"Already following {feed}.\n")
    assert said(running.home, "follow", "me").startswith("Already following ")
    for command in ("feeds", "contacts"):
        assert "pending: nobody near has it yet" in said(running.home, command)
    undone = said(running.home, "unfollow", "eeee").splitlines()
    assert undone == [
        f"No longer following {feed}.",
        "It was pending: nothing of it had come. It is forgotten.",
    ]
    assert "pending" not in said(running.home, "status")
    assert "eeee" not in said(running.home, "feeds"), "nothing of it had come"


def test_log_and_events_follow_what_happens(running: RunningDaemon) -> None:
    publish(running.home, "before")
    commands = [
        ["log", "me", "--limit", "1", "--follow"],
        ["events", "--kind", "entry", "--limit", "1", "--follow"],
    ]
    for command in commands:
        following = [*PROGRAM, "--home", str(running.home), *command, "--json"]
        with subprocess.Popen(following, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            before = json.loads(process.stdout.readline())
            published = publish(running.home, "after")
            after = json.loads(process.stdout.readline())
            process.terminate()
            process.wait(PATIENCE_S)
        assert before["seq"] < after["seq"] == published["seq"]


def test_events_are_shown_for_people(running: RunningDaemon) -> None:
    publish(running.home, "x")
    (line,) = said(running.home, "events", "--limit", "1").splitlines()
    assert "entry" in line
    assert "seq=" in line


def test_an_export_travels_to_another_node(running: RunningDaemon, tmp_path: Path) -> None:
    row = publish(running.home, "-", "--yes", stdin=bytes(range(256)) * 200)
    file = tmp_path / "feeds.tssb"
    said(running.home, "export", str(file), "me")
    assert tinyssb(running.home, "export", str(file)).returncode == ExitCode.CREATE
    assert tinyssb(running.home, "export", "-", "me").stdout == file.read_bytes()
    make_home(tmp_path / "other")
    with daemon(tmp_path / "other") as other:
        (counts,) = objects(said(other.home, "import", str(file), "--json"))
        assert counts["entries"] == row["seq"]
        (shown,) = objects(said(other.home, "show", str(row["feed"])[:8], str(row["seq"]), "--json"))
        assert bytes.fromhex(str(shown["content"])) == bytes(range(256)) * 200
        assert shown["origin"] == "import"
        assert f"{row['seq']} entries" not in said(other.home, "import", str(file))
        file.write_bytes(file.read_bytes()[:-1])
        assert tinyssb(other.home, "import", str(file)).returncode == ExitCode.DATA
        assert "no problems" in said(other.home, "verify")


def test_a_forged_export_is_refused(running: RunningDaemon, tmp_path: Path) -> None:
    from tinyssb_node.daemon.exports import ExportedEntry, FeedHeader, write_export
    from tinyssb_node.ids import Dialect, FeedId, Seq

    with (tmp_path / "forged").open("wb") as file:
        header = FeedHeader(FeedId(b"\xdd" * 32), Dialect.SPEC, Seq(1))
        write_export(iter([header, ExportedEntry(b"\x42" * 120)]), file)
    ended = tinyssb(running.home, "import", str(tmp_path / "forged"))
    assert ended.returncode == ExitCode.DATA
    assert "dddd" in ended.stderr.decode()


def test_verify_finds_damage(tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    make_home(tmp_path / "a")
    with daemon(tmp_path / "a") as running:
        publish(running.home, "one")
        publish(running.home, "two")
        (counts,) = objects(said(running.home, "verify", "--json"))
        assert (counts["entries"], counts["problems"]) == (2, 0)
        running.stop()
    with closing(sqlite3.connect(tmp_path / "a" / "store.sqlite")) as raw, raw:
        raw.execute("UPDATE entries SET packet = zeroblob(120) WHERE seq = 2")
    ended = tinyssb(tmp_path / "a", "verify")
    assert ended.returncode == ExitCode.DATA
    assert "entry 2: it does not follow the entry before it" in ended.stdout.decode()
    assert "--repair" in ended.stdout.decode()
    spared = tinyssb(tmp_path / "a", "verify", "--repair")
    assert spared.returncode == ExitCode.DATA
    assert "is yours and was not changed" in spared.stdout.decode()
    cut = said(tmp_path / "a", "verify", "--repair", "--own")
    assert "first 1 of 2 entries" in cut
    assert str(tmp_path / "a" / "store.damaged-1.sqlite") in cut
    assert "no problems" in said(tmp_path / "a", "verify")
    with daemon(tmp_path / "a") as running:
        refused = tinyssb(running.home, "publish", "another two")
        assert refused.returncode != 0, "what it wrote as entry 2 may be known to others"


@pytest.mark.parametrize(
    ("problem", "ends", "given_up", "shown"),
    [
        (None, 0, False, "running"),
        (None, 2, False, "running; has ended 2 times"),
        ("The port is taken.", 1, False, "The port is taken. It has ended 1 time. It is started again."),
        ("No settings.", 1, True, "No settings. It has ended 1 time. It is not started again."),
    ],
)
def test_how_a_process_beside_the_daemon_is(
    problem: str | None, ends: int, given_up: bool, shown: str
) -> None:
    row = CompanionRow(name="web page", problem=problem, advice="", ends=ends, given_up=given_up)
    assert companion_text(row) == shown


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("udp:239.5.5.8:1558?interface=wlan0", "udp:239.5.5.8:1558?interface=wlan0"),
        ("ws:connect:hut:443?tls=on&token=/" + "t" * 60, "ws:connect:hut:443?…"),
        ("ws:connect:hut:443?tls=on&token=/" + "t" * 60 + "&name=hut", "ws:connect:hut:443?…&name=hut"),
    ],
)
def test_a_spec_of_many_options_does_not_widen_the_table(spec: str, shown: str) -> None:
    assert short_spec(spec) == shown


def test_bytes_in_a_json_value_are_digits_or_refused() -> None:
    assert parse_json('[{"hex": "00ff"}, {"hex": 5}, {"hex": "00", "b": {"hex": ""}}]') == [
        b"\x00\xff",
        {"hex": 5},
        {"hex": "00", "b": b""},
    ]
    with pytest.raises(ProblemError, match="Nothing was published"):
        parse_json('{"hex": "zz"}')
