"""The JSON of the snapshot is what its page says it is."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from spark_sink import tables
from spark_sink.dashboard import limits, queries
from spark_sink.dashboard.snapshot import Snapshot
from tests.spark_sink.serving_data import partition

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "dashboard.md"


def page() -> str:
    """The text of the page."""
    return PAGE.read_text("utf-8")


def names(value: object) -> Iterator[str]:
    """Every key in a JSON value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from names(inner)


def test_every_field_is_on_the_page_about_it(tmp_path: Path) -> None:
    partition(tmp_path / "mesh.sqlite")
    db = tables.open_for_reading(tmp_path / "mesh.sqlite")
    found = json.loads(queries.snapshot(db).serialize())
    db.close()
    told = {re.sub(r"[\[\]]", "", word) for word in re.findall(r"`([^`\n]+)`", page().replace("```", ""))}
    assert set(names(found)) - told == set()


def test_numbers_on_the_page_are_those_of_the_program() -> None:
    text = " ".join(page().split())
    assert f"`{limits.PORT}`" in text
    assert f"At most {limits.CLIENTS_MAX} listeners" in text
    assert f"Beyond {limits.NODES_SHOWN_MAX} nodes" in text
    assert f"latest {limits.DELAY_ENTRIES_MAX} entries, at most {limits.RECENT_PER_FEED_MAX} of one" in text
    assert f"counted up to {limits.BAD_LINES_COUNTED_MAX:,}" in text
    assert f"at most {limits.LINKS_SHOWN_MAX}" in text


def test_a_state_other_than_ready_has_the_same_shape() -> None:
    found = json.loads(Snapshot(state="missing", message="none").serialize())
    assert found["v"] == limits.SNAPSHOT_VERSION
    assert found["totals"]["nodes"] == 0
    assert found["nodes"] == found["behind"] == found["recent"] == []
