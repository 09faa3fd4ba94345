"""The documentation as a site: each page is in its navigation, and each link leads somewhere, as Sphinx sees it."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, markdown_files, name_of

SITE = ROOT / "docs/site"
READERS = ("I want to talk", "I run a node", "I analyse a mesh", "I build on it")


@pytest.mark.skipif(
    importlib.util.find_spec("sphinxarg") is None and not os.environ.get("CI"),
    reason="needs the packages of the extra `docs`: make lint installs them",
)
def test_sphinx_reads_all_pages_without_a_warning(tmp_path: Path) -> None:
    # The builder `dummy` resolves everything and writes no HTML, which would take three times as long.
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "dummy"]
    run = subprocess.run(
        [*command, "-c", str(SITE), "-d", str(tmp_path / "read"), ".", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_make_builds_from_the_same_sources() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"-m sphinx -W --keep-going -q -b html -c docs/site \. build/site", makefile)


@pytest.mark.parametrize("page", ["docs/README.md", "docs/site/toc.yml"])
def test_the_four_readers_find_their_part(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert [reader for reader in READERS if reader not in text] == []


def test_no_page_uses_markdown_that_github_shows_as_code() -> None:
    directive = re.compile(r"^```\{|^:::", re.MULTILINE)
    assert [name_of(path) for path in markdown_files() if directive.search(path.read_text("utf-8"))] == []
