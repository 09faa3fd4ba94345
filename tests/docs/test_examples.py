"""The examples run: bots against real daemons, the plugin as an installed package, and all of them type-checked."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.daemon.processes import PATIENCE_S, PROGRAM, daemon, make_home, tinyssb
from tests.daemon.test_process_networks import free_udp_port

EXAMPLES = ROOT / "docs/examples"
LINES_MAX = 20
"""Lines of code of a bot, without its docstring and imports."""


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """The homes of Ana and of a bot, whose daemons hear each other."""
    face = f"udp:239.5.5.8:{free_udp_port()}?interface=lo&ttl=0"
    with contextlib.ExitStack() as stack:
        ana, bot = (tmp_path_factory.mktemp(name) for name in ("ana", "bot"))
        feeds = [make_home(home, face, name=home.name) for home in (ana, bot)]
        for home in (ana, bot):
            stack.enter_context(daemon(home))
        types(ana, "follow", feeds[1].hex())
        types(bot, "follow", feeds[0].hex())
        types(ana, "alias", "Ana")
        until_s = time.monotonic() + PATIENCE_S
        while "Ana" not in types(bot, "contacts"):
            assert time.monotonic() < until_s
        yield ana, bot


def types(home: Path, *arguments: str) -> str:
    ended = tinyssb(home, *arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def reads(home: Path, text: str) -> list[str]:
    """Return the texts of the public conversation once *text* is one of them."""
    until_s = time.monotonic() + PATIENCE_S
    while text not in (
        texts := [json.loads(line)["text"] for line in types(home, "chat", "--json").splitlines()]
    ):
        assert time.monotonic() < until_s, texts
    return texts


@contextlib.contextmanager
def running(home: Path, name: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run an example beside the node in *home*; it must not end by itself."""
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLES / name), *arguments],
        env={**os.environ, "TINYSSB_HOME": str(home), "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
        assert process.poll() is None, process.stderr and process.stderr.read()
    finally:
        process.kill()
        process.communicate()


def test_the_echo_bot_answers_once(homes: tuple[Path, Path]) -> None:
    ana, bot = homes
    with running(bot, "echo_bot.py"):
        types(ana, "chat", "say", "echo Hello, hut!")
        types(ana, "chat", "say", "no order")
        reads(ana, "Hello, hut!")
    with running(bot, "echo_bot.py"):
        types(ana, "chat", "say", "echo again")
        texts = reads(ana, "again")
    assert texts.count("Hello, hut!") == 1, "started again, it does not answer what it answered"


def test_the_weather_bot_answers_with_the_file(homes: tuple[Path, Path], tmp_path: Path) -> None:
    ana, bot = homes
    file = tmp_path / "weather.txt"
    file.write_text("4 °C, snow from noon\n")
    with running(bot, "weather_bot.py", str(file)):
        types(ana, "chat", "say", "Weather")
        reads(ana, "4 °C, snow from noon")


def test_the_sms_bridge_passes_both_ways_for_those_it_knows(homes: tuple[Path, Path], tmp_path: Path) -> None:
    ana, bot = homes
    for folder in ("incoming", "outgoing"):
        (tmp_path / folder).mkdir()
    (tmp_path / "incoming/GSM1.a").write_text("From: 41790000000\nAlphabet: ISO\n\nRoad is open\n")
    with running(bot, "sms_bridge.py", str(tmp_path), "Ana"):
        reads(ana, "SMS from 41790000000: Road is open")
        types(ana, "chat", "say", "sms ../x no number")
        types(ana, "chat", "say", "sms +41791234567 We are fine")
        types(bot, "chat", "say", "sms 0900 by a stranger to the list")
        until_s = time.monotonic() + PATIENCE_S
        while not (sent := [*(tmp_path / "outgoing").iterdir()]):
            assert time.monotonic() < until_s
    assert [file.read_text() for file in sent] == ["To: 41791234567\n\nWe are fine\n"]
    assert [*(tmp_path / "incoming").iterdir()] == []


def test_the_plugin_is_found_once_it_is_installed(homes: tuple[Path, Path], tmp_path: Path) -> None:
    _, bot = homes
    # As pip installs it: the module, and what its pyproject.toml says of entry points.
    shutil.copy(EXAMPLES / "content_type/tinyssb_tide.py", tmp_path)
    about = tmp_path / "tinyssb_tide-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tinyssb-tide\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[tinyssb_node.content_types]\ntide = tinyssb_tide:describe\nbad = tinyssb_tide:absent\n"
    )
    row = json.loads(types(bot, "publish", "--json", "--bipf", '["TIDE", 143]'))
    shown = [
        subprocess.run(
            [*PROGRAM, "--home", str(bot), *arguments],
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
            capture_output=True,
            text=True,
            check=False,
        )
        for arguments in (
            ("log", "me"),
            ("show", "me", str(row["seq"])),
            ("log", "me", "--json", "--limit", "1"),
        )
    ]
    assert "tide: 143 cm above chart datum" in shown[0].stdout, shown[0].stderr
    assert re.search(r"^as tide: +143 cm above chart datum$", shown[1].stdout, re.MULTILINE)
    assert json.loads(shown[2].stdout)["text"] == "143 cm above chart datum"
    assert [run.stderr.count("The plugin 'bad' failed and is left out") for run in shown] == [1, 1, 1]


@pytest.mark.parametrize("bot", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_a_bot_is_short(bot: str) -> None:
    code = (EXAMPLES / bot).read_text().rpartition("import PUBLIC, NodeSession")[2]
    assert len([line for line in code.splitlines() if line.strip()]) <= LINES_MAX + 4


def test_the_examples_are_typed() -> None:
    files = [str(path) for path in EXAMPLES.rglob("*.py")]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--scripts-are-modules", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_table_has_all_of_them() -> None:
    table = (EXAMPLES / "README.md").read_text("utf-8")
    assert [path.name for path in EXAMPLES.rglob("*.py") if f"{path.name})" not in table] == []
