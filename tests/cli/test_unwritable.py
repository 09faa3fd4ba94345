"""A home on a disk that went read-only: the commands that still read it, and the errors of the others."""

from pathlib import Path

import pytest

from tests.daemon.processes import daemon, make_home
from tests.unwritable import on_a_read_only_disk
from tinyssb_node.content import chat
from tinyssb_node.errors import ExitCode


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "node"
    make_home(home)
    with daemon(home) as running:
        with running.client() as node:
            node.publish(chat.serialize(chat.Text(text="rescue me")))
        assert running.stop()[0] == 0
    return home


def test_feeds_are_taken_out_and_read(home: Path, tmp_path: Path) -> None:
    took = on_a_read_only_disk(home, "export", str(tmp_path / "out.feed"))
    assert (took.returncode, took.stderr) == (0, b"")
    assert (tmp_path / "out.feed").stat().st_size > 0
    verified = on_a_read_only_disk(home, "verify")
    assert (verified.returncode, verified.stderr) == (0, b"")
    assert b"1 entries" in verified.stdout
    talk = on_a_read_only_disk(home, "chat")
    assert talk.returncode == 0
    assert b"rescue me" in talk.stdout


def test_a_node_does_not_run_there_and_says_what_to_do(home: Path) -> None:
    ended = on_a_read_only_disk(home, "run")
    assert ended.returncode == ExitCode.STORAGE
    assert b"Nothing can be written in" in ended.stderr
    assert b"name the copy with --home" in ended.stderr


def test_doctor_says_that_nothing_can_be_written(home: Path) -> None:
    told = on_a_read_only_disk(home, "doctor")
    assert told.returncode == ExitCode.ATTENTION
    lines = told.stdout.decode().splitlines()
    assert lines[0].startswith("BAD  home: ")
    assert "--home" in lines[1]
    assert any(line.startswith("ok   store") for line in lines)
