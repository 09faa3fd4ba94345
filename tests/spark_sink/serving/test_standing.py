"""States of the mesh, and what goes on from them, in either database."""

import threading

from spark_sink.alert_refresh import AlertRefresh
from spark_sink.derive.facts import HOUR_US
from spark_sink.serving import standing
from spark_sink.serving.database import Database
from spark_sink.serving.merge import merge
from spark_sink.serving.names import NameNumbers
from spark_sink.sighted_hours import SightedHours
from tests.spark_sink.serving.batches import NODES, batch
from tests.spark_sink.serving.content import empty
from tests.spark_sink.test_alert_refresh import Mesh, new_database, play, told


def test_alerts_are_the_same_in_either_database(database: Database) -> None:
    empty(database)
    with new_database() as (other, at_once):
        play(Mesh(3), (database, AlertRefresh(database, threading.Lock())), (other, at_once), every=13)
        assert told(database) == told(other)
        assert SightedHours(database).sights_an_hour() == 0


def test_the_first_hour_that_a_node_counted_in_is_kept(database: Database) -> None:
    names = NameNumbers(database)
    for number, hour in enumerate((5, 3, 8)):
        counts = [
            {
                "node": NODES[0],
                "hour_us": (hour + more) * HOUR_US,
                "kind": "rx",
                "detail": "",
                "records": 1,
                "total": 0,
            }
            for more in (0, 1)
        ]
        merge(database, names, batch(number, {"counts": counts}))
    assert database.rows("SELECT node_no, hour_us FROM counted") == [(1, 3 * HOUR_US)]


def test_two_states_are_kept_for_each_doubling_of_their_age(database: Database) -> None:
    empty(database)
    day_us = 24 * HOUR_US
    with database.transaction():
        standing.keep(database, [(day * day_us, b"x") for day in range(64)], 64 * day_us)
    ages = [
        64 - int(str(row[0])) // day_us
        for row in database.rows("SELECT at_us FROM standing ORDER BY at_us DESC")
    ]
    assert ages == [1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64]
    with database.transaction():
        standing.forget(database, 40 * day_us)
    assert database.rows("SELECT max(at_us) FROM standing") == [(33 * day_us,)]
