"""Every field of every answer is on the page that tells of them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_sink.page.access import TOKEN_VARIABLE
from spark_sink.page.app import PAGES
from spark_sink.page.csv_export import MAIN
from tests.spark_sink.page.asking import ask
from tests.spark_sink.page.book import feed_of, node_of
from tests.spark_sink.page.story import KEYS, T0_US

DOC = (Path(__file__).parents[3] / "docs/reference/dashboard.md").read_text()
FREE = {"meta", "uses", "packets"}
"""Objects whose fields have names out of the data."""


def fields(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            if name not in FREE or isinstance(inner, list):
                yield from fields(inner)
    elif isinstance(value, list):
        for item in value[:50]:
            yield from fields(item)


@pytest.mark.parametrize("view", MAIN)
def test_fields_are_documented(database: Path, view: str) -> None:
    names = {"node": node_of(KEYS[4]), "feed": feed_of(KEYS[2]), "message": feed_of(KEYS[2])}
    found = ask(database, view, name=names.get(view, ""), seq=1, from_us=T0_US)
    assert {name for name in fields(found) if f"`{name}`" not in DOC} == set()
    assert isinstance(found.get(MAIN[view]), list) or MAIN[view] == "cells"
    assert re.search(rf"### `/api/{view}.*\(CSV: `{MAIN[view]}`", DOC)


def test_pages_and_the_variable_are_documented() -> None:
    for path in PAGES:
        assert f"`{path.replace('{', '<').replace('}', '>')}`" in DOC
    assert TOKEN_VARIABLE in DOC
