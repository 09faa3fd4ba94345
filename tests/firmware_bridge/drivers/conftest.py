"""Drivers are tested on emulated chips, in a loop that skips waits."""

from tests.firmware_bridge.skipping_loop import SkippingLoop


def pytest_asyncio_loop_factories() -> dict[str, type[SkippingLoop]]:
    """One loop for every test here."""
    return {"skipping": SkippingLoop}
