"""How old hours of logs are: by the newest record of their own group of clocks, and of no other."""

import numpy as np
import pyarrow as pa

from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import corrections
from spark_sink.derive.packet_ages import PacketAges, packet_ages
from tests.spark_sink.derive.test_lives import BOOT
from tests.spark_sink.derive.test_mesh_time import MESH, START_US, clock, table

KEEP_US = 10 * HOUR_US
"""Two hours more are kept: what comes after needs them."""


def ends(*boots: tuple[int, int, float]) -> pa.Table:
    """Node, boot, and hours after `START_US` of its newest record, by its own clock."""
    node_no, boot, hours = (np.array(column) for column in zip(*boots, strict=True))
    gone_us = np.rint(hours * HOUR_US).astype(np.int64)
    columns = (node_no, boot, np.full(len(boot), START_US), gone_us * 0, START_US + gone_us, gone_us)
    return pa.table(dict(zip(BOOT, columns, strict=True)))


def old(
    clocks: list[dict[str, float]], newest: pa.Table, *hours: tuple[int, int, int], latest: int = 10**6
) -> list[int]:
    return [int(value) for value in found(clocks, newest, *hours, latest=latest).old]


def found(
    clocks: list[dict[str, float]], newest: pa.Table, *hours: tuple[int, int, int], latest: int = 10**6
) -> PacketAges:
    node_no, boot, hour = np.array(hours, np.int64).T
    some = np.stack([node_no, boot, START_US + hour * HOUR_US])
    return packet_ages(corrections(table(*clocks)), some, newest, KEEP_US, START_US + latest * HOUR_US)


def test_what_is_behind_the_newest_of_its_group_is_old() -> None:
    clocks = [clock(1, 1), clock(2, 1, offset_us=-7 * HOUR_US)]
    newest = ends((1, 1, 20), (2, 1, 30 - 7))
    assert old(clocks, newest, (1, 1, 16), (1, 1, 17), (1, 1, 18)) == [1, 1, 0]
    assert old(clocks, newest, (2, 1, 9), (2, 1, 10), (2, 1, 11)) == [1, 1, 0]


def test_no_group_makes_another_one_old() -> None:
    clocks = [clock(1, 1), clock(2, 1), clock(3, 1, mesh=MESH + 1), clock(4, 1, mesh=MESH + 1)]
    newest = ends((1, 1, 5), (2, 1, 9), (3, 1, 5_000), (4, 1, 5_000))
    assert old(clocks, newest, (1, 1, 0), (3, 1, 0)) == [0, 1]


def test_a_clock_that_met_nobody_or_is_not_known_tells_no_age() -> None:
    clocks = [clock(1, 1), clock(2, 1), clock(3, 1, mesh=3), clock(3, 2, mesh=3)]
    newest = ends((1, 1, 900), (2, 1, 900), (3, 1, 9_000), (3, 2, 9_000), (5, 1, 99_000))
    assert old(clocks, newest, (1, 1, 0), (3, 1, 0), (5, 1, 0)) == [1, 0, 0]
    assert old([], newest, (1, 1, 0), (5, 1, 0)) == [0, 0]


def test_a_record_that_is_ahead_makes_nothing_old() -> None:
    clocks = [clock(1, 1), clock(2, 1)]
    newest = ends((1, 1, 9), (2, 1, 9_000))
    assert old(clocks, newest, (1, 1, 0), latest=10_000) == [1]
    assert old(clocks, newest, (1, 1, 0), latest=8_999) == [0]
    assert old(clocks, newest, (1, 1, 0), latest=8) == [0]


def test_all_but_the_largest_group_are_measured_by_when_they_were_read() -> None:
    clocks = [clock(1, 1), clock(2, 1), clock(3, 1, mesh=MESH - 1), clock(4, 1, mesh=4)]
    newest = ends((1, 1, 5), (2, 1, 5), (3, 1, 5), (4, 1, 5), (5, 1, 5))
    hours = [(node_no, 1, 0) for node_no in range(1, 6)]
    assert found(clocks, newest, *hours).by_reading.tolist() == [0, 0, 1, 1, 1]
    assert found(clocks, newest, *hours, latest=-5).by_reading.tolist() == [1, 1, 1, 1, 1], "all are ahead"
    ahead = found(clocks, ends((1, 1, 5), (2, 1, 900)), (1, 1, 0), (2, 1, 899), latest=9)
    assert ahead.by_reading.tolist() == [0, 1]
    assert found([], newest, *hours).by_reading.tolist() == [1, 1, 1, 1, 1]


def test_a_boot_before_tells_the_age_of_nothing_but_its_own_records() -> None:
    """Its clock may have shown what this one does, but it is another one; a log that has only begun has no other."""
    alone = clock(1, 1, mesh=1, base_us=START_US - 9 * HOUR_US)
    newest = ends((1, 1, -1), (1, 2, 20), (2, 1, 20))
    known = found([alone, clock(1, 2), clock(2, 1)], newest, (1, 2, 0))
    assert (known.old.tolist(), known.by_reading.tolist()) == ([1], [0])
    new = found([alone, clock(2, 1)], newest, (1, 2, 0))
    assert (new.old.tolist(), new.by_reading.tolist()) == ([0], [1])


def test_hours_of_the_mesh_that_are_not_ahead_are_named() -> None:
    clocks = [clock(1, 1, offset_us=HOUR_US // 2), clock(1, 1, 1, from_mono_us=1, offset_us=-99 * HOUR_US)]
    some = np.array([[1], [1], [START_US]])
    for latest_us, wanted in (
        (START_US, (-(HOUR_US // 2), HOUR_US // 2 - 1)),
        (START_US + 100 * HOUR_US, (-(HOUR_US // 2), 100 * HOUR_US - 1)),
    ):
        reached = packet_ages(
            corrections(table(*clocks)), some, ends((1, 1, 0)), KEEP_US, latest_us + HOUR_US // 2
        )
        assert (reached.low_us[0] - START_US, reached.high_us[0] - START_US) == wanted
    reached = packet_ages(corrections(table(*clocks)), some, ends((1, 1, 0)), KEEP_US, START_US - HOUR_US)
    assert reached.low_us[0] > reached.high_us[0]
