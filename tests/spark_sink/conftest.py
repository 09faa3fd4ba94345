"""One Spark session for all tests that need one: starting Java takes longer than most of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_sink.session import make_session

HASTY_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java that starts in half the time and never gets fast: tests are over before that would pay."""


@pytest.fixture(scope="session", autouse=True)
def hasty_java() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", HASTY_JAVA)
        yield


@pytest.fixture(scope="session")
def spark(hasty_java: None) -> Iterator[Any]:
    session = make_session(threads=2, memory_mb=768)
    yield session
    session.stop()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """An empty folder for nodes' logs."""
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder
