"""Files exchanged with the published package pzp-db, which runs under Node.js. Its recordings are tested without it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.daemon.processes import make_home, tinyssb
from tests.pzp.database.messages import BOB, public
from tinyssb_node.errors import ExitCode

pytestmark = [
    pytest.mark.skipif(needs.pzp_db() is None, reason=needs.PZP_DB_REASON),
]
DRIVER = Path(__file__).with_name("pzp_db.cjs")


def package(folder: Path, key: str, *commands: tuple[str, Any]) -> list[Any]:
    """The results of calls to the package, on its database in *folder*, with the key of that name."""
    folder.mkdir(exist_ok=True)
    run = subprocess.run(
        ["node", str(DRIVER), str(folder), key, json.dumps(commands)],
        env={**os.environ, "NODE_PATH": str(needs.pzp_db())},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    results: list[Any] = json.loads(run.stdout.splitlines()[-1])
    return results


def types(home: Path, *words: str, code: int = 0) -> list[dict[str, Any]]:
    """The objects that ``tinyssb pzp`` prints."""
    ended = tinyssb(home, "pzp", *words, "--json")
    assert ended.returncode == code, ended.stderr.decode()
    return [json.loads(line) for line in ended.stdout.splitlines()]


def post(account: str, text: str) -> tuple[str, Any]:
    return "publish", {"account": account, "domain": "post", "data": {"text": text}}


def test_a_file_of_the_package_is_imported(tmp_path: Path) -> None:
    theirs, home = tmp_path / "theirs", tmp_path / "home"
    make_home(home)
    (account,) = package(theirs, "alice", ("create", {"subdomain": "person"}))
    first, *_, feed = package(
        theirs,
        "alice",
        post(account, "one"),
        ("add", {"account": account, "who": "bob"}),
        post(account, "zwei, mit Grüßen"),
        ("moot", {"account": account, "domain": "post"}),
    )
    package(theirs, "bob", post(account, "three, by the other device"), ("erase", first))
    held, order = package(theirs, "alice", ("records", None), ("order", feed))
    (counts,) = types(home, "import", str(theirs))
    assert counts == {"lines": 6, "new": 6, "known": 0, "gone": 0, "bad": 0}
    rows = types(home, "feed", feed)
    assert [row["id"] for row in rows] == order
    assert [row["message"] for row in rows] == [
        next(one["msg"] for one in held if one["id"] == id_) for id_ in order
    ]
    assert [row["said"] for row in rows] == ["here", "absent", "here", "here"]
    (counts,) = types(home, "import", str(theirs / "db" / "log"))
    assert counts["known"] == 6


def test_the_package_opens_an_exported_folder_checks_it_and_writes_on(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    make_home(home)
    (made,) = types(home, "identity", "create", "hut")
    account = made["group"]
    (old,) = types(home, "identity", "create", "old", "--v2")
    for text in ("eins", "zwei 😀", "drei"):
        types(home, "publish", "post", json.dumps({"text": text, "n": 0.1}), "--group", account)
    types(home, "publish", "post", '{"text": "of V2"}', "--group", old["group"])
    (consent,) = package(tmp_path / "elsewhere", "dave", ("consent", {"account": account, "who": "bob"}))
    types(home, "identity", "add-key", account, public(BOB), consent)
    (wrote,) = types(home, "export", str(folder), "--pzp-db")
    assert (wrote["messages"], wrote["left_out"]) == (6, 3)
    (feed,) = [row for row in types(home) if row["owner"] == account]
    rows = types(home, "feed", feed["feed"])

    added, order, checked = package(
        folder,
        "bob",
        post(account, "by the package"),
        ("order", feed["feed"]),
        ("checked", {"path": str(tmp_path / "another"), "roots": [account, feed["feed"]]}),
    )
    assert order == [*(row["id"] for row in rows), added]
    assert len(checked) == 7
    assert all(problem is None for _, problem in checked), checked
    (counts,) = types(home, "import", str(folder))
    assert counts == {"lines": 7, "new": 1, "known": 6, "gone": 0, "bad": 0}
    assert types(home, "feed", feed["feed"])[-1]["message"]["data"] == {"text": "by the package"}


def test_the_package_takes_our_removal_of_a_key(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    make_home(home)
    (made,) = types(home, "identity", "create", "hut")
    account = made["group"]
    (consent,) = package(tmp_path / "elsewhere", "dave", ("consent", {"account": account, "who": "bob"}))
    types(home, "identity", "add-key", account, public(BOB), consent)
    types(home, "publish", "post", '{"text": "one"}')
    types(home, "export", str(folder), "--pzp-db")
    package(folder, "bob", post(account, "before"))
    types(home, "import", str(folder))
    types(home, "identity", "remove-key", account, public(BOB))
    (feed,) = types(home)
    after = tmp_path / "after"
    types(home, "export", str(after), "--pzp-db")
    late, checked = package(
        after,
        "bob",
        post(account, "late"),
        ("checked", {"path": str(tmp_path / "another"), "roots": [account, feed["feed"]]}),
    )
    problems = {id_: problem for id_, problem in checked if problem is not None}
    assert problems.keys() == {late}
    assert "should have been one of" in problems[late]


def test_a_key_that_the_package_removed_writes_no_more(tmp_path: Path) -> None:
    theirs, home = tmp_path / "theirs", tmp_path / "home"
    make_home(home)
    (account,) = package(theirs, "alice", ("create", {"subdomain": "person"}))
    package(theirs, "alice", ("add", {"account": account, "who": "bob"}))
    package(theirs, "bob", post(account, "before"))
    package(theirs, "alice", ("del", {"account": account, "who": "bob"}))
    package(theirs, "bob", post(account, "after: the package writes it, and no other database takes it"))
    *bad, counts = types(home, "import", str(theirs), code=ExitCode.DATA)
    assert [row["error"] for row in bad] == ["NotMember"]
    assert (counts["new"], counts["bad"]) == (5, 1)
    (shown,) = types(home, "identity", "show", account)
    assert public(BOB) not in shown["keys"]
