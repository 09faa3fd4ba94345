"""`tinyssb pzp` as people type it, without a daemon."""

import importlib.util
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.processes import make_home, tinyssb
from tests.pzp.database.messages import BOB, need, public
from tests.pzp.messages.vectors import FOLDER
from tinyssb_node.errors import ExitCode
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.sqlite import SqlitePzpRows
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.jsontext import canonical
from tinyssb_node.pzp.messages.versions import V4, write_consent


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_home(tmp_path / "home")
    return tmp_path / "home"


def types(home: Path, *words: str, code: int = 0, stdin: bytes = b"") -> str:
    ended = tinyssb(home, "pzp", *words, stdin=stdin)
    assert ended.returncode == code, ended.stderr.decode()
    return (ended.stdout if code in (0, ExitCode.DATA) and ended.stdout else ended.stderr).decode()


def id_of(name: str) -> str:
    return message.hash_bytes(V4.fields, name.encode())


def objects(home: Path, *words: str, code: int = 0) -> list[dict[str, Any]]:
    return [json.loads(line) for line in types(home, *words, "--json", code=code).splitlines()]


def begun(home: Path) -> tuple[str, str]:
    """An identity, and a message that it wrote."""
    (made,) = objects(home, "identity", "create", "hut")
    (wrote,) = objects(home, "publish", "post", '{"text": "hello"}')
    return made["group"], wrote["id"]


def test_an_identity_is_made_once_and_gets_keys(home: Path) -> None:
    assert "No identities are stored here" in types(home, "identity")
    (made,) = objects(home, "identity", "create", "hut")
    group = made["group"]
    assert "already" in types(home, "identity", "create", "hut")
    consent = write_consent(BOB, group)
    assert "identity consent" in types(home, "identity", "add-key", group, public(BOB), code=ExitCode.DATA)
    add = ("identity", "add-key", group[:6], BOB.feed_id.hex())
    assert "must be the signature" in types(
        home, *add, write_consent(BOB, id_of("another")), code=ExitCode.DATA
    )
    assert f"Added {public(BOB)}" in types(home, *add, consent)
    assert "already" in types(home, "identity", "add-key", group, public(BOB))
    (shown,) = objects(home, "identity", "show", group[:5])
    assert shown["ours"]
    assert set(shown["keys"]) > {public(BOB)}
    assert shown["powers"][public(BOB)] == []
    assert "Msg V4, 2 keys" in types(home, "identity")
    assert "(cannot change keys)" in types(home, "identity")
    (agreed,) = objects(home, "identity", "consent", id_of("other"))
    assert (agreed["group"], agreed["key"] in shown["keys"]) == (id_of("other"), True)
    assert agreed["consent"] in types(home, "identity", "consent", id_of("other"))
    assert "not a whole id" in types(home, "identity", "consent", group[:6], code=ExitCode.DATA)
    assert "is not a key" in types(home, "identity", "add-key", group, "x", code=ExitCode.DATA)
    assert "The key is missing" in types(home, "identity", "add-key", group, code=ExitCode.DATA)


def test_a_key_is_removed_and_its_later_messages_are_marked(home: Path, tmp_path: Path) -> None:
    group, id_ = begun(home)
    own = objects(home, "identity")[0]["own_key"]
    types(home, "identity", "add-key", group, public(BOB), write_consent(BOB, group))
    with closing(PzpDatabase(SqlitePzpRows.open(tmp_path / "bob"))) as device:
        for line in types(home, "export", "-").splitlines():
            device.add(json.loads(line), wall_us=1)
        late = device.write(BOB, {"text": "late"}, "post", group, wall_us=1)
        last = canonical(dict(need(device.record(late)).message()))
    assert "is no key of" in types(home, "identity", "remove-key", group, "1" * 32, code=ExitCode.MISSING)
    told = types(home, "identity", "remove-key", group, public(BOB))
    assert f"Removed {public(BOB)} from {group}" in told
    assert "tinyssb pzp send" in told
    (tmp_path / "late").write_bytes(last)
    assert "Imported 1 message" in types(home, "import", str(tmp_path / "late"))
    (feed,) = objects(home)
    rows = {row["id"]: row["revoked"] for row in objects(home, "feed", feed["feed"])}
    assert rows == {feed["feed"]: False, id_: False, late: True}
    assert '(revoked) {"text": "late"}' in types(home, "feed", feed["feed"])
    assert "its key was removed" in types(home, "show", late)
    assert objects(home, "show", id_)[0]["revoked"] is False
    (shown,) = objects(home, "identity", "show", group)
    assert (shown["keys"], shown["removed"]) == ([own], [public(BOB)])
    assert f"{public(BOB)}  (removed)" in types(home, "identity")
    assert "must leave a key" in types(home, "identity", "remove-key", group, own, code=ExitCode.DATA)
    assert "The key is missing" in types(home, "identity", "remove-key", group, code=ExitCode.DATA)


