"""The page's queries against databases whose figures can be counted by hand."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_sink import tables
from spark_sink.dashboard import limits, queries
from spark_sink.dashboard.snapshot import Hidden, Missing, PacketCount, Snapshot, Totals
from tests.spark_sink.serving_data import (
    MINUTE_US,
    SECOND_US,
    T0_US,
    Mesh,
    feed_of,
    node_of,
    partition,
    read_cells,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mesh.sqlite"


@pytest.fixture
def three(path: Path) -> Iterator[sqlite3.Connection]:
    """Ana publishes three entries, ben one; ben gets two of ana's, cara one of ana's and ben's."""
    with Mesh(path) as mesh:
        for name in ("cara", "ben", "ana"):
            mesh.node(name)
        for seq, at_s in ((1, 0), (2, 10), (3, 20)):
            mesh.publish("ana", seq, T0_US + at_s * SECOND_US)
        mesh.publish("ben", 1, T0_US + 30 * SECOND_US, size=140, chunks=1)
        mesh.arrive("ben", "ana", 1, T0_US + 2 * SECOND_US)
        mesh.arrive("ben", "ana", 2, T0_US + 14 * SECOND_US)
        mesh.arrive("cara", "ana", 1, T0_US + 8 * SECOND_US)
        mesh.arrive("cara", "ben", 1, T0_US + 33 * SECOND_US)
    db = tables.open_for_reading(path)
    yield db
    db.close()


def look(path: Path) -> Snapshot:
    db = tables.open_for_reading(path)
    try:
        return queries.snapshot(db)
    finally:
        db.close()


def test_an_empty_database_is_said_to_be_empty(path: Path) -> None:
    tables.open_for_writing(path).close()
    assert look(path) == Snapshot(state="empty", message=queries.EMPTY_MESSAGE)


def test_a_node_that_published_nothing_makes_a_page_without_feeds(path: Path) -> None:
    with Mesh(path) as mesh:
        mesh.node("ana")
    found = look(path)
    assert found.totals == Totals(nodes=1, running=1)
    assert (found.feeds, found.behind, found.convergence, found.recent) == ((), (), (), ())


def test_headline(three: sqlite3.Connection) -> None:
    assert queries.headline(three) == Totals(nodes=3, running=3, feeds=2, entries=4, behind=4, behind_nodes=3)


def test_forks_bad_lines_and_stopped_nodes_are_counted(path: Path) -> None:
    with Mesh(path) as mesh:
        mesh.node("ana", running=False)
        mesh.node("ben")
        for node in ("ana", "ben"):
            row = (node_of(node), feed_of("ana"), 3, "aa" * 20, "bb" * 20, T0_US)
            mesh.db.execute("INSERT INTO forks VALUES (?, ?, ?, ?, ?, ?)", row)
        mesh.db.executemany("INSERT INTO bad_lines VALUES ('a', ?, 'torn', '')", [(1,), (2,)])
    totals = look(path).totals
    assert (totals.forks, totals.bad_lines, totals.running) == (1, 2, 1)


def test_heat_map_has_feeds_down_and_nodes_across(three: sqlite3.Connection) -> None:
    found = queries.snapshot(three)
    assert [feed.label for feed in found.feeds] == ["ana", "ben"]
    assert [feed.newest for feed in found.feeds] == [3, 1]
    assert [feed.owner for feed in found.feeds] == [node_of("ana"), node_of("ben")]
    assert [node.label for node in found.nodes] == ["ana", "ben", "cara"]
    assert found.behind == ((0, 1, 2), (1, 0, 0))
    assert [node.behind for node in found.nodes] == [1, 1, 2]


def test_a_feed_without_a_known_node_goes_by_the_start_of_its_id(path: Path) -> None:
    with Mesh(path) as mesh:
        mesh.node("zoe")
        mesh.publish("phone", 1, T0_US, logged=False)
        mesh.arrive("zoe", "phone", 1, T0_US)
        mesh.publish("zoe", 1, T0_US)
    feeds = look(path).feeds
    assert [feed.label for feed in feeds] == ["zoe", feed_of("phone")[:8]]
    assert feeds[1].owner is None


