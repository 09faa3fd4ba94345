"""A test that lacks a system package is skipped with the line to type; under CI it fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import conftest, needs


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
        ("spark", "openjdk-17-jre-headless"),
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
