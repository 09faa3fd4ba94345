"""Sums of an event log by the hour, read piece by piece."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.web.asking import ask
from tests.web.fake import FakeNode, serving
from tests.web.logs import Record, line, record, write_segment
from tinyssb_node.store.limits import STORE_PACKET_BYTES
from tinyssb_node.web.history import HOUR_US, HOURS, EventHistory

NOW_US = 480_000 * HOUR_US + 1_800_000_000
"""In the middle of an hour."""
VECTORS = Path(__file__).parents[1] / "vectors" / "events"


def never() -> bool:
    return False


def pieces(count: int) -> Callable[[], bool]:
    """Return what is true from its *count*-th call on."""
    asked = iter(range(1_000_000))
    return lambda: next(asked) >= count


def ago(hours: float) -> int:
    return NOW_US - round(hours * HOUR_US)


def some_hours(hours: float) -> list[Record]:
    """Records of one hour."""
    t_us = ago(hours)
    return [
        record("start", t_us),
        record("entry", t_us, origin="own"),
        record("entry", t_us, origin="peer"),
        record("entry", t_us, origin="import"),
        record("chunk", t_us, origin="peer"),
        record("tx", t_us, airtime_us=205_056),
        record("rx", t_us, airtime_us=100_000, verdict="new"),
        record("rx_more", t_us, airtime_us=200_000, verdict="duplicate", count=7, size=840),
        record("want", t_us, direction="rx"),
    ]


def test_each_hour_has_its_sums(tmp_path: Path) -> None:
    path = write_segment(tmp_path, 0, some_hours(3))
    history = EventHistory(tmp_path)
    assert history.read(NOW_US, never) == 1.0
    found = history.columns()
    assert history.first_us == NOW_US // HOUR_US * HOUR_US - (HOURS - 1) * HOUR_US
    at = HOURS - 1 - 3
    assert {name: values[at] for name, values in found.items()} == {
        "own": 1,
        "others": 2,
        "sent_us": 205_056,
        "heard_us": 300_000,
        "new": 1,
        "known": 7,
        "stored_bytes": 4 * STORE_PACKET_BYTES,
        "log_bytes": path.stat().st_size // 9 * 9,
    }
    assert all(len(values) == HOURS and sum(values) == values[at] for values in found.values())


def test_the_newest_segment_is_read_first_and_each_piece_once(tmp_path: Path) -> None:
    for hours in (50, 40, 30):
        many = [record("entry", ago(hours), origin="own") for _ in range(2_000)]
        write_segment(tmp_path, 1_000 - hours, many)
    history = EventHistory(tmp_path)
    shares = [history.read(NOW_US, pieces(1))]
    assert 0 < shares[0] < 0.34
    own = history.columns()["own"]
    assert own[HOURS - 1 - 30] > 0
    assert own[HOURS - 1 - 40] == own[HOURS - 1 - 50] == 0
    while shares[-1] < 1:
        shares.append(history.read(NOW_US, pieces(3)))
    assert shares == sorted(shares)
    assert sum(history.columns()["own"]) == 6_000
    history.read(NOW_US, never)
    assert sum(history.columns()["own"]) == 6_000


def test_a_log_that_grows_is_read_on_from_where_it_was(tmp_path: Path) -> None:
    path = write_segment(tmp_path, 0, [record("entry", ago(0.1), origin="own")])
    history = EventHistory(tmp_path)
    history.read(NOW_US, never)
    whole = line(record("entry", ago(0), origin="own"))
    for part in (whole[:40], whole[40:] + whole):
        with path.open("ab") as file:
            file.write(part)
        history.read(NOW_US, never)
    assert history.columns()["own"][-1] == 3
    write_segment(tmp_path, 3, [record("entry", NOW_US, origin="own")])
    assert history.read(NOW_US + HOUR_US, never) == 1.0
    assert history.columns()["own"][-2:] == [4, 0]


def test_torn_and_foreign_lines_lose_nothing_else(tmp_path: Path) -> None:
    good = line(record("entry", ago(1), origin="own"))
    torn = write_segment(tmp_path, 0, [])
    torn.write_bytes(good + b'{"kind":1}\n\xff\n[]\n' + good + good[:50])
    os.utime(torn, (ago(1) / 1e6, ago(1) / 1e6))
    long = write_segment(tmp_path, 9, [])
    long.write_bytes(b"x" * 200_000 + b"\n" + good + good[:50])
    os.utime(long, (ago(0) / 1e6, ago(0) / 1e6))
    history = EventHistory(tmp_path)
    history.read(NOW_US, never)
    assert sum(history.columns()["own"]) == 3
    write_segment(tmp_path, 10, [record("entry", NOW_US, origin="own")])
    assert history.read(NOW_US, never) == 1.0
    assert sum(history.columns()["own"]) == 4


def test_hours_beyond_the_week_and_of_wrong_clocks_are_left_out(tmp_path: Path) -> None:
    write_segment(tmp_path, 0, some_hours(HOURS + 1))
    write_segment(tmp_path, 10, [*some_hours(-2), *some_hours(HOURS), *some_hours(HOURS - 1)])
    history = EventHistory(tmp_path)
    assert history.read(NOW_US, never) == 1.0
    found = history.columns()
    assert found["own"] == [1] + [0] * (HOURS - 1)
    history.read(NOW_US + HOUR_US, never)
    assert sum(history.columns()["own"]) == 0


def test_no_log_is_a_week_of_nothing_and_logs_of_real_nodes_are_read(tmp_path: Path) -> None:
    history = EventHistory(tmp_path / "none")
    assert history.read(NOW_US, never) == 1.0
    assert not any(map(any, history.columns().values()))
    for folder in {path.parent for path in VECTORS.rglob("*.jsonl")}:
        newest_us = 0
        for path in folder.glob("*.jsonl"):
            copy = tmp_path / folder.name / path.name
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(path.read_bytes())
            times = [int(part.split(b",")[0]) for part in path.read_bytes().split(b'"t_us":')[1:]]
            newest_us = max(newest_us, *times)
        for path in copy.parent.iterdir():
            os.utime(path, (newest_us / 1e6, newest_us / 1e6))
        history = EventHistory(copy.parent)
        assert history.read(newest_us, never) == 1.0
        assert sum(history.columns()["own"]) > 0


def test_the_page_gets_the_week_and_says_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = FakeNode()
    node.log = tmp_path
    write_segment(tmp_path, 0, some_hours(1))
    monkeypatch.setattr("time.time_ns", lambda: NOW_US * 1_000)
    with serving(node) as address:
        found = ask(address, "/api/history").json
        assert (found["read"], found["own"][-2], len(found["log_bytes"])) == (1.0, 1, HOURS)
        for path in tmp_path.iterdir():
            path.rename(path.with_suffix(".away"))
            path.mkdir()
        refused = ask(address, "/api/history")
    assert refused.status == 503
    assert "cannot be read" in refused.json["message"]
