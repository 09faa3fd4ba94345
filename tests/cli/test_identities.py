"""Further identities as people and scripts see them."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_identity import PASSPHRASE, cheap, forms_of, home, passphrase_file, words_in
from tests.daemon.processes import daemon, tinyssb
from tinyssb_node.errors import ExitCode
from tinyssb_node.store import limits
from tinyssb_node.store.home import Home
from tinyssb_node.store.secrets import read_identity
from tinyssb_node.store.unlock import open_identity
from tinyssb_node.store.words import parse_words

__all__ = ["cheap", "home", "passphrase_file"]


def made(home: Home, name: str = "club", *options: str) -> Home:
    """A further identity, and where it is."""
    ended = tinyssb(home.root, "identity", "new", name, *options)
    assert ended.returncode == 0, ended.stderr
    return home.of_identity(name)


def listed(home: Home) -> dict[str, dict[str, Any]]:
    """Return the rows of `identity list` by name."""
    lines = tinyssb(home.root, "identity", "list", "--json").stdout.splitlines()
    return {row["name"]: row for row in map(json.loads, lines)}


def test_a_new_one_has_a_key_of_its_own_that_is_kept_like_the_nodes(home: Home) -> None:
    club = made(home)
    assert read_identity(club.identity).feed != read_identity(home.identity).feed
    assert stat.S_IMODE(club.identity.stat().st_mode) == 0o600
    for folder in (club.root, club.root.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    rows = listed(home)
    assert [*rows] == ["main", "club"]
    assert rows["club"]["feed"] == read_identity(club.identity).feed.hex()
    told = tinyssb(home.root, "identity", "list").stdout.decode()
    assert open_identity(club.identity, {}).seed.hex() not in told + json.dumps(rows)


def test_it_writes_in_the_nodes_dialect_unless_told_otherwise(home: Home) -> None:
    made(home)
    made(home, "phone", "--dialect", "deployed")
    assert [row["dialect"] for row in listed(home).values()] == ["spec", "spec", "deployed"]


@pytest.mark.parametrize("name", ["main", "Club", "../club", "", "x" * 33, "1st", "a_b", "café"])
def test_what_is_no_name_makes_nothing(home: Home, name: str) -> None:
    for action in ("new", "restore"):
        ended = tinyssb(home.root, "identity", action, name)
        assert ended.returncode == ExitCode.USAGE
        assert b"cannot be the name of an identity" in ended.stderr
    assert not home.identities.exists()


def test_none_is_overwritten(home: Home) -> None:
    raw = made(home).identity.read_bytes()
    for action in ("new", "restore"):
        ended = tinyssb(home.root, "identity", action, "club")
        assert ended.returncode == ExitCode.CREATE
        assert b"a key is never overwritten" in ended.stderr
    assert home.of_identity("club").identity.read_bytes() == raw


def test_there_are_only_so_many(home: Home) -> None:
    for number in range(limits.IDENTITIES_MAX):
        made(home, f"n{number}")
    ended = tinyssb(home.root, "identity", "new", "more")
    assert ended.returncode == ExitCode.CREATE
    assert b"the most there may be" in ended.stderr


def test_it_takes_a_node(tmp_path: Path) -> None:
    assert tinyssb(tmp_path, "identity", "new", "club").returncode == ExitCode.MISSING
    assert not (tmp_path / "identities").exists()


def test_a_backup_comes_back_here_and_elsewhere(home: Home, tmp_path: Path) -> None:
    club = made(home)
    told = tinyssb(home.root, "identity", "backup", "club", "--no-qr").stdout.decode()
    words = words_in(told)
    assert parse_words(words) == open_identity(club.identity, {}).seed
    assert "tinyssb identity restore club --dialect spec" in told
    kept = read_identity(club.identity)
    twice = tinyssb(home.root, "identity", "restore", "other", stdin=words.encode())
    assert twice.returncode == ExitCode.CREATE
    assert b"the key of 'club'" in twice.stderr
    club.identity.unlink()
    assert [*listed(home)] == ["main"]
    assert tinyssb(home.root, "identity", "restore", "club", stdin=words.encode()).returncode == 0
    assert read_identity(club.identity) == kept
    # As the main one of a node of its own.
    assert tinyssb(tmp_path / "new", "identity", "restore", stdin=words.encode()).returncode == 0
    assert read_identity(Home(tmp_path / "new").identity) == kept


def test_the_nodes_own_key_is_not_taken_as_another_one(home: Home) -> None:
    words = words_in(tinyssb(home.root, "identity", "backup", "main", "--no-qr").stdout.decode())
    ended = tinyssb(home.root, "identity", "restore", "club", stdin=words.encode())
    assert ended.returncode == ExitCode.CREATE
    assert b"the key of 'main'" in ended.stderr
    assert not home.of_identity("club").root.exists()


def test_wrong_words_and_what_is_for_nodes_make_nothing(home: Home) -> None:
    wrong = tinyssb(home.root, "identity", "restore", "club", stdin=b"zoo zoo zebra zzzz")
    assert wrong.returncode == ExitCode.DATA
    named = tinyssb(home.root, "identity", "restore", "club", "--name", "ana")
    assert named.returncode == ExitCode.USAGE
    assert not home.identities.exists()


@pytest.mark.usefixtures("cheap")
def test_each_is_sealed_by_itself(home: Home, passphrase_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    club = made(home)
    seed = open_identity(club.identity, {}).seed
    assert tinyssb(home.root, "identity", "seal", "club").returncode == 0
    assert {name: row["kept"] for name, row in listed(home).items()} == {"main": "plain", "club": "sealed"}
    assert seed.hex() not in club.identity.read_text()
    # A credential of its own comes before what opens the node's.
    credentials = passphrase_file.parent / "credentials"
    credentials.mkdir()
    (credentials / "tinyssb.passphrase").write_text("another")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    assert tinyssb(home.root, "identity", "unseal", "club").returncode == ExitCode.PERMISSION
    (credentials / "tinyssb.passphrase.club").write_text(passphrase_file.read_text())
    assert tinyssb(home.root, "identity", "unseal", "club").returncode == 0
    assert open_identity(club.identity, {}).seed == seed


def test_each_is_handed_in_by_itself(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    club = made(home)
    raw, identity = club.identity.read_bytes(), open_identity(club.identity, {})
    assert tinyssb(home.root, "identity", "detach", "club", "--yes").returncode == 0
    assert {name: row["kept"] for name, row in listed(home).items()} == {
        "main": "plain",
        "club": "credential",
    }
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "tinyssb.identity").write_bytes(raw)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    refused = tinyssb(home.root, "identity", "backup", "club")
    assert refused.returncode == ExitCode.MISSING
    assert b"tinyssb.identity.club" in refused.stderr
    (credentials / "tinyssb.identity.club").write_bytes(raw)
    told = tinyssb(home.root, "identity", "backup", "club", "--no-qr").stdout.decode()
    assert parse_words(words_in(told)) == identity.seed


def test_one_that_cannot_be_read_is_told_and_hides_no_other(home: Home) -> None:
    made(home).identity.chmod(0o644)
    made(home, "sensor")
    rows = listed(home)
    assert "mode 0644" in rows["club"]["problem"]
    assert (rows["club"]["feed"], rows["sensor"]["problem"]) == (None, None)
    assert b"mode 0644" in tinyssb(home.root, "identity", "list").stdout
    assert b"the identity 'club'" in tinyssb(home.root, "doctor").stdout
    assert tinyssb(home.root, "identity", "backup", "club").returncode == ExitCode.PERMISSION


def test_an_unknown_one_is_told_as_such(home: Home) -> None:
    made(home)
    for action in (["backup", "clb"], ["seal", "clb"], ["detach", "clb", "--yes"]):
        ended = tinyssb(home.root, "identity", *action)
        assert ended.returncode == ExitCode.MISSING
        assert b"There are club." in ended.stderr


@pytest.mark.usefixtures("cheap")
def test_a_daemon_opens_sealed_keys_and_tells_nobody(home: Home, passphrase_file: Path) -> None:
    club = made(home)
    hidden = [*forms_of(open_identity(club.identity, {}).seed), PASSPHRASE.encode()]
    home.config.write_text(home.config.read_text() + '[log]\nlevel = "debug"\n')
    assert tinyssb(home.root, "identity", "seal", "club").returncode == 0
    with daemon(home.root) as running:
        said = [Path(f"/proc/{running.process.pid}/{what}").read_bytes() for what in ("cmdline", "environ")]
        written = tinyssb(home.root, "publish", "--as", "club", "said", "--json")
        assert json.loads(written.stdout)["feed"] == read_identity(club.identity).feed.hex()
        posted = tinyssb(home.root, "chat", "say", "--as", "club", "We meet on Friday", "--json")
        assert json.loads(posted.stdout)["feed"] == read_identity(club.identity).feed.hex()
        rows = [json.loads(line) for line in tinyssb(home.root, "chat", "--json").stdout.splitlines()]
        assert [(row["text"], row["doubtful"]) for row in rows] == [
            ("said", False),
            ("We meet on Friday", False),
        ]
        assert abs(rows[1]["said_us"] - rows[1]["committed_us"]) < 120_000_000
        assert json.loads(posted.stdout)["size"] == 1 + 2 + len("We meet on Friday") + 20, "2 bytes of time"
        private = tinyssb(home.root, "chat", "say", "--as", "club", "--with", "main", "x")
        assert private.returncode == ExitCode.USAGE
        for words in (
            ["publish", "--as", "club", "x" * 70_000],
            ["publish", "--as", "nobody", "x"],
            ["publish", "--as", "main", "by the node"],
            ["chat", "say", "--as", "nobody", "x"],
            ["identity", "list"],
            ["identity", "sure", "club"],
            ["feeds", "--json"],
            ["status", "--json"],
            ["status"],
            ["doctor"],
        ):
            ended = tinyssb(home.root, *words)
            said += [ended.stdout, ended.stderr]
        code, logged = running.stop()
    assert code == 0
    passphrase_file.write_text("wrong")
    with daemon(home.root) as running:
        refused = tinyssb(home.root, "publish", "--as", "club", "x")
        assert b"The passphrase does not open" in refused.stderr
        said += [refused.stdout, refused.stderr]
        _, again = running.stop()
    said += [logged.encode(), again.encode()]
    said += [path.read_bytes() for path in home.root.rglob("*") if path.is_file()]
    assert [form for form in hidden if any(form in text for text in said)] == []


def test_what_does_not_exist_is_told_by_its_exit_code(home: Home) -> None:
    with daemon(home.root):
        refused = tinyssb(home.root, "publish", "--as", "club", "x")
    assert refused.returncode == ExitCode.MISSING
    assert b"`tinyssb identity new` makes one" in refused.stderr


def test_a_running_node_uses_new_identities_and_lets_removed_ones_go(home: Home) -> None:
    with daemon(home.root) as running, running.client() as client:
        for name in ("club", "sensor"):
            ended = tinyssb(home.root, "identity", "new", name)
            assert b"The node uses it now. Write with it: tinyssb chat say --as" in ended.stdout, ended.stderr
            written = tinyssb(home.root, "chat", "say", "--as", name, f"by the {name}", "--json")
            assert (
                json.loads(written.stdout)["feed"]
                == read_identity(home.of_identity(name).identity).feed.hex()
            )
        asked = tinyssb(home.root, "identity", "remove", "club")
        assert asked.returncode == ExitCode.USAGE
        assert b"Nothing was removed." in asked.stderr
        ended = tinyssb(home.root, "identity", "remove", "club", "--yes")
        assert (ended.returncode, home.of_identity("club").root.exists()) == (0, False), ended.stderr
        assert b"does not write with it any more" in ended.stdout
        assert tinyssb(home.root, "publish", "--as", "club", "gone").returncode == ExitCode.MISSING
        assert tinyssb(home.root, "publish", "--as", "sensor", "still here").returncode == 0
        assert b"by the club" in tinyssb(home.root, "chat").stdout
        assert client.reopen_identities().fields() == {"opened": [], "closed": [], "problems": {}}
        running.stop()
    assert tinyssb(home.root, "identity", "remove", "main", "--yes").returncode == ExitCode.USAGE
    assert tinyssb(home.root, "identity", "remove", "nobody", "--yes").returncode == ExitCode.MISSING
    assert b"Removed the identity" in tinyssb(home.root, "identity", "remove", "sensor", "--yes").stdout
    assert [*listed(home)] == ["main"]
