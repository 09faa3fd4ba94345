"""Setup that all tests share: a test that lacks a system package is skipped, or fails under CI."""

import functools
import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests import needs

# What commands print is compared with English texts; processes that tests start inherit this.
os.environ["LC_ALL"] = "C.UTF-8"

# Properties hold on slow and busy machines too, so no example has a deadline.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


RARE_MARKERS = ("realtime", "slow")
"""Markers that few files carry. `make test` runs pytest once for each, which need not import all other files."""


class UnmarkedFile(pytest.Module):
    """A file whose tests do not carry the marker that -m demands: it is not imported."""

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """Return nothing."""
        return []


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Leave out a file without the rare marker that -m demands, unless the command line names the file."""
    demanded = [marker for marker in parent.config.option.markexpr.split(" and ") if marker in RARE_MARKERS]
    if parent.session.isinitpath(module_path) or all(_spells(module_path, marker) for marker in demanded):
        return None
    return UnmarkedFile.from_parent(parent, path=module_path)


def _spells(path: Path, marker: str) -> bool:
    return f"pytest.mark.{marker}" in path.read_text("utf-8")


@pytest.fixture(autouse=True)
def default_logging() -> Generator[None]:
    """Undo what a test configured for all loggers: the next test would write to the file of a test that has ended."""
    yield
    structlog.reset_defaults()


def pytest_collection_finish() -> None:
    """Take what was imported and collected out of the garbage collector's rounds: they took an eighth of the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a rare marker that a test got from elsewhere than its own file: the marker's run would miss the test.

    The run without the rare markers imports every file, so it finds each such test.
    """
    for item in items:
        for marker in RARE_MARKERS:
            if item.get_closest_marker(marker) and not _spells(item.path, marker):
                raise pytest.UsageError(f"{item.nodeid}: write pytest.mark.{marker} in the test's own file")


ONE_WORKER_FOLDERS = ("tests/browser", "tests/spark_sink/page")
"""Folders whose files share what takes seconds to start: a browser, or a server over a mesh of made-up logs."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker whole files; files that share Java, a browser or a server go to one worker together.

    xdist hands out the units with the most tests first, so these long ones do not end last.
    """
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped] # it has no types

    @functools.cache
    def unit(file: str) -> str:
        for folder in ONE_WORKER_FOLDERS:
            if file.startswith(f"{folder}/"):
                return folder
        return "spark" if _spells(config.rootpath / file, "spark") else file

    class UnitScheduling(LoadFileScheduling):  # type: ignore[misc] # likewise
        """Units of files for workers."""

        def _split_scope(self, nodeid: str) -> str:
            return unit(super()._split_scope(nodeid))

    return UnitScheduling(config, log)


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
