"""Series of numbers in data of sensors."""

import json

import pytest

from tests.catalog.fake import ANA, BOB, START_US
from tinyssb_node.catalog.rows import DataRow
from tinyssb_node.ids import FeedId
from tinyssb_node.screens import limits
from tinyssb_node.screens.readings import series_of


def row(value: object, minute: int = 0, feed: FeedId = BOB) -> DataRow:
    return DataRow(feed, START_US + minute * 60_000_000, json.dumps(value))


def test_the_words_beside_a_number_name_its_series() -> None:
    rows = [row(["temp", "roof", 21.5]), row(["temp", "roof", 20], 1), row(["temp", "cellar", -3], 2)]
    found = [(one.label, [value for _, value in one.points]) for one in series_of(rows)]
    assert found == [("temp cellar", [-3.0]), ("temp roof", [21.5, 20.0])]
    assert series_of(rows)[1].points[1] == (START_US + 60_000_000, 20.0)


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ({"temp": 21.5, "unit": "C", "rain": 0}, ["rain", "temp"]),
        (["b280", 17, 900.5], ["b280 1", "b280 2"]),
        ([4, 5], ["1", "2"]),
        ([7], [""]),
        (["x", True, None, [1], {"y": 2}], []),
        (["x", 1e15], []),
        ([f"{number}" for number in range(9)], []),
    ],
)
def test_numbers_have_labels(value: object, labels: list[str]) -> None:
    assert sorted(one.label for one in series_of([row(value)])) == labels


@pytest.mark.parametrize("text", ["", "[1", "1", '"1"', "[NaN]", "[Infinity]", "[1e400]", "[" * 100_000])
def test_what_is_no_data_has_no_series(text: str) -> None:
    assert series_of([DataRow(BOB, START_US, text)]) == []


def test_charts_are_bounded_and_nobody_takes_all_of_them() -> None:
    flood = [row([f"word {number}", number], 9) for number in range(100)]
    long = [row(["temp", number], 1, ANA) for number in range(limits.SERIES_POINTS_MAX + 5)]
    found = series_of([*long, *flood])
    assert [one.feed for one in found] == [BOB] * limits.SERIES_EACH_MAX + [ANA]
    assert len(found[-1].points) == limits.SERIES_POINTS_MAX
    assert found[-1].points[-1][1] == limits.SERIES_POINTS_MAX + 4
    people = [row([1], number, FeedId(bytes([number]) * 32)) for number in range(1, 40)]
    assert len(series_of(people)) == limits.SERIES_MAX
    assert len(series_of([row({f"{number}": 1 for number in range(50)})])) == limits.SERIES_EACH_MAX
