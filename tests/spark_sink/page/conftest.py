"""The story, told once for all tests that only read it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark_sink.page.serve_story import serving
from tests.spark_sink.page.story import Story


@pytest.fixture(scope="package")
def story() -> Story:
    return Story()


@pytest.fixture(scope="package")
def database(story: Story, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("story") / "story.sqlite"
    story.write(path)
    return path


@pytest.fixture(scope="package")
def address(database: Path) -> Iterator[str]:
    with serving(str(database)) as address:
        yield address