def test_namesakes_are_told_apart_and_the_nameless_go_by_their_id(path: Path) -> None:
    with Mesh(path) as mesh:
        mesh.node("one", shown="pi")
        mesh.node("two", shown="pi")
        mesh.node("three", shown=None)
        mesh.publish("one", 1, T0_US)
    found = look(path)
    labels = {node.node: node.label for node in found.nodes}
    assert labels[node_of("one")] == f"pi {node_of('one')[:4]}"
    assert labels[node_of("two")] == f"pi {node_of('two')[:4]}"
    assert labels[node_of("three")] == node_of("three")[:8]
    assert found.feeds[0].label == labels[node_of("one")]


def test_too_many_nodes_and_feeds_leave_out_those_least_behind(path: Path) -> None:
    shown = limits.NODES_SHOWN_MAX
    names = [f"n{number:03}" for number in range(shown + 3)]
    with Mesh(path) as mesh:
        for name in names:
            mesh.node(name)
            mesh.publish(name, 1, T0_US)
        for name in names[1:]:
            mesh.arrive("n000", name, 1, T0_US)
    found = look(path)
    assert found.hidden == Hidden(nodes=3, feeds=3)
    assert len(found.nodes) == len(found.behind[0]) == shown
    assert node_of("n000") not in {node.node for node in found.nodes}
    assert found.totals.nodes == shown + 3


def test_now_is_the_newest_record_but_not_of_a_clock_that_is_ahead(path: Path) -> None:
    with Mesh(path) as mesh:
        mesh.node("ana", t_us=T0_US)
        mesh.node("ben", t_us=T0_US + 3_600 * SECOND_US)
        mesh.commit(T0_US + SECOND_US)
        db = mesh.db
        assert queries.newest_record(db, queries.committed(db)) == T0_US
        assert queries.newest_record(db, T0_US + 3_600 * SECOND_US) == T0_US + 3_600 * SECOND_US
        assert queries.newest_record(db, T0_US - 9_999 * SECOND_US) == T0_US + 3_600 * SECOND_US
        assert queries.newest_record(db, None) == T0_US + 3_600 * SECOND_US


