"""Times put right, against doing it record by record; and which records a new estimate moves."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import Corrections, comparable, corrections, shifted_boots

DAY_US = 24 * HOUR_US
START_US = 472_000 * HOUR_US
MESH = 2**40
COLUMNS = ["node_no", "boot", "era", "from_mono_us", "base_us", "mesh", "at_us", "offset_us", "drift_ppm"]


def clock(node_no: int, boot: int, era: int = 0, **more: float) -> dict[str, float]:
    base = {
        "from_mono_us": 0,
        "base_us": START_US,
        "mesh": MESH,
        "at_us": START_US,
        "offset_us": 0,
        "drift_ppm": 0.0,
    }
    return {"node_no": node_no, "boot": boot, "era": era, **base, **more}


def table(*clocks: dict[str, float]) -> pa.Table:
    types = {name: pa.float64() if name == "drift_ppm" else pa.int64() for name in COLUMNS}
    return pa.table({name: pa.array([one[name] for one in clocks], types[name]) for name in COLUMNS})


def put_right(found: Corrections, *record: int) -> tuple[int, int]:
    mesh_us, mesh = found.mesh_us(*(np.array([value]) for value in record))
    return int(mesh_us[0]), int(mesh[0])


CLOCKS = table(
    clock(2, 5, offset_us=-7, mesh=2),
    clock(1, 3, offset_us=HOUR_US, drift_ppm=50.0),
    clock(1, 4, 1, base_us=START_US - DAY_US, from_mono_us=50, offset_us=-DAY_US),
    clock(1, 4, 0, base_us=START_US + DAY_US, offset_us=DAY_US, at_us=START_US + DAY_US),
)


def test_a_time_is_put_right_by_the_clock_of_its_boot_and_era() -> None:
    found = corrections(CLOCKS)
    assert put_right(found, 1, 4, START_US + DAY_US + 49, 49) == (START_US + 49, MESH)
    assert put_right(found, 1, 4, START_US - DAY_US + 50, 50) == (START_US + 50, MESH)
    assert put_right(found, 2, 5, START_US + 9, 9) == (START_US + 16, 2)
    drifted_us = round(DAY_US * 50e-6 / (1 + 50e-6))
    assert put_right(found, 1, 3, START_US + DAY_US, DAY_US) == (
        START_US + DAY_US - HOUR_US - drifted_us,
        MESH,
    )


def test_what_is_written_again_after_a_crash_goes_by_the_clock_before() -> None:
    found = corrections(CLOCKS)
    assert put_right(found, 1, 4, START_US, 0) == (START_US - HOUR_US, MESH)
    assert put_right(found, 1, 9, START_US - DAY_US, 0) == (START_US, MESH)  # its boot has nothing else
    assert put_right(found, 1, 4, START_US + DAY_US, 0) == (START_US, MESH)  # its own first moment
    assert put_right(found, 1, 3, START_US - DAY_US, 0) == (START_US - DAY_US, 1)  # none before
    assert put_right(found, 2, 5, START_US - DAY_US, 0) == (
        START_US - DAY_US,
        2,
    )  # another node's is not its own


def test_whose_clock_is_not_known_stays_as_it_is() -> None:
    assert put_right(corrections(CLOCKS), 1, 7, START_US, 5) == (START_US, 1)
    assert put_right(corrections(table()), 1, 7, START_US, 5) == (START_US, 1)
    assert put_right(corrections(table()), 1, 7, START_US, 0) == (START_US, 1)


def test_times_of_one_mesh_can_be_compared_and_those_of_clocks_that_met_nobody() -> None:
    node, other = np.array([1, 1, 1, 1]), np.array([2, 2, 2, 2])
    found = comparable(node, np.array([MESH, 1, MESH, MESH]), other, np.array([MESH, 2, 2, MESH + 1]))
    assert found.tolist() == [True, True, False, False]


CLOCK = st.builds(
    lambda node_no, boot, begins_us, steps_h, offset_us, drift_ppm: [
        clock(
            node_no, boot, era, from_mono_us=from_us, base_us=START_US + step_h * HOUR_US, drift_ppm=drift_ppm
        )
        | {"offset_us": offset_us + step_h * HOUR_US, "at_us": START_US + step_h * HOUR_US}
        for era, (from_us, step_h) in enumerate(zip(sorted(begins_us), steps_h, strict=False))
    ],
    st.integers(0, 2),
    st.integers(1, 3),
    st.sets(st.integers(0, 3 * HOUR_US), min_size=1, max_size=4),
    st.lists(st.integers(-99, 99), min_size=4, max_size=4),
    st.integers(-HOUR_US, HOUR_US),
    st.floats(-100, 100),
)
BOOTS = st.lists(CLOCK, max_size=5, unique_by=lambda eras: (eras[0]["node_no"], eras[0]["boot"]))
RECORD = st.tuples(
    st.integers(0, 3),
    st.integers(0, 4),
    st.integers(0, DAY_US),
    st.one_of(st.just(0), st.integers(0, 4 * HOUR_US)),
)


@settings(max_examples=50, deadline=None)
@given(BOOTS, st.lists(RECORD, min_size=1, max_size=20))
def test_all_at_once_is_as_one_by_one(
    boots: list[list[dict[str, float]]], log: list[tuple[int, ...]]
) -> None:
    clocks = [one for eras in boots for one in eras]
    node_no, boot, gone_us, mono_us = np.array(log, np.int64).T
    mesh_us, mesh = corrections(table(*clocks)).mesh_us(node_no, boot, START_US + gone_us, mono_us)
    for place, (node, number, gone, mono) in enumerate(log):
        wanted = oracle(clocks, node, number, START_US + gone, mono)
        assert (mesh_us[place], mesh[place]) == wanted


def oracle(
    clocks: list[dict[str, float]], node: int, boot: int, t_us: int, mono_us: int
) -> tuple[float, float]:
    own = sorted(
        (one for one in clocks if (one["node_no"], one["boot"]) == (node, boot)), key=lambda c: c["era"]
    )
    begun = [one for one in own if one["from_mono_us"] <= mono_us] or own[:1]
    by = begun[-1] if begun else None
    if mono_us == 0 and (by is None or abs(t_us - by["base_us"]) > limits.CLOCK_JUMP_US):
        before = [one for one in clocks if one["node_no"] == node and one["boot"] < boot]
        by = max(before, key=lambda one: (one["boot"], one["era"]), default=None)
        if by is not None and t_us < by["base_us"] + by["from_mono_us"] - HOUR_US:
            by = None
    if by is None:
        return t_us, node
    slow = by["drift_ppm"] * 1e-6 / (1 + by["drift_ppm"] * 1e-6)
    return t_us - by["offset_us"] - round(slow * (t_us - by["at_us"])), by["mesh"]


def hours(clocks: Corrections, node_no: int, boot: int, hour_us: int) -> tuple[int, ...]:
    """The hours of mesh time, in order, that a boot's records of one hour of its own may lie in."""
    found = clocks.spans(
        *(np.array([value], np.int64) for value in (node_no, boot, hour_us, hour_us + HOUR_US - 1))
    )
    ends = zip(found.low_us.tolist(), found.high_us.tolist(), strict=True)
    reached = (range(low_us // HOUR_US * HOUR_US, high_us + 1, HOUR_US) for low_us, high_us in ends)
    return tuple(sorted({hour for some in reached for hour in some}))


@settings(max_examples=50, deadline=None)
@given(BOOTS, RECORD)
def test_hours_name_where_a_record_of_an_hour_may_lie(
    boots: list[list[dict[str, float]]], record: tuple[int, ...]
) -> None:
    clocks = [one for eras in boots for one in eras]
    found = corrections(table(*clocks))
    node, boot, _, mono_us = record
    bases = [one["base_us"] for one in clocks if (one["node_no"], one["boot"]) == (node, boot)]
    for base_us in bases or [START_US]:
        t_us = int(base_us) + mono_us
        place = int(found.clock(np.array([node]), np.array([boot]), np.array([mono_us]))[0])
        if place < 0 or abs(int(found.base_us[place]) + mono_us - t_us) <= limits.CLOCK_JUMP_US:
            hour_us = put_right(found, node, boot, t_us, mono_us)[0] // HOUR_US * HOUR_US
            assert hour_us in hours(found, node, boot, t_us // HOUR_US * HOUR_US)


def test_an_hour_of_a_boot_is_few_hours_of_the_mesh() -> None:
    assert hours(corrections(CLOCKS), 1, 3, START_US) == (START_US - HOUR_US,)
    found = corrections(table(clock(1, 3, offset_us=HOUR_US // 2), clock(1, 4, base_us=START_US + DAY_US)))
    assert hours(found, 1, 3, START_US) == (START_US - HOUR_US, START_US)
    assert hours(found, 1, 4, START_US) == (START_US - HOUR_US, START_US)  # written again
    assert hours(corrections(table()), 1, 3, START_US) == (START_US,)


def test_what_moved_is_named() -> None:
    newest_us = {(1, 3): START_US + DAY_US, (1, 4): START_US + DAY_US}
    old = corrections(table(clock(1, 3), clock(1, 4)))
    assert shifted_boots(old, old, newest_us) == set()

    def boots(*new: dict[str, float]) -> set[tuple[int, int]]:
        return shifted_boots(old, corrections(table(*new)), newest_us)

    assert boots(clock(1, 3, offset_us=limits.CLOCK_MOVED_US), clock(1, 4)) == set()
    assert boots(clock(1, 3), clock(1, 4, offset_us=limits.CLOCK_MOVED_US + 1)) == {(1, 4)}
    assert boots(clock(1, 3, offset_us=limits.CLOCK_MOVED_US + 1), clock(1, 4)) == {(1, 3), (1, 4)}
    assert boots(clock(1, 3), clock(1, 4, drift_ppm=0.1)) == set()  # 9 ms in a day
    assert boots(clock(1, 3), clock(1, 4, drift_ppm=0.2)) == {(1, 4)}
    assert boots(clock(1, 3), clock(1, 4, mesh=MESH + 1)) == {(1, 4)}
    assert boots(clock(1, 3), clock(1, 4), clock(2, 1)) == {(2, 1)}
    jumped = clock(1, 4, 1, from_mono_us=HOUR_US, offset_us=DAY_US)
    assert boots(clock(1, 3), clock(1, 4), jumped) == {(1, 4)}
