"""Setup that all tests share: a test that lacks a system package is skipped, or fails under CI."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import needs

# Properties hold on slow and busy machines too, so no example has a deadline.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose marker needs a missing system package, with the command to type; under CI fail it."""
    for marker in ("spark", "browser", "dbus", "postgres", "mosquitto", "gcc"):
        if item.get_closest_marker(marker) and (line := needs.missing(marker)):
            if os.environ.get("CI") == "true":
                pytest.fail(line, pytrace=False)
            pytest.skip(line)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """Print as the last line how many tests were left out for want of system packages, and what to type.

    `make test` runs pytest more than once. Its runs add up their reasons in the file LEFT_OUT.
    """
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or "PYTEST_XDIST_WORKER" in os.environ:
        return
    skipped = (report.longrepr for report in reporter.stats.get("skipped", ()))
    reasons = [longrepr[2] for longrepr in skipped if isinstance(longrepr, tuple)]
    if name := os.environ.get("LEFT_OUT"):
        with Path(name).open("a+") as file:
            file.writelines(f"{reason}\n" for reason in reasons)
            file.seek(0)
            reasons = file.read().splitlines()
    if line := needs.left_out_line(reasons):
        reporter.write_line(line, yellow=True)
