"""Clocks as the page puts them right: by vectors, and as the refresh does it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.derive.mesh_time import corrections
from spark_sink.page.clocks import Clock, clock_of_record

HOUR_US = 3_600_000_000


def clock(boot: int = 1, era: int = 0, *, from_mono_us: int = 0, base_us: int = 0, **more: float) -> Clock:
    figures = {"at_us": 0, "offset_us": 0, "drift_ppm": 0.0} | more
    return Clock(
        boot, era, from_mono_us, base_us, 0, int(figures["at_us"]), int(figures["offset_us"]), figures["drift_ppm"],
        more.get("offset_error_us", 3.0), more.get("drift_error_ppm", 4.0), more.get("covariance_us_ppm", 0.5), 7,
    )  # fmt: skip


def test_offset_and_drift_are_taken_off() -> None:
    fast = clock(at_us=10 * HOUR_US, offset_us=5_000_000, drift_ppm=50.0)
    assert fast.mesh_us(10 * HOUR_US) == 10 * HOUR_US - 5_000_000
    later_us = 10 * HOUR_US + 1_000_050_000
    assert fast.mesh_us(later_us) == 10 * HOUR_US - 5_000_000 + 1_000_000_000


def test_the_error_grows_away_from_the_middle() -> None:
    known = clock(at_us=HOUR_US)
    assert known.error_us(HOUR_US) == 3.0
    assert known.error_us(HOUR_US + 2_000_000) == pytest.approx((9 + 2 * 2 * 0.5 + 64) ** 0.5)


@given(st.integers(0, 2**51), st.integers(-(2**45), 2**45), st.floats(-200, 200), st.integers(0, 2**51))
def test_both_ways_meet_again(at_us: int, offset_us: int, drift_ppm: float, mesh_us: int) -> None:
    known = clock(at_us=at_us, offset_us=offset_us, drift_ppm=drift_ppm)
    assert abs(known.mesh_us(known.own_us(mesh_us)) - mesh_us) <= 2


SMALL = st.integers(0, 5)
CLOCKS = st.lists(
    st.tuples(st.integers(1, 3), SMALL, SMALL, st.integers(0, 60), st.integers(-9, 9), st.integers(-90, 90)),
    max_size=5,
    unique_by=lambda row: row[:2],
)


@settings(deadline=None)  # the first call of pyarrow is slow
@given(
    CLOCKS,
    st.integers(1, 4),
    st.sampled_from([0, 0, HOUR_US // 2, 3 * HOUR_US, 9 * HOUR_US]),
    st.integers(0, 90),
)
def test_it_is_the_time_that_the_refresh_gives(
    rows: list[tuple[int, int, int, int, int, int]], boot: int, mono_us: int, t: int
) -> None:
    rows.sort()
    eras: dict[int, int] = {}
    known: list[Clock] = []
    for number, _era, from_h, base_h, offset_h, drift in rows:
        era = eras.get(number, 0)
        from_us = 0 if era == 0 else max(from_h * HOUR_US, known[-1].from_mono_us + 1)
        eras[number] = era + 1
        known.append(
            clock(number, era, from_mono_us=from_us, base_us=base_h * HOUR_US, at_us=base_h * HOUR_US,
                  offset_us=offset_h * HOUR_US, drift_ppm=float(drift))
        )  # fmt: skip
    names = ("boot", "era", "from_mono_us", "base_us", "mesh", "at_us", "offset_us", "drift_ppm")
    table = {name: [getattr(one, name) for one in known] for name in names}
    types = {name: pa.float64() if name == "drift_ppm" else pa.int64() for name in names}
    columns = {"node_no": pa.array([0] * len(known), pa.int64())}
    columns |= {name: pa.array(values, types[name]) for name, values in table.items()}
    for name in ("offset_error_us", "drift_error_ppm", "covariance_us_ppm"):
        columns[name] = pa.array([0.0] * len(known), pa.float64())
    columns["matches"] = pa.array([0] * len(known), pa.int64())
    t_us = t * HOUR_US
    arrays = (np.array([value], np.int64) for value in (0, boot, t_us, mono_us))
    expected, _mesh = corrections(pa.table(columns)).mesh_us(*arrays)
    found = clock_of_record(known, boot, mono_us, t_us)
    assert (found.mesh_us(t_us) if found else t_us) == expected[0]
