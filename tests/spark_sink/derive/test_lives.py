"""When boots were up, where clocks jump before, between and after what shows which time they had."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import boot_times, corrections
from tests.spark_sink.derive.test_mesh_time import MESH, START_US, clock, table

NODE = 1
BOOT = ("node_no", "boot", "first_us", "first_mono_us", "last_us", "last_mono_us")
LIFE_US = 5 * HOUR_US


def life(
    clocks: list[dict[str, float]],
    began_h: float,
    ended_h: float,
    last_mono_us: int = LIFE_US,
    first_mono_us: int = 0,
) -> tuple[float, float, int]:
    """Hours after `START_US` of a boot's begin and end, and the mesh; given what it had on its clocks then."""
    row = (NODE, 1, START_US + began_h * HOUR_US, first_mono_us, START_US + ended_h * HOUR_US, last_mono_us)
    boots = pa.table({name: [round(value)] for name, value in zip(BOOT, row, strict=True)})
    found = boot_times(corrections(table(*clocks)), boots)
    since_us, until_us = int(found.since_us[0]), int(found.until_us[0])
    return (since_us - START_US) / HOUR_US, (until_us - START_US) / HOUR_US, int(found.mesh[0])


def test_a_clock_that_is_told_the_time_before_the_first_packet() -> None:
    assert life([clock(NODE, 1, from_mono_us=30_000_000)], -6, 5) == (0, 5, MESH)
    assert life([clock(NODE, 1, from_mono_us=30_000_000, offset_us=HOUR_US)], -6, 5) == (-1, 4, MESH)
    assert life([clock(NODE, 1, mesh=NODE)], -6, 5) == (0, 5, NODE)
    assert life([], -6, 5) == (0, 5, NODE)


def test_a_clock_that_jumps_after_the_last_packet() -> None:
    assert life([clock(NODE, 1)], 0, 9_000) == (0, 5, MESH)


def test_what_a_clock_gains_bit_by_bit_is_no_jump() -> None:
    gained_h = LIFE_US * limits.DRIFT_MAX_PPM * 1e-6 / HOUR_US
    assert life([clock(NODE, 1)], 0, 5 + gained_h) == (0, 5 + gained_h, MESH)


def test_related_clocks_tell_what_others_cannot() -> None:
    off = clock(NODE, 1, mesh=NODE, base_us=START_US - 99 * HOUR_US)
    right = clock(NODE, 1, 1, from_mono_us=HOUR_US)
    ahead = clock(NODE, 1, 2, from_mono_us=2 * HOUR_US, mesh=NODE, base_us=START_US + 9_000 * HOUR_US)
    assert life([off, right, ahead], -99, 9_005) == (0, 5, MESH)
    assert life([off, right], -99, 5) == (0, 5, MESH)
    assert life([off, ahead], -99, 9_005) == (9_000, 9_005, NODE), "of those that met nobody the last one"
    assert life([off, right, ahead], -99, -98.5, HOUR_US // 2) == (0, 0.5, MESH)


def test_records_written_again_after_a_crash_end_nothing() -> None:
    assert life([clock(NODE, 1)], 0, -9, last_mono_us=0) == (0, 0, MESH)
    assert life([], 0, -9, last_mono_us=0, first_mono_us=1) == (0, 0, NODE)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 3),
            st.integers(1, 2),
            st.lists(st.tuples(st.booleans(), st.integers(-9, 9)), max_size=4),
        ),
        max_size=4,
        unique_by=lambda boot: boot[:2],
    ),
    st.integers(1, 5),
)
def test_all_at_once_is_as_one_by_one(
    boots: list[tuple[int, int, list[tuple[bool, int]]]], ended_h: int
) -> None:
    clocks: list[dict[str, float]] = []
    wanted = []
    for node_no, boot, eras in sorted(boots):
        mesh = [MESH if related else node_no for related, _ in eras]
        zero = [START_US + base_h * HOUR_US for _, base_h in eras]
        clocks += [
            clock(node_no, boot, era, from_mono_us=era * HOUR_US, base_us=zero[era], mesh=mesh[era])
            for era in range(len(eras))
        ]
        known = [era for era in range(len(eras)) if mesh[era] == MESH]
        at_end = min(ended_h, len(eras) - 1)
        began = known[0] if known else at_end
        ended = max((era for era in known if era <= at_end), default=began)
        if eras:
            since_us, until_us = zero[began], zero[ended] + ended_h * HOUR_US
            wanted.append((since_us, max(since_us, until_us), mesh[ended]))
        else:
            wanted.append((START_US - ended_h * HOUR_US, START_US, node_no))
    rows = np.array([row[:2] for row in sorted(boots)], np.int64).reshape(-1, 2)
    times = [np.full(len(rows), value) for value in (7, 0, START_US, ended_h * HOUR_US)]
    boots_ = pa.table(dict(zip(BOOT, (rows[:, 0], rows[:, 1], *times), strict=True)))
    found = boot_times(corrections(table(*clocks)), boots_)
    columns = (found.since_us, found.until_us, found.mesh)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == wanted
