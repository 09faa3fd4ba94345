"""What nodes write that means harm, or that nobody thought of: the page stays up and tells the truth."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.spark_sink.page.asking import ask

Change: TypeAlias = Callable[..., Path]


@pytest.fixture
def changed(database: Path, tmp_path: Path) -> Change:
    """A copy of the story's database in which statements were run."""

    def change(*statements: tuple[Any, ...]) -> Path:
        path = tmp_path / "changed.sqlite"
        shutil.copy(database, path)
        connection = sqlite3.connect(path)
        with connection:
            for sql, *parameters in statements:
                connection.execute(sql, parameters)
        connection.close()
        return path

    return change


@pytest.mark.parametrize(("more", "told"), [(300, 301), (2_000_000, 1_000)])
def test_lines_that_are_not_listed_count(changed: Change, more: int, told: int) -> None:
    reason = f"and {more} more from here on in this file"
    path = changed(("INSERT INTO bad_lines VALUES ('x', 5, ?, '')", reason))
    assert ask(path, "overview")["totals"]["bad_lines"] == told
