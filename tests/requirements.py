"""System packages that some tests need. Where one is missing, the test is skipped with the line that installs it.

With CI=true a missing package fails the test: there a skip would go unseen.
"""

import os
from typing import NoReturn

import pytest

from spark_sink.session import java

JAVA_LINE = "apt-get install openjdk-17-jre-headless"


def require_java() -> None:
    """Skip, or fail in CI, unless Java is there."""
    if java() is None:
        _missing("Java 17", JAVA_LINE)


def _missing(what: str, line: str) -> NoReturn:
    message = f"needs {what}: {line}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