def test_an_identity_of_v2_needs_no_consent(home: Path) -> None:
    (made,) = objects(home, "identity", "create", "hut", "--v2")
    assert f"Added {public(BOB)}" in types(home, "identity", "add-key", made["group"], public(BOB))
    objects(home, "publish", "post", '{"text": "old"}')
    (feed,) = objects(home)
    assert (feed["version"], feed["owner"]) == (2, made["group"])
    assert "Msg V2, 2 keys" in types(home, "identity")


def test_what_is_written_is_listed_and_shown(home: Path) -> None:
    group, id_ = begun(home)
    (feed,) = objects(home)
    assert (feed["owner"], feed["type"], feed["messages"], feed["goal"]) == (group, "post", 2, "all")
    assert feed["feed"] in types(home, "feeds")
    listing = types(home, "feed", feed["feed"][:5])
    assert "(the feed's root)" in listing
    assert '{"text": "hello"}' in listing
    assert [row["depth"] for row in objects(home, "feed", feed["feed"], "--last", "1")] == [1]
    (row,) = objects(home, "show", id_)
    assert (row["message"]["data"], row["entries"], row["said"]) == ({"text": "hello"}, [], "here")
    assert f"at depth 1, after {feed['feed']}" in types(home, "show", row["uri"])


def test_feed_v1_has_no_groups(home: Path) -> None:
    (wrote,) = objects(home, "publish", "post", '{"text": "old"}', "--v1")
    assert "Feed V1" in types(home, "show", wrote["id"])
    (feed,) = objects(home)
    assert feed["version"] == 1


def test_what_nobody_would_take_is_not_written(home: Path) -> None:
    assert "identity create" in types(home, "publish", "post", "{}", code=ExitCode.MISSING)
    begun(home)
    assert "Quote it" in types(home, "publish", "post", "hello", code=ExitCode.DATA)
    assert "no node would accept it" in types(home, "publish", "po", "{}", code=ExitCode.DATA)
    objects(home, "identity", "create", "second")
    assert "--group" in types(home, "publish", "post", "{}", code=ExitCode.USAGE)
    assert "names no message" in types(home, "show", "x", code=ExitCode.DATA)
    assert "no message" in types(home, "show", "1" * 16, code=ExitCode.MISSING)
    assert "no feed" in types(home, "feed", "zzz", code=ExitCode.MISSING)


def test_a_file_of_pzp_db_is_read_and_written(home: Path, tmp_path: Path) -> None:
    (folder := tmp_path / "theirs" / "db").mkdir(parents=True)
    (folder / "log").write_bytes((FOLDER / "v4-db.log").read_bytes())
    told = types(home, "import", str(tmp_path / "theirs"), code=ExitCode.DATA)
    assert "line 10: NotMember" in told, "the package writes what no other one takes"
    assert "Imported 12 messages" in told
    types(home, "publish", "post", '{"old": true}', "--v1")
    told = types(home, "export", str(tmp_path / "ours"), "--pzp-db")
    assert "12 messages, 65,536 bytes" in told
    assert "Left out 2 messages that pzp-db cannot read" in told
    assert "exists already" in types(home, "export", str(tmp_path / "ours"), "--pzp-db", code=ExitCode.CREATE)
    assert "needs a folder" in types(home, "export", "-", "--pzp-db", code=ExitCode.DATA)
    make_home(tmp_path / "other")
    assert "Imported 12 messages" in types(tmp_path / "other", "import", str(tmp_path / "ours"))


