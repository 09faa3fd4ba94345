"""The demonstration's own care: what it deletes, what it says when a part of it fails."""

import socket
import time
from pathlib import Path

import pytest

from tinyssb_node.cli.demo import mesh
from tinyssb_node.cli.demo.mesh import DemoMesh, free_port
from tinyssb_node.errors import ExitCode, ProblemError


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear", "utf-8")
    with pytest.raises(ProblemError, match="Nothing was changed") as caught:
        DemoMesh(tmp_path, 0).start()
    assert caught.value.exit_code is ExitCode.SOFTWARE
    assert (tmp_path / "letter.txt").read_text("utf-8") == "dear"


def test_what_an_earlier_demonstration_left_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    mesh.empty_folder(folder)
    (folder / "old").touch()
    mesh.empty_folder(folder)
    assert [path.name for path in folder.iterdir()] == [".tinyssb-demo"]


def test_a_process_that_ends_on_its_own_is_reported_with_its_last_words(tmp_path: Path) -> None:
    running = DemoMesh(tmp_path, 0)
    (tmp_path / "logs").mkdir()
    running.run("sink", ["/bin/sh", "-c", "echo no Java here; exit 3"])

    def watch() -> None:
        for _ in range(1_000):
            running.check()
            time.sleep(0.01)

    with pytest.raises(ProblemError, match="sink ended unexpectedly: no Java here") as caught:
        watch()
    assert caught.value.exit_code is ExitCode.SOFTWARE
    running.stop()


def test_a_port_in_use_is_replaced_by_a_free_one() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) != port


def test_a_killed_node_is_no_fault_and_may_start_again(tmp_path: Path) -> None:
    running = DemoMesh(tmp_path, 0)
    (tmp_path / "logs").mkdir()
    running.run("ana", ["/bin/sh", "-c", "echo here; exec sleep 60"])
    running.run("ben", ["/bin/sh", "-c", "exec sleep 60"])
    running.kill("ana")
    assert not running.runs("ana")
    assert running.runs("ben")
    running.check()
    running.stop()


def test_the_caption_is_replaced_as_a_whole(tmp_path: Path) -> None:
    running = DemoMesh(tmp_path, 0)
    running.show("first")
    running.show("second")
    assert running.caption.read_text("utf-8") == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["caption.txt"]
