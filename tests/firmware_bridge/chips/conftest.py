"""Fixtures for tests of chips."""

from collections.abc import Iterator

import pytest

from tests.firmware_bridge.chips.virtual import Air


@pytest.fixture
def air() -> Iterator[Air]:
    """An ether; at the end nothing was asked of a chip that it does not do."""
    air = Air()
    yield air
    air.close()
    assert [station.chip.violations for station in air.stations if station.chip.violations] == []