def test_convergence_ends_with_what_is_missing_now(three: sqlite3.Connection) -> None:
    found = queries.snapshot(three)
    told = [((step.t_us - T0_US) // SECOND_US, step.missing) for step in found.convergence]
    # 3 nodes: a publication makes two copies missing, an arrival one fewer.
    assert told == [(-1, 0), (0, 2), (2, 1), (8, 0), (10, 2), (14, 1), (20, 3), (30, 5), (33, 4), (33, 4)]


def test_convergence_of_a_long_time_is_summed_up_into_bounded_steps(path: Path) -> None:
    with Mesh(path) as mesh:
        mesh.node("ana")
        mesh.node("ben")
        for seq in range(1, 1_801):
            mesh.publish("ana", seq, T0_US + seq * 2 * SECOND_US)
            mesh.arrive("ben", "ana", seq, T0_US + seq * 2 * SECOND_US + SECOND_US)
        mesh.publish("ana", 1_801, T0_US + 3_602 * SECOND_US)
    steps = look(path).convergence
    assert len(steps) <= limits.CONVERGENCE_POINTS_MAX + 3
    assert steps[-1].missing == 1
    assert [step.t_us for step in steps] == sorted(step.t_us for step in steps)
    assert max(step.missing for step in steps) <= 1


def test_convergence_forgets_what_is_older_than_its_window(path: Path) -> None:
    later_us = T0_US + limits.CONVERGENCE_WINDOW_US + 60 * SECOND_US
    with Mesh(path) as mesh:
        mesh.node("ana")
        mesh.node("ben")
        mesh.publish("ana", 1, T0_US)
        mesh.publish("ana", 2, later_us)
    steps = look(path).convergence
    assert steps == (
        Missing(t_us=later_us - SECOND_US, missing=1),
        Missing(t_us=later_us, missing=2),
        Missing(t_us=later_us, missing=2),
    )


def test_convergence_puts_what_a_fast_clock_wrote_at_now(path: Path) -> None:
    with Mesh(path) as mesh:
        mesh.node("ana")
        mesh.node("ben", t_us=T0_US)
        mesh.publish("ana", 1, T0_US + 900 * SECOND_US)
        mesh.commit(T0_US)
    steps = look(path).convergence
    assert steps == (
        Missing(t_us=T0_US - SECOND_US, missing=0),
        Missing(t_us=T0_US, missing=1),
        Missing(t_us=T0_US, missing=1),
    )


def test_packets_and_airtime_of_the_window_only(path: Path) -> None:
    now_us = T0_US + 60 * MINUTE_US + 30 * SECOND_US
    with Mesh(path) as mesh:
        mesh.node("ana", t_us=now_us)
        mesh.node("ben", t_us=now_us)
        mesh.packets("ana", now_us - limits.TRAFFIC_WINDOW_US, "entry", "sent", 1_000, airtime_us=1_000)
        mesh.packets("ana", now_us - 3 * MINUTE_US, "entry", "sent", 5, airtime_us=200_000)
        mesh.packets("ana", now_us, "want", "sent", 2, length=40, airtime_us=100_000)
        mesh.packets("ben", now_us, "entry", "new", 3, airtime_us=200_000)
        mesh.packets("ben", now_us, "entry", "duplicate", 1)
    found = look(path)
    assert found.traffic.packets == (
        PacketCount(packet="entry", verdict="duplicate", packets=1, bytes=120),
        PacketCount(packet="entry", verdict="new", packets=3, bytes=360),
        PacketCount(packet="entry", verdict="sent", packets=5, bytes=600),
        PacketCount(packet="want", verdict="sent", packets=2, bytes=80),
    )
    assert (found.traffic.since_us, found.traffic.until_us) == (T0_US + 57 * MINUTE_US, now_us)
    assert [node.airtime_us for node in found.nodes] == [1_200_000, 0]


def test_links_carry_mean_signals_and_none_where_unknown(path: Path) -> None:
    with Mesh(path) as mesh:
        for name in ("ana", "ben"):
            mesh.node(name)
        mesh.link("ana", "ben", 10, T0_US, rssi_dbm=-91, snr_db=6.25)
        mesh.link("ben", "ana", 4, T0_US + SECOND_US)
    first, second = look(path).links
    assert (first.sender, first.receiver, first.packets) == (node_of("ana"), node_of("ben"), 10)
    assert (first.rssi_dbm, first.snr_db, first.last_us) == (-91.0, 6.2, T0_US)
    assert (second.rssi_dbm, second.snr_db, second.packets) == (None, None, 4)


def test_delays_are_taken_over_copies_that_came_from_others(three: sqlite3.Connection) -> None:
    nodes = {node.label: node for node in queries.snapshot(three).nodes}
    assert (nodes["ana"].delay_median_us, nodes["ana"].delay_count) == (None, 0)
    assert (nodes["ben"].delay_median_us, nodes["ben"].delay_p95_us) == (3 * SECOND_US, 4 * SECOND_US)
    assert (nodes["cara"].delay_median_us, nodes["cara"].delay_count) == (5_500_000, 2)


@pytest.mark.parametrize(
    ("values", "expected"), [([7], 7), ([2, 1], 2), (list(range(1, 101)), 95), ([1] * 19 + [9], 1)]
)
def test_percentile_by_nearest_rank(values: list[int], expected: int) -> None:
    random.Random(1).shuffle(values)
    assert queries.percentile_95(values) == expected


def test_latest_entries_say_how_far_they_came(three: sqlite3.Connection) -> None:
    latest, *_others, oldest = queries.snapshot(three).recent
    assert (latest.feed, latest.seq, latest.size, latest.chunks) == (feed_of("ben"), 1, 140, 1)
    assert latest.held_by == (node_of("ben"), node_of("cara"))
    assert (latest.t_us, latest.reached_us) == (T0_US + 30 * SECOND_US, T0_US + 33 * SECOND_US)
    assert oldest.held_by == (node_of("ana"), node_of("ben"), node_of("cara"))
    assert oldest.publisher == node_of("ana")


def test_an_entry_of_a_stranger_is_listed_by_when_it_was_first_seen(path: Path) -> None:
    with Mesh(path) as mesh:
        for name in ("ana", "ben"):
            mesh.node(name)
        mesh.publish("phone", 1, T0_US + 5 * SECOND_US, logged=False)
        mesh.arrive("ben", "phone", 1, T0_US + 7 * SECOND_US)
        mesh.arrive("ana", "phone", 1, T0_US + 5 * SECOND_US)
        mesh.publish("ana", 1, T0_US + 6 * SECOND_US)
    found = look(path)
    assert [(entry.publisher, entry.t_us) for entry in found.recent] == [
        (node_of("ana"), T0_US + 6 * SECOND_US),
        (None, T0_US + 5 * SECOND_US),
    ]
    assert all(node.delay_count == 0 for node in found.nodes)


def test_the_list_of_entries_is_bounded_and_newest_first(path: Path) -> None:
    with Mesh(path) as mesh:
        mesh.node("ana")
        for seq in range(1, 100):
            mesh.publish("ana", seq, T0_US + seq * SECOND_US)
    assert [entry.seq for entry in look(path).recent] == list(range(99, 99 - limits.RECENT_SHOWN_MAX, -1))


def test_a_partition_agrees_with_the_tables(path: Path) -> None:
    partition(path)
    found = look(path)
    shown = {
        (feed.feed, node.node): missing
        for feed, row in zip(found.feeds, found.behind, strict=True)
        for node, missing in zip(found.nodes, row, strict=True)
    }
    assert shown == read_cells(path)
    assert sum(shown.values()) == found.totals.behind == found.convergence[-1].missing > 0
    assert found.convergence[0].missing == 0


def test_an_unchanged_database_gives_the_same_bytes(path: Path) -> None:
    partition(path)
    assert look(path).serialize() == look(path).serialize()


def test_a_reader_sees_one_state_of_the_database_and_holds_no_transaction(three: sqlite3.Connection) -> None:
    queries.snapshot(three)
    assert not three.in_transaction


def test_cost_stays_bounded_with_fifty_nodes_and_a_hundred_thousand_copies(path: Path) -> None:
    """Counted in steps of SQLite's machine: unlike time, they are the same on every computer."""
    names = [f"n{number:02}" for number in range(50)]
    with Mesh(path) as mesh:
        for name in names:
            mesh.node(name)
        keys = [(name, seq) for name in names for seq in range(1, 41)]
        for name, seq in keys:
            mesh.publish(name, seq, T0_US + seq * SECOND_US)
        copies = (
            (node_of(node), feed_of(name), seq, T0_US + seq * SECOND_US)
            for name, seq in keys
            for node in names
        )
        mesh.db.executemany("INSERT OR IGNORE INTO copies VALUES (?, ?, ?, ?, 'peer', 'ether')", copies)
        for feed in names:
            for node in names:
                row = (node_of(node), feed_of(feed), 40, T0_US)
                mesh.db.execute("INSERT OR IGNORE INTO frontier VALUES (?, ?, ?, ?)", row)
    db = tables.open_for_reading(path)
    thousands = 0

    def count() -> int:
        nonlocal thousands
        thousands += 1
        return 0

    db.set_progress_handler(count, 1_000)
    queries.snapshot(db)
    db.close()
    assert thousands < 900
