"""For every test: one that lacks a system package is skipped by name, or fails under CI."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests import needs

# How fast the machine is, and what else it does, is no matter of a property.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose marker needs what this machine lacks, saying what to type; under CI fail it."""
    for marker in ("spark", "browser", "dbus", "postgres", "mosquitto", "gcc"):
        if item.get_closest_marker(marker) and (line := needs.missing(marker)):
            if os.environ.get("CI") == "true":
                pytest.fail(line, pytrace=False)
            pytest.skip(line)
