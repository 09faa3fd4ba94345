"""Views give the same answers from sums over days as from single rows."""

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from spark_sink.page import limits, metrics
from spark_sink.page.reader import VIEWS
from spark_sink.serving import day_sums
from spark_sink.serving.connect import open_for_writing
from tests.spark_sink.page.asking import ask, opened
from tests.spark_sink.page.book import feed_of, node_of
from tests.spark_sink.page.story import END_US, HOUR_US, KEYS, T0_US, WRONG

DAY_US = 24 * HOUR_US
MIDNIGHT_US = T0_US - T0_US % DAY_US + DAY_US
RANGES = {
    "everything": {"from_us": 0},
    "the day alone": {"from_us": MIDNIGHT_US, "to_us": MIDNIGHT_US + DAY_US},
    "more than the day": {
        "from_us": MIDNIGHT_US - 3 * HOUR_US + 17,
        "to_us": MIDNIGHT_US + DAY_US + 4 * HOUR_US,
    },
    "to within a slot": {"from_us": MIDNIGHT_US - 1, "to_us": MIDNIGHT_US + DAY_US + 1},
    "less than the day": {"from_us": MIDNIGHT_US + 1, "to_us": MIDNIGHT_US + DAY_US},
    "up to now": {},
}
NAMED: dict[str, list[dict[str, Any]]] = {
    "node": [{"name": node_of(KEYS[number])} for number in (0, WRONG)],
    "feed": [{"name": feed_of(KEYS[0])}],
    "message": [{"name": feed_of(KEYS[0]), "seq": 1}],
    "delays": [{"scope": scope} for scope in ("node", "feed", "hop")],
}


@pytest.fixture(scope="module")
def summed(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same database, with all days summed up."""
    path = tmp_path_factory.mktemp("summed") / "story.sqlite"
    shutil.copy(database, path)
    with open_for_writing(str(path)) as db:
        for day_us in day_sums.waiting(db):
            day_sums.sum_up(db, threading.Lock(), day_us)
        assert len(db.rows("SELECT day_us FROM days WHERE summed = 1")) == 3
    return path


@pytest.fixture
def whole_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that are long enough for all rows: which ones are cut off may differ."""
    monkeypatch.setattr(limits, "ROWS_MAX", 10_000)


@pytest.mark.usefixtures("whole_lists")
@pytest.mark.parametrize("view", [view for view in VIEWS if view not in ("job", "summary")])
@pytest.mark.parametrize("span", RANGES)
def test_a_view_is_the_same(database: Path, summed: Path, view: str, span: str) -> None:
    for more in NAMED.get(view, [{}]):
        asked = {**RANGES[span], **more}
        wanted, found = ask(database, view, **asked), ask(summed, view, **asked)
        wanted.pop("changes")
        found.pop("changes")
        assert found == wanted, (view, span, more)


def test_metrics_are_the_same(database: Path, summed: Path) -> None:
    with opened(str(database)) as plain, opened(str(summed)) as quick:
        assert quick.read(metrics.figures) == plain.read(metrics.figures)


def test_days_that_changed_are_counted_by_hours(summed: Path, tmp_path: Path) -> None:
    path = tmp_path / "changed.sqlite"
    shutil.copy(summed, path)
    before = ask(path, "airtime", **RANGES["everything"])["airtime_us"]
    with open_for_writing(str(path)) as db, db.transaction():
        db.execute("DELETE FROM transmitted WHERE hour_us = ?", (MIDNIGHT_US + HOUR_US,))
    assert ask(path, "airtime", **RANGES["everything"])["airtime_us"] == before, "summed up before"
    with open_for_writing(str(path)) as db, db.transaction():
        day_sums.mark(db, [MIDNIGHT_US + HOUR_US])
    assert ask(path, "airtime", **RANGES["everything"])["airtime_us"] < before


def test_many_days_out_of_use_are_one_stretch(
    database: Path, summed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PIECES_MAX", 1)
    wanted, found = (ask(path, "topology", from_us=0)["links"] for path in (database, summed))
    assert found == wanted
    assert END_US > MIDNIGHT_US + DAY_US
