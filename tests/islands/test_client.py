"""Errors where no gateway runs."""

import json
from pathlib import Path

import pytest

from tests.daemon.processes import make_home, tinyssb
from tinyssb_node.errors import ExitCode


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_home(tmp_path / "node")
    return tmp_path / "node"


@pytest.mark.parametrize("words", [("gateway",), ("gateway", "status", "--json"), ("locate", "me")])
def test_a_node_without_a_gateway_says_how_to_have_one(home: Path, words: tuple[str, ...]) -> None:
    ended = tinyssb(home, *words)
    assert ended.returncode == ExitCode.UNAVAILABLE
    assert b"no gateway to other islands" in ended.stderr
    assert b"docs/howto/gateways.md" in ended.stderr


@pytest.mark.parametrize("words", [("gateway",), ("locate", "me")])
def test_a_gateway_that_does_not_run_is_told(home: Path, words: tuple[str, ...]) -> None:
    with (home / "config.toml").open("a") as config:
        config.write("[gateway]\nenabled = true\n")
    ended = tinyssb(home, *words)
    assert ended.returncode == ExitCode.UNAVAILABLE
    assert b"The gateway is not running." in ended.stderr


def test_a_gateway_that_nobody_configured_does_not_run(home: Path) -> None:
    ended = tinyssb(home, "gateway", "run")
    assert ended.returncode == ExitCode.CONFIG
    assert b"says nothing of a gateway" in ended.stderr


def test_seconds_are_a_number(home: Path) -> None:
    ended = tinyssb(home, "locate", "me", "--seconds", json.dumps(0))
    assert ended.returncode == ExitCode.USAGE


def test_seconds_have_an_end(home: Path) -> None:
    ended = tinyssb(home, "locate", "me", "--seconds", "601")
    assert ended.returncode == ExitCode.USAGE
    assert b"601 s are more than 600" in ended.stderr
    assert tinyssb(home, "locate", "me", "--seconds", "600").returncode == ExitCode.UNAVAILABLE
