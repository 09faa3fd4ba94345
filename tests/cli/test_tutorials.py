"""The tutorials are executed: their commands in their order, on real daemons."""

import contextlib
import json
import re
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.architecture.sources import name_of
from tests.daemon.processes import PATIENCE_S, PROGRAM, daemon, make_home, tinyssb
from tests.daemon.test_process_networks import free_udp_port
from tests.docs import pages

ENDLESS = ("--follow", "tui")
"""Words of commands that go on until Ctrl-C."""
FOLLOWED_S = 3.0
"""How long such a command may take to show something; it may have nothing to show."""


@dataclass
class Reader:
    """Somebody who types what a page says, on a machine with neighbours in reach."""

    home: Path
    face: str
    stack: contextlib.ExitStack
    output: list[str] = field(default_factory=list)
    """The output of every command so far."""
    said: str = ""
    """Digits of the message that was said last: what a page calls by digits of its own."""

    def follows(self, page: str, places: Mapping[str, str], *, only: str = "") -> list[list[str]]:
        """Type all commands of *page* that begin with *only*. *places* replaces words that stand for the reader's
        own; digits of a message stand for the last one said. Return the commands."""
        typed = []
        for place, words in pages.shell_commands("tinyssb"):
            if name_of(place.path) == page and " ".join(words).startswith(only):
                typed.append(words)
                self.types(*(places.get(word, word) for word in words))
        return typed

    def types(self, *words: str) -> None:
        """Type one command, again if a neighbour's news it needs is still on the way."""
        words = tuple(self.said if re.fullmatch(r"[0-9a-f]{6}", word) else word for word in words)
        if words == ("run",):
            self.stack.enter_context(daemon(self.home))
            return
        if set(words) & {*ENDLESS}:
            self._starts(words)
            return
        until_s = time.monotonic() + PATIENCE_S
        while (ended := tinyssb(self.home, *words)).returncode != 0:
            if b"\nAdd --yes to " in ended.stderr:
                words = (*words, "--yes")  # the reader is asked on their terminal, and agrees
            assert time.monotonic() < until_s, (words, ended.stdout, ended.stderr)
        self.output.append(ended.stdout.decode() + ended.stderr.decode())
        if words[0] == "init":
            # The page's node is on the network of the machine; this one stays on it.
            config = self.home / "config.toml"
            faces = re.compile(r"^faces = .*?\]$", re.MULTILINE | re.DOTALL)
            config.write_text(faces.sub(f'faces = ["{self.face}"]', config.read_text(), count=1))
        if words[:2] == ("chat", "say"):
            shown = tinyssb(self.home, "chat", "--json", "--last", "1").stdout
            self.said = json.loads(shown)["id"][:6] if shown else ""

    def _starts(self, words: tuple[str, ...]) -> None:
        """Start a command that does not end, and end it once it shows something, or soon."""
        command = [*PROGRAM, "--home", str(self.home), *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            assert process.stdout is not None
            select.select([process.stdout], [], [], FOLLOWED_S)
            assert process.poll() is None, process.stdout.read().decode()
            process.terminate()


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """Anna and Ben: a face in whose reach their nodes are, and their feeds by name."""
    face = f"udp:239.5.5.8:{free_udp_port()}?interface=lo&ttl=0"
    with contextlib.ExitStack() as stack:
        feeds = {}
        for name in ("anna", "ben"):
            home = tmp_path_factory.mktemp(name)
            feeds[name] = make_home(home, face, name=name).hex()
            stack.enter_context(daemon(home))
            assert tinyssb(home, "alias", name.capitalize()).returncode == 0
        yield face, feeds


@pytest.fixture
def reader(tmp_path: Path, neighbours: tuple[str, dict[str, str]]) -> Iterator[Reader]:
    with contextlib.ExitStack() as stack:
        yield Reader(tmp_path / "node", neighbours[0], stack)


@pytest.fixture
def running(reader: Reader, neighbours: tuple[str, dict[str, str]]) -> Reader:
    """A reader whose node runs, and knows its neighbours."""
    reader.types("init")
    reader.types("run")
    for feed in neighbours[1].values():
        reader.types("follow", feed)
    until_s = time.monotonic() + PATIENCE_S
    while not {"Anna", "Ben"} <= set(re.findall(r"\w+", tinyssb(reader.home, "contacts").stdout.decode())):
        assert time.monotonic() < until_s
    return reader


def test_the_readme(reader: Reader, neighbours: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    stick.mkdir()
    places = {
        "FEED": neighbours[1]["ben"],
        "/media/stick": str(stick),
        "backup.tssb": str(tmp_path / "backup.tssb"),
    }
    typed = reader.follows("README.md", places)
    assert [words[0] for words in typed][:3] == ["init", "run", "publish"]
    assert len(typed) > 8
    assert list(stick.rglob("*.tssb"))
    assert any("Bridge is out, take the ridge" in shown for shown in reader.output)


@pytest.mark.parametrize("page", ["docs/howto/first-node.md", "docs/howto/install-on-a-pi.md"])
def test_from_a_card_to_a_node(reader: Reader, page: str) -> None:
    reader.follows(page, {}, only="init")
    reader.types("run")  # as `systemctl enable --now tinyssb` does
    for command in ("status", "publish"):
        assert len(reader.follows(page, {}, only=command)) == 1
    assert b"Hello from the roof" in tinyssb(reader.home, "chat").stdout


def test_talk_with_people(running: Reader, neighbours: tuple[str, dict[str, str]]) -> None:
    page = "docs/howto/chat.md"
    (example,) = re.findall(r"tinyssb follow ([0-9a-f]{64})", pages.read(page))
    typed = running.follows(page, {example: neighbours[1]["ben"], "bob": "ben"})
    assert len(typed) > 12
    assert any(re.search(r"\d+ bytes in \d packets?\.", shown) for shown in running.output)


def test_private_groups(running: Reader) -> None:
    typed = running.follows("docs/howto/groups.md", {"ana": "anna", "bob": "ben"})
    assert [words[1] for words in typed if words[0] == "group"][-1] == "exclude"


def test_positions_and_sensors(running: Reader) -> None:
    running.types("group", "create", "Hut crew", "anna", "ben")
    assert len(running.follows("docs/howto/telemetry.md", {})) > 4


def test_a_stick_in_a_pocket(running: Reader, tmp_path: Path) -> None:
    page = "docs/howto/sneakernet.md"
    stick = tmp_path / "stick"
    stick.mkdir()
    other = tmp_path / "other"
    make_home(other, "ws:listen:127.0.0.1:0", name="other")
    with daemon(other):
        assert tinyssb(other, "publish", "From the other valley").returncode == 0
        assert tinyssb(other, "carry", str(stick)).returncode == 0
    assert "`tinyssb carry /media/stick`" in pages.read(page)
    running.types("publish", "From this one")
    running.types("carry", str(stick))
    shown = running.output[-1]
    assert re.search(r"^Imported [\d,]+ entr(y|ies).* of \d+ feeds?\.$", shown, re.MULTILINE)
    assert re.search(r"^Wrote [\d,]+ entries of \d+ feeds to .*\.tssb, [\d,]+ bytes\.$", shown, re.MULTILINE)
