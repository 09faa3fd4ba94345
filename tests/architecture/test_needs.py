"""A test that lacks a system package is skipped, with the command to type; under CI it fails."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import conftest, needs
from tests.architecture.sources import ROOT


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A machine with an empty folder for programs, which is returned."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(needs, "POSTGRES_VERSIONS", str(tmp_path))
    monkeypatch.setattr(needs, "SYSTEM_PROGRAMS", str(tmp_path))
    needs.java_version.cache_clear()
    yield tmp_path
    needs.java_version.cache_clear()


def program(path: Path, text: str = "") -> None:
    """Put a program there."""
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def marked(request: pytest.FixtureRequest, marker: str) -> pytest.Item:
    """A test with that marker."""
    item = pytest.Function.from_parent(request.node.parent, name="stand_in", callobj=lambda: None)
    item.add_marker(marker)
    return item


@pytest.mark.parametrize(
    ("marker", "package"),
    [
        ("spark", "default-jre-headless"),
        ("browser", "chromium"),
        ("dbus", "dbus"),
        ("postgres", "postgresql"),
        ("mosquitto", "mosquitto"),
        ("gcc", "gcc libc6-dev"),
    ],
)
def test_what_is_missing_is_said_as_the_line_to_type(
    bare: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, marker: str, package: str
) -> None:
    with pytest.raises(pytest.skip.Exception, match=f"sudo apt-get install {package}$"):
        conftest.pytest_runtest_setup(marked(request, marker))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=f"sudo apt-get install {package}$"):
        conftest.pytest_runtest_setup(marked(request, marker))


def test_a_test_that_has_all_it_needs_runs(bare: Path, request: pytest.FixtureRequest) -> None:
    program(bare / "java", "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2")
    program(bare / "google-chrome")
    program(bare / "gcc")
    program(bare / "mosquitto")
    program(bare / "dbus-daemon")
    program(bare / "15" / "bin" / "initdb")
    for marker in ("spark", "browser", "dbus", "postgres", "mosquitto", "gcc", "asyncio"):
        conftest.pytest_runtest_setup(marked(request, marker))


@pytest.mark.parametrize(
    ("answer", "version"), [('java version "1.8.0_462"', 1), ('openjdk version "21" 2023', 21)]
)
def test_the_java_of_java_home_counts_first(
    bare: Path, monkeypatch: pytest.MonkeyPatch, answer: str, version: int
) -> None:
    program(bare / "java", "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2")
    program(bare / "bin" / "java", f"echo '{answer}' >&2")
    monkeypatch.setenv("JAVA_HOME", str(bare))
    assert needs.java_version() == version


def test_a_java_that_says_nothing_is_none(bare: Path) -> None:
    program(bare / "java", "exit 1")
    assert needs.java_version() == 0


def test_tests_left_out_are_summed_up_in_one_line_with_one_command() -> None:
    java, gcc = needs.reason("Java 17 or newer", "default-jre-headless"), needs.reason("gcc", "gcc libc6-dev")
    assert needs.left_out_line(
        [f"Skipped: {gcc}", f"Skipped: {java}", "Skipped: needs root", f"Skipped: {java}"]
    ) == (
        "3 tests were left out: this machine lacks Java 17 or newer, gcc. "
        "To install, type: sudo apt-get install default-jre-headless gcc libc6-dev"
    )
    assert needs.left_out_line(["Skipped: needs root"]) is None


def test_runs_of_one_target_end_with_the_sum_of_the_tests_left_out(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    browser\n    dbus\n")
    (tmp_path / "test_two.py").write_text(
        "import pytest\n"
        "@pytest.mark.browser\ndef test_page(): pass\n"
        "@pytest.mark.dbus\ndef test_bluetooth(): pass\n"
        "def test_plain(): pass\n"
    )

    def last_line(*options: str) -> str:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
            cwd=tmp_path,
            env={"PATH": str(bare), "PYTHONPATH": str(ROOT), "LEFT_OUT": str(tmp_path / "left-out")},
            capture_output=True,
            text=True,
            check=True,
        )
        return run.stdout.splitlines()[-1]

    assert last_line("-n", "2", "-k", "page or plain") == (
        "1 test was left out: this machine lacks Chromium. To install, type: sudo apt-get install chromium"
    )
    both = (
        "2 tests were left out: this machine lacks Chromium, dbus-daemon. "
        "To install, type: sudo apt-get install chromium dbus"
    )
    assert last_line("-k", "bluetooth") == both
    assert last_line("-k", "plain") == both, "a run that leaves out nothing repeats the sum"
