"""The collector's command: what it is told wrongly, and what it does without a broker. With one, see
test_collect_broker.py."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from spark_sink.cli import main
from spark_sink.collect.landing import INDEX


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["tcp://broker"], "mqtt://host"),
        (["mqtt://broker:99999"], "mqtt://host"),
        (["mqtt://ana:secret@broker"], "mqtt://host"),
        (["mqtt://broker..example.org"], "mqtt://host"),
        (["mqtt://" + "a" * 64], "mqtt://host"),
        (["mqtt://broker", "--cert", "a"], "given together with --key"),
        (["mqtt://broker", "--user", "a", "--password-file", "nowhere"], "a file that can be read"),
        (["mqtts://broker", "--ca", "nowhere"], "a file in PEM"),
        (["mqtt://broker", "--quota-mb", "-1"], "0 or more"),
        (["mqtt://broker", "--keep-free-mb", "-1"], "0 or more"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    broker, *more = options
    assert main(["collect", broker, str(tmp_path / "logs"), *more]) == 78
    assert words in capsys.readouterr().err
    assert not (tmp_path / "logs").exists()


def test_without_a_broker_it_says_so_and_waits_until_it_is_told_to_stop(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        broker = f"mqtt://127.0.0.1:{taken.getsockname()[1]}"
        command = [sys.executable, "-u", "-m", "spark_sink.cli", "collect", broker, str(tmp_path / "logs")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == (
                f"The broker {broker} cannot be reached (Connection refused): trying again\n"
            )
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
    assert (tmp_path / "logs" / INDEX).is_file()


def test_a_folder_that_cannot_be_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["collect", "mqtt://127.0.0.1:1", str(tmp_path / "file")]) == 74
    assert "Collecting into" in capsys.readouterr().err
