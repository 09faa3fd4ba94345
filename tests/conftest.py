"""For every test: one that lacks a system package is skipped by name, or fails under CI."""

import os

import pytest

from tests import needs


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose marker needs what this machine lacks, saying what to type; under CI fail it."""
    for marker in ("spark", "browser", "dbus", "postgres", "mosquitto", "gcc"):
        if item.get_closest_marker(marker) and (line := needs.missing(marker)):
            if os.environ.get("CI") == "true":
                pytest.fail(line, pytrace=False)
            pytest.skip(line)
