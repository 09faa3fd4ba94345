"""gpsd, by its own bytes on a real socket."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.telemetry.gpsd import FIX, NO_FIX, SKY, gpsd
from tinyssb_node.telemetry.sources.gpsd import parse_report, read_gpsd
from tinyssb_node.telemetry.sources.measured import Measured, SourceError

PLACE = Measured(
    latitude=47.3769, longitude=8.5417, accuracy_m=11.9, altitude_m=408.2, speed_m_s=1.51, course_degrees=90.4
)


def test_the_first_place_is_taken_and_what_comes_before_is_skipped() -> None:
    with gpsd(NO_FIX, SKY, b"not JSON\r\n", FIX, {**FIX, "lat": 1.0}) as address:
        assert read_gpsd(address) == PLACE


def test_a_receiver_without_a_fix_ends_in_advice_and_not_in_waiting() -> None:
    with (
        gpsd(NO_FIX, SKY) as address,
        pytest.raises(SourceError, match=r"no place within 0 s.*Nothing was published") as no,
    ):
        read_gpsd(address, 0.3)
    assert "open sky" in no.value.hint


def test_an_endless_flood_without_a_place_ends_by_its_size() -> None:
    with gpsd(b"x" * 200_000, hold=False) as address, pytest.raises(SourceError, match=r"closed|reset"):
        read_gpsd(address)


def test_a_gpsd_that_does_not_run_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    with pytest.raises(SourceError, match=f"{address[1]} cannot be reached"):
        read_gpsd(address)


def test_older_versions_name_the_altitude_otherwise() -> None:
    report = b'{"class":"TPV","mode":3,"lat":1,"lon":2,"alt":30.5}'
    assert parse_report(report) == Measured(latitude=1.0, longitude=2.0, altitude_m=30.5)


@pytest.mark.parametrize(
    "report",
    [
        b"",
        b"[]",
        b'{"class":"TPV"}',
        b'{"class":"TPV","mode":3,"lat":91,"lon":2}',
        b'{"class":"TPV","mode":3,"lat":1}',
        b'{"class":"TPV","mode":true,"lat":1,"lon":2}',
        b'{"class":"TPV","mode":3,"lat":NaN,"lon":2}',
        b'{"class":"TPV","mode":"3","lat":1,"lon":2}',
        b'{"class":"ATT","mode":3,"lat":1,"lon":2}',
    ],
)
def test_a_report_without_a_place_is_none(report: bytes) -> None:
    assert parse_report(report) is None


@given(st.binary(max_size=100))
def test_no_bytes_raise(report: bytes) -> None:
    parse_report(report)
