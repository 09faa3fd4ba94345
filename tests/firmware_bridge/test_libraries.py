"""The command that installs an extra works where the program is."""

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from firmware_bridge import libraries
from firmware_bridge.libraries import DEBIAN_FOLDER, command, install_command


def missing(_name: str) -> list[str]:
    raise PackageNotFoundError


def test_it_names_the_libraries_of_the_extra_and_the_interpreter() -> None:
    line = install_command("tui")
    assert sys.executable in line
    assert "textual" in line
    assert "tinyssb" not in line.replace(sys.executable, "")


@pytest.mark.parametrize(
    ("target", "has_pip", "writable", "expected"),
    [
        (None, True, True, "/v/bin/python -m pip install 'a>=1'"),
        (None, True, False, "sudo /v/bin/python -m pip install 'a>=1'"),
        (None, False, True, "uv pip install --python /v/bin/python 'a>=1'"),
        (DEBIAN_FOLDER, True, False, "sudo /v/bin/python -m pip install --target /opt/tinyssb/lib 'a>=1'"),
        (
            DEBIAN_FOLDER,
            False,
            False,
            (
                "sudo apt-get install python3-pip && "
                "sudo /v/bin/python -m pip install --target /opt/tinyssb/lib 'a>=1'"
            ),
        ),
    ],
)
def test_each_way_of_installing_has_its_command(
    target: Path | None, has_pip: bool, writable: bool, expected: str
) -> None:
    line = command(["a>=1"], python="/v/bin/python", target=target, has_pip=has_pip, writable=writable)
    assert line == expected


def test_source_that_was_not_installed_is_installed_by_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "requires", missing)
    assert install_command("tui") == "pip install '.[tui]', in the copy of the source"
