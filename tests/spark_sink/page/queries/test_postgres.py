"""Views of a database in PostgreSQL are those of the same one in SQLite."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_sink.page import metrics
from spark_sink.page.reader import VIEWS
from spark_sink.serving import day_sums
from spark_sink.serving.connect import open_for_writing
from tests.spark_sink.page.asking import ask, opened
from tests.spark_sink.page.queries.test_day_sums import NAMED, RANGES
from tests.spark_sink.page.story import Story
from tests.spark_sink.serving.server import running_server

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def url(story: Story) -> Iterator[str]:
    with running_server() as server:
        address = server.url("story")
        story.book.write(address)
        yield address


def same(path: Path, url: str) -> None:
    for view in VIEWS:
        for span in RANGES.values():
            for more in NAMED.get(view, [{}]):
                wanted, found = (ask(name, view, **span, **more) for name in (path, url))
                for one in (wanted, found):
                    one.pop("changes")
                    one.get("meta", {}).clear()
                assert found == wanted, (view, span, more)
    with opened(str(path)) as plain, opened(url) as other:
        assert other.read(metrics.figures) == plain.read(metrics.figures)


def test_all_views_are_the_same_before_and_after_days_are_summed_up(database: Path, url: str) -> None:
    same(database, url)
    with open_for_writing(url) as db:
        for day_us in day_sums.waiting(db):
            day_sums.sum_up(db, threading.Lock(), day_us)
    same(database, url)
