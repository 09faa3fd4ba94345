"""Points in time as people say them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.cli.time_arguments import moment_of

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOW_US = int(NOW.timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("90m", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("3d", timedelta(3)),
        ("2w", timedelta(14)),
    ],
)
def test_how_long_ago(text: str, ago: timedelta) -> None:
    assert moment_of(text, NOW) == NOW_US - ago // timedelta(microseconds=1)


def test_dates() -> None:
    assert moment_of("2026-11-20T12:00:00+00:00", NOW) == NOW_US
    local = datetime(2026, 11, 1).astimezone()
    assert moment_of("2026-11-01", NOW) == int(local.timestamp()) * 1_000_000


@pytest.mark.parametrize("text", ["", "3", "d", "-3d", "yesterday", "2026-13-01", "٣d", "999999d"])
def test_what_is_no_time(text: str) -> None:
    assert moment_of(text, NOW) is None


@given(st.text(max_size=20))
def test_any_text_has_an_answer(text: str) -> None:
    when = moment_of(text, NOW)
    assert when is None or when >= 0
