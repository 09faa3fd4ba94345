"""Hours out of a database that an older version filled."""

from pathlib import Path

from spark_sink.serving.connect import open_for_writing
from tests.spark_sink.test_any_order import Stream, logs


def test_feeds_whose_names_are_no_digits_are_passed_over(tmp_path: Path) -> None:
    found = []
    for name, strange in (("clean", []), ("odd", ["z" * 64, "+" + "0" * 63, "0_" * 32])):
        with open_for_writing(str(tmp_path / f"{name}.sqlite")) as database:
            stream = Stream(database)
            stream.files.data.update(logs())
            while stream.batch(None, 10**9):
                pass
            for number, feed in enumerate(strange):
                database.execute("INSERT INTO feeds (feed_no, feed) VALUES (?, ?)", (1_000 + number, feed))
            found.append(stream.finish())
    assert found[0] == found[1]
