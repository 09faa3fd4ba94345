"""A run of the few `realtime` or `slow` tests imports only their files, and misses none of them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

MARKED = "import pytest\npytestmark = pytest.mark.slow\ndef test_slow(): pass\n"
UNMARKED = "raise AssertionError('imported')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of tests with this repository's conftest; one file is marked, another must not be imported."""
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    realtime\n    slow\n")
    (tmp_path / "test_marked.py").write_text(MARKED)
    (tmp_path / "test_unmarked.py").write_text(UNMARKED)
    return tmp_path


def run(folder: Path, *options: str) -> tuple[int, str]:
    """Run pytest in *folder*; return its exit code and what it printed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    ended = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_files_without_the_demanded_marker_are_not_imported(folder: Path) -> None:
    code, printed = run(folder, "-m", "slow and not realtime")
    assert (code, "1 passed" in printed) == (0, True), printed


@pytest.mark.parametrize("options", [("-m", "slow or realtime"), ("-m", "slow", "test_unmarked.py")])
def test_all_other_runs_import_every_file(folder: Path, options: tuple[str, ...]) -> None:
    code, printed = run(folder, *options)
    assert (code, "AssertionError: imported" in printed) == (2, True), printed


def test_a_marker_from_elsewhere_fails_the_run_that_imports_every_file(folder: Path) -> None:
    (folder / "test_unmarked.py").write_text(
        "from test_marked import *\nfrom test_marked import pytestmark\n"
    )
    code, printed = run(folder, "-m", "not slow")
    assert code == 4, printed
    assert "test_unmarked.py::test_slow: write pytest.mark.slow in the test's own file" in printed