def test_a_file_travels_and_bad_lines_are_told(home: Path, tmp_path: Path) -> None:
    _, id_ = begun(home)
    file, spoilt = tmp_path / "all.ndjson", tmp_path / "spoilt.ndjson"
    assert "3 messages" in types(home, "export", str(file))
    assert "exists already" in types(home, "export", str(file), code=ExitCode.CREATE)
    assert types(home, "export", "-").encode() == file.read_bytes()
    (feed,) = objects(home)
    assert types(home, "export", "-", feed["feed"]).encode() == file.read_bytes()
    assert "no problems" in types(home, "verify", str(file))
    assert "no problems" in types(home, "verify", "-", stdin=file.read_bytes())
    make_home(tmp_path / "other")
    spoilt.write_bytes(b"no json\n" + file.read_bytes().replace(b"hello", b"hullo"))
    told = types(tmp_path / "other", "import", str(spoilt), code=ExitCode.DATA)
    assert "line 1: Json: " in told
    assert "line 4: PayloadHash: " in told
    assert "Imported 2 messages; 0 were stored already. 2 lines are wrong" in told
    *bad, counts = objects(tmp_path / "other", "verify", str(spoilt), code=ExitCode.DATA)
    assert [row["line"] for row in bad] == [1, 4]
    assert (bad[1]["field"], bad[1]["value"]) == ("data", "{'text': 'hullo'}")
    assert bad[1]["rule"].startswith("must have the hash that the metadata says")
    assert counts == {"lines": 4, "new": 2, "known": 0, "gone": 0, "bad": 2}
    assert "Imported 1 message; 2 were stored already." in types(tmp_path / "other", "import", str(file))
    assert objects(tmp_path / "other", "show", id_)[0]["message"] == objects(home, "show", id_)[0]["message"]
    assert "cannot be read" in types(home, "import", str(tmp_path / "nothing"), code=ExitCode.MISSING)


def test_a_certificate_is_all_that_somebody_else_needs(home: Path, tmp_path: Path) -> None:
    _, first = begun(home)
    (last,) = objects(home, "publish", "post", '{"text": "bye"}')
    file = tmp_path / "proof.ndjson"
    (row,) = objects(home, "certificate", last["id"], str(file))
    assert (row["id"], row["messages"], row["bytes"]) == (last["id"], 4, file.stat().st_size)
    assert b"hello" not in file.read_bytes()
    assert types(home, "certificate", last["id"]).encode() == file.read_bytes()
    assert "exists already" in types(home, "certificate", first, str(file), code=ExitCode.CREATE)
    assert "4 messages: no problems" in types(home, "verify", str(file))
    assert "pzp verify" in types(home, "certificate", first, str(tmp_path / "other.ndjson"))


def test_what_is_erased_or_collected_is_gone(home: Path) -> None:
    _, id_ = begun(home)
    (feed,) = objects(home)
    assert "Erased" in types(home, "erase", id_)
    assert "(erased)" in types(home, "feed", feed["feed"])
    assert "has no content here" in types(home, "erase", id_)
    assert "was kept" in types(home, "erase", objects(home, "identity")[1]["group"], code=ExitCode.DATA)
    assert "newest-1" in types(home, "goal", feed["feed"][:4], "newest-1")
    assert objects(home)[0]["goal"] == "newest-1"
    assert "as long as there is room" in types(home, "goal", feed["feed"], "-")
    assert "no goal" in types(home, "goal", feed["feed"], "some", code=ExitCode.DATA)
    unknown = "9h6g8tW8CNXnh6HcriVGkz"
    assert objects(home, "goal", unknown, "all") == [{"feed": unknown, "goal": "all"}]
    (row,) = objects(home, "gc")
    assert (row["deleted"], row["bytes"]) == (0, row["bytes_before"])
    assert "nothing was deleted" in types(home, "gc", "--budget", "1")


def test_without_its_libraries_it_says_what_to_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "tinyssb_node.pzp.commands.session.find_spec", lambda name: None if name == "blake3" else found(name)
    )
    for words in ([], ["verify", "-"], ["gateway"]):
        told = types(home, *words, code=ExitCode.UNAVAILABLE)
        assert "pip install 'blake3" in told


def test_sending_needs_the_daemon(home: Path) -> None:
    _, id_ = begun(home)
    assert "tinyssb run" in types(home, "send", id_, code=ExitCode.UNAVAILABLE)


def test_what_cannot_be_sent_was_written(home: Path) -> None:
    begun(home)
    ended = tinyssb(home, "pzp", "publish", "post", '{"n": 1}', "--air", "--json")
    assert ended.returncode == ExitCode.UNAVAILABLE
    id_ = json.loads(ended.stdout)["id"]
    assert f"tinyssb pzp send {id_}" in ended.stderr.decode()
    assert objects(home, "show", id_)[0]["message"]["data"] == {"n": 1}
