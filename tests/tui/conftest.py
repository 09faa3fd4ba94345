"""Times of day are those of one place."""

import time
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        patch.delenv("NO_COLOR", raising=False)
        time.tzset()
        yield
    time.tzset()
