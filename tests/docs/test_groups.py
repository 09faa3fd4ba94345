"""Every claim of the page on groups names tests that are there."""

import re

from tests.architecture.sources import ROOT
from tests.docs import pages

_PAGE = "docs/reference/groups.md"
_TEST = re.compile(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+?)(_?…)?`")
_FILE = re.compile(r"`((?:tests/[\w/]+/)?test_\w+\.py|tests/[\w/]+\.py)`")


def test_the_tests_that_it_names_are_there() -> None:
    """Without a file they are in tests/groups, or in the files that the same line names."""
    text = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.glob("tests/**/*.py")}
    count, missing = 0, []
    for line in pages.read(_PAGE).splitlines():
        files = [_path(one) for one in _FILE.findall(line)]
        missing += [one for one in files if one not in text]
        for file, name, cut in _TEST.findall(line):
            count += 1
            beside = [file] if file else [*files, *(one for one in text if one.startswith("tests/groups/"))]
            begun = f"def {name}" if cut else f"def {name}("
            missing += [name] if not any(begun in text.get(one, "") for one in beside) else []
    assert count > 100
    assert missing == []


def _path(file: str) -> str:
    return file if "/" in file else f"tests/groups/{file}"


def test_each_claim_about_what_is_protected_names_one() -> None:
    _, section = pages.read(_PAGE).split("\n## What is and isn't protected\n")
    rows = [
        line
        for line in section.split("\n## ")[0].splitlines()
        if line.startswith("|") and not re.match(r"\| (?:---|protected|not protected)", line)
    ]
    assert len(rows) > 20
    assert [row for row in rows if not _TEST.search(row) and not _FILE.search(row)] == []
