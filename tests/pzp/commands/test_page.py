import json
from contextlib import closing
from pathlib import Path

import pytest

from tests.daemon.processes import make_home, tinyssb
from tests.pzp.messages.vectors import FOLDER
from tinyssb_node.pzp.commands import page
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.subject_pages import subject_pages
from tinyssb_node.store.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    make_home(tmp_path / "home")
    return Home(tmp_path / "home")


def types(home: Home, *words: str) -> str:
    return tinyssb(home.root, "pzp", *words).stdout.decode()


def test_the_page_shows_what_the_commands_show(home: Home) -> None:
    assert page.read_page(home) == (page.TITLE, [])
    types(home, "import", str(FOLDER / "v4-db.log"))
    types(home, "identity", "create", "own")
    types(home, "publish", "post", '{"text": "\\u001b[2J"}', "--v1")
    (found,) = subject_pages(home)
    with closing(NodeSession.at_home(str(home.root))) as node:
        assert node.subject_pages() == [found]
    text = "\n".join(found.lines)
    assert "\x1b" not in text
    assert {line.strip() for line in types(home, "identity").splitlines()[1:]} <= {
        line.strip() for line in found.lines
    }
    for row in json.loads(f"[{types(home, '--json').strip().replace(chr(10), ',')}]"):
        assert any(line.endswith(f"messages, feed {row['feed'][:8]}:") for line in found.lines)
        for shown in types(home, "feed", row["feed"]).splitlines()[1:]:
            depth, id_, rest = shown.split(maxsplit=2)
            assert any(line.split(maxsplit=2) == [depth, id_[:8], rest] for line in found.lines)


def test_only_the_newest_feeds_and_messages_are_shown(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_FEEDS_MAX", 1)
    monkeypatch.setattr(page, "_MESSAGES_MAX", 2)
    types(home, "identity", "create", "own")
    for number in range(4):
        types(home, "publish", "post", json.dumps({"n": number}))
    types(home, "publish", "vote", '{"v": 1}')
    types(home, "publish", "post", '{"n": 4}')
    _, lines = page.read_page(home)
    assert next(line for line in lines if "messages, feed" in line).startswith("post of ")
    assert sum('{"n": ' in line for line in lines) == 2
    assert lines[-1] == "1 more feed: tinyssb pzp feeds"
