"""Every claim of the page on security names tests that are there."""

import re

from tests.architecture.sources import ROOT
from tests.docs import pages

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_the_tests_that_show_it_are_there() -> None:
    named = _TEST.findall(pages.read("docs/reference/security.md"))
    assert len(named) > 20
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / file).is_file() or f"def {test}(" not in (ROOT / file).read_text("utf-8")
    ]
    assert missing == []


def test_each_claim_names_one() -> None:
    rows = [
        line
        for line in pages.read("docs/reference/security.md").splitlines()
        if line.startswith("|") and not re.match(r"\| (?:---|claim|attack)", line)
    ]
    assert [row for row in rows if not _TEST.search(row)] == []
