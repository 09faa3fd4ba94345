"""The report: the same figures as the database has, for people and for machines."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from spark_sink import cli, limits, report
from spark_sink.serving.connect import open_for_reading, open_for_writing
from tests.spark_sink.page.book import Book, bucket_of, feed_of, node_of
from tests.spark_sink.page.story import KEYS, NODES, WRONG, WRONG_US, Story
from tests.spark_sink.serving.conftest import name, server

__all__ = ["name", "server"]

HOUR_US = 3_600_000_000


def made(name: str) -> dict[str, report.ReportTable]:
    reader = open_for_reading(name)
    try:
        return report.make(reader)
    finally:
        reader.close()


@pytest.fixture(scope="module")
def story() -> Story:
    return Story()


@pytest.fixture(scope="module")
def told(story: Story, tmp_path_factory: pytest.TempPathFactory) -> dict[str, report.ReportTable]:
    """The report of the story."""
    path = tmp_path_factory.mktemp("report") / "story.sqlite"
    story.write(path)
    return made(str(path))


def test_behind_is_what_the_frontiers_lack(story: Story, told: dict[str, report.ReportTable]) -> None:
    newest: Counter[int] = Counter()
    for (_node_no, feed_no), seq in story.frontiers.items():
        newest[feed_no] = max(newest[feed_no], seq)
    feeds = {row["feed_no"]: row["feed"] for row in story.book.rows["feeds"].values()}
    expected = {
        (node_of(key), feeds[feed_no], seq - story.frontiers.get((node_no, feed_no), 0))
        for node_no, key in enumerate(KEYS)
        for feed_no, seq in newest.items()
    }
    assert {(row["node"], row["feed"], row["behind"]) for row in told["behind"].records()} == expected


def test_sums_are_those_of_the_tables(story: Story, told: dict[str, report.ReportTable]) -> None:
    rows = story.book.rows
    assert sum(row["packets"] for row in told["packets"].records()) == sum(
        row["packets"] for row in rows["traffic"].values()
    )
    assert sum(row["airtime_us"] for row in told["airtime"].records()) == sum(
        row["airtime_us"] for row in rows["transmitted"].values()
    )
    assert sum(row["records"] for row in told["nodes"].records()) == 5_000 * len(rows["boots"])
    links = {(row["sender"], row["receiver"]): row for row in told["links"].records()}
    link = links[node_of(KEYS[2]), node_of(KEYS[4])]
    own = [row for row in rows["links"].values() if (row["sender"], row["receiver"]) == (2, 4)]
    assert link["heard"] == sum(row["heard"] for row in own)
    assert link["sent"] == sum(row["sent"] for row in own)
    assert link["ratio"] == pytest.approx(link["heard"] / link["sent"], abs=0.001)
    assert (link["rssi_dbm"], link["snr_db"]) == (-88.0, 5.0)


def test_delays_are_within_a_bucket_of_those_of_all_copies(
    story: Story, told: dict[str, report.ReportTable]
) -> None:
    published = {(entry.feed_no, entry.seq): entry for entry in story.entries if entry.owner >= 0}
    delays_us: dict[str, list[int]] = {}
    for copy in story.copies:
        entry = published.get((copy.feed_no, copy.seq))
        if entry is not None and copy.node_no != entry.owner:
            delays_us.setdefault(node_of(KEYS[copy.node_no]), []).append(copy.t_us - entry.t_us)
    found = {row["node"]: row for row in told["delays"].records()}
    assert set(found) == set(delays_us)
    for node, row in found.items():
        ordered = sorted(delays_us[node])
        assert row["copies"] == len(ordered)
        for share, delay_us in ((0.5, row["median_us"]), (0.95, row["p95_us"])):
            rank = share * len(ordered)
            near = {bucket_of(ordered[max(0, min(len(ordered) - 1, int(rank) + step))]) for step in (-1, 0)}
            assert bucket_of(delay_us) in range(min(near) - 1, max(near) + 2)


def test_a_boot_before_with_a_clock_far_ahead_makes_no_clock_drift_for_years(tmp_path: Path) -> None:
    book, ahead_us, at_us = Book(), 600_000 * HOUR_US, 490_000 * HOUR_US
    number = book.node("ana")
    for boot, began_us in ((1, at_us + ahead_us), (2, at_us)):
        ends = {"first_us": began_us, "last_us": began_us + HOUR_US, "last_mono_us": HOUR_US}
        book.put("boots", node_no=number, boot=boot, **ends)
    known = {"mesh": 2**40, "offset_us": 3_000_000, "drift_ppm": 20.0, "drift_error_ppm": 0.1, "matches": 9}
    book.put("clocks", node_no=number, boot=2, base_us=at_us, at_us=at_us, **known)
    book.write(tmp_path / "db")
    (clock,) = made(str(tmp_path / "db"))["clocks"].records()
    assert clock["offset_us"] == pytest.approx(3_072_000, abs=10)
    assert clock["error_us"] == 360


def test_clocks_are_put_right_at_the_newest_record(told: dict[str, report.ReportTable]) -> None:
    clocks = {row["node"]: row for row in told["clocks"].records()}
    assert len(clocks) == len(NODES)
    wrong = clocks[node_of(KEYS[WRONG])]
    assert wrong["offset_us"] == pytest.approx(WRONG_US + 35 * (48 * 3_600 - 180 - 5), abs=5)
    assert 900 <= wrong["error_us"] < 10_000
    assert wrong["drift_ppm"] == 35.0
    assert clocks[node_of(KEYS[0])]["offset_us"] == 0


def test_what_went_wrong_is_told_by_long_names(told: dict[str, report.ReportTable]) -> None:
    subjects = {row["rule"]: row["subject"] for row in told["alerts"].records()}
    assert subjects == {
        "isolated": f"node {node_of(KEYS[11])}",
        "duty": f"face {node_of(KEYS[1])} lora",
        "fork": f"feed {feed_of('phone 1')}",
        "split": "mesh",
        "silent": f"node {node_of(KEYS[4])}",
    }
    assert [row["until_us"] is None for row in told["alerts"].records()] == [True, True, True, False, False]
    assert [row[2:] for row in told["forks"].rows] == [(2, "a" * 40, "b" * 40)] * 2
    assert told["gaps"].rows == [(node_of(KEYS[3]), 1, 120, 190)]
    assert told["oddities"].rows == [(node_of(KEYS[4]), "old/emil", "two logs for the same records")]
    assert told["bad_lines"].rows == [("ana/00000001-000000000000.jsonl", 4_711, "not JSON")]


def test_for_machines_it_is_json(told: dict[str, report.ReportTable]) -> None:
    plain = {name: table.records() for name, table in told.items()}
    assert json.loads(json.dumps(plain)) == plain


def small() -> Book:
    """Two nodes that hear each other; one holds an entry that the other lacks."""
    book = Book()
    for node_no, key in enumerate(("ana", "ben")):
        assert book.node(key) == node_no
        book.put(
            "boots", node_no=node_no, boot=1, name=key, feed_no=book.feed(key), started_us=5, records=7, last_us=60
        )  # fmt: skip
        book.put("frontiers", node_no=node_no, feed_no=0, seq=3 - node_no)
    book.put("links", hour_us=0, sender=0, receiver=1, heard=3, sent=4, rssi_sum=-270, rssi_n=3)
    book.put("links", hour_us=HOUR_US, sender=0, receiver=1, heard=0, sent=4)
    book.put("delays", hour_us=0, scope="node", a=1, bucket=bucket_of(2_000_000), n=2)
    book.put(
        "traffic",
        node_no=0,
        direction="tx",
        face="lora",
        packet="entry",
        verdict="sent",
        packets=4,
        bytes=400,
    )
    book.put("transmitted", node_no=0, face="lora", packets=4, airtime_us=1_234_567)
    book.put("alerts", rule="slow", subject="link 0 1", since_us=86_400_000_000, level="warning", value=2.5)
    return book


def test_it_is_the_same_of_sqlite_and_postgresql(name: str) -> None:
    small().write(name)
    found = made(name)
    assert found["nodes"].rows == [
        (node_of("ana"), "ana", 1, 1, 60, 7),
        (node_of("ben"), "ben", 1, 1, 60, 7),
    ]
    behind = [(node_of("ana"), feed_of("ana"), 3, 3, 0), (node_of("ben"), feed_of("ana"), 2, 3, 1)]
    assert sorted(found["behind"].rows) == sorted(behind)
    assert found["links"].rows == [(node_of("ana"), node_of("ben"), 3, 8, 0.375, -90.0, None)]
    (delay,) = found["delays"].records()
    assert delay["copies"] == 2
    assert bucket_of(delay["median_us"]) == bucket_of(2_000_000)
    assert found["packets"].rows == [("tx", "entry", "sent", 4, 400)]
    assert found["airtime"].rows == [(node_of("ana"), "lora", 4, 1_234_567)]
    assert found["alerts"].rows[0][2] == f"link {node_of('ana')} {node_of('ben')}"
    json.dumps({title: table.records() for title, table in found.items()})
    report.render(found)


def test_for_people_it_goes_by_names(tmp_path: Path) -> None:
    path = str(tmp_path / "small.sqlite")
    small().write(path)
    shown = report.render(made(path))
    assert shown.startswith("Nodes\n  node ")
    assert f"{node_of('ana')}  ana" in shown
    assert "1970-01-01 00:00:00" in shown
    matrix = shown.split("Entries behind")[1].splitlines()[1:3]
    assert [line.split() for line in matrix] == [["feed", "newest", "ana", "ben"], ["ana", "3", "0", "1"]]
    assert "  ana     ben           3     8  0.375       -90       -" in shown
    assert "link ana ben" in shown
    assert "1970-01-02 00:00:00" in shown
    assert "1.235" in shown
    assert "Forks" not in shown


def test_an_empty_database_has_a_report(name: str) -> None:
    with open_for_writing(name):
        pass
    found = made(name)
    assert all(not table.rows for table in found.values())
    assert report.render(found).startswith("Nodes")


def test_a_large_mesh_has_a_line_a_node(tmp_path: Path) -> None:
    book = Book()
    many = limits.REPORT_NODES_MAX + 1
    for node_no in range(many):
        book.put("boots", node_no=book.node(f"n{node_no}"), boot=1, name=f"n{node_no}", started_us=5)
        book.put("frontiers", node_no=node_no, feed_no=book.feed("phone"), seq=10 + node_no)
    path = str(tmp_path / "large.sqlite")
    book.write(path)
    lines = report.render(made(path)).split("Entries behind")[1].splitlines()
    assert lines[1].split() == ["node", "feeds", "behind"]
    assert lines[2].split() == ["n0", "1", str(many - 1)]
    assert lines[1 + many].split() == [f"n{many - 1}", "0", "0"]


def test_names_do_not_drive_the_terminal(tmp_path: Path) -> None:
    book = Book()
    book.put("boots", node_no=book.node("x"), boot=1, name="\x1b[2Jevil\r\n", started_us=5, last_us=2**62)
    path = str(tmp_path / "evil.sqlite")
    book.write(path)
    shown = report.render(made(path))
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "[2Jevil" in shown
    assert str(2**62) in shown


def test_the_command_shows_it_either_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "small.sqlite")
    small().write(path)
    assert cli.main(["report", "--db", path]) == 0
    assert capsys.readouterr().out.startswith("Nodes")
    assert cli.main(["report", "--db", path, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads(json.dumps({title: table.records() for title, table in made(path).items()}))


def test_who_has_seen_enough_may_stop_reading(tmp_path: Path) -> None:
    path = str(tmp_path / "small.sqlite")
    small().write(path)
    command = [sys.executable, "-m", "spark_sink.cli", "report", "--db", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shown:
        assert shown.stdout is not None
        assert shown.stderr is not None
        shown.stdout.close()
        assert shown.stderr.read() == b""
    assert shown.returncode == 0
