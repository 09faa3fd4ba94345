"""The views for readers."""

from spark_sink.serving.database import Database
from spark_sink.serving.merge import merge
from spark_sink.serving.names import NameNumbers
from tests.spark_sink.serving.batches import FEEDS, NODES, batch
from tests.spark_sink.serving.merge_oracle import Fact


def boot(node: str, number: int, last_us: int, **told: object) -> Fact:
    ends = {"first_offset": 0, "first_us": 1, "first_mono_us": 2, "last_offset": 3, "last_mono_us": 5}
    return {"node": node, "boot": number, "records": 1, "last_us": last_us, **ends, **told}


def test_entries_behind_the_longest_copy_of_each_feed(database: Database) -> None:
    held = [(NODES[0], FEEDS[0], 5), (NODES[1], FEEDS[0], 2), (NODES[1], FEEDS[1], 1)]
    frontiers = [{"node": node, "feed": feed, "seq": seq, "boot": 1, "t_us": 0} for node, feed, seq in held]
    boots = [boot(NODES[0], 1, 1), boot(NODES[0], 2, 1), boot(NODES[1], 1, 1)]
    merge(database, NameNumbers(database), batch(0, {"boots": boots, "frontiers": frontiers}))
    rows = database.rows("SELECT node_no, feed_no, seq, newest, behind FROM behind ORDER BY node_no, feed_no")
    assert rows == [(1, 1, 5, 5, 0), (1, 2, 0, 1, 1), (2, 1, 2, 5, 3), (2, 2, 1, 1, 0)]


def test_nodes_are_called_what_their_newest_start_says(database: Database) -> None:
    boots = [
        boot(NODES[0], 1, 90, name="hut", feed=FEEDS[0], version="1", started_us=1, stopped_us=2),
        boot(NODES[0], 2, 50, name="inn", feed=FEEDS[0], version="2", started_us=1),
        boot(NODES[1], 1, 10, name="pass", version="1", started_us=1),
        boot(NODES[1], 2, 20),
        boot(NODES[2], 1, 30, name="top", version="1", started_us=1, stopped_us=30),
    ]
    merge(database, NameNumbers(database), batch(0, {"boots": boots}))
    rows = database.rows(
        "SELECT node_no, node, name, feed_no, version, boot, running, last_us FROM node_names ORDER BY node_no"
    )
    assert rows == [
        (1, NODES[0], "inn", 1, "2", 2, 1, 50),
        (2, NODES[1], "pass", None, "1", 2, 0, 20),
        (3, NODES[2], "top", None, "1", 1, 0, 30),
    ]
