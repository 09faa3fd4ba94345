"""Questions to a database, straight to the queries and over sockets."""

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from spark_sink.page.reader import ReconnectingReader
from spark_sink.page.scope import Question


@contextmanager
def opened(name: str) -> Iterator[ReconnectingReader]:
    """A source that is closed at the end."""
    source = ReconnectingReader(name)
    try:
        yield source
    finally:
        source.close()


def ask(path: Path | str, view: str, **asked: Any) -> dict[str, Any]:
    """The answer of a view."""
    with opened(str(path)) as source:
        return source.ask(view, Question(**asked))


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are looked at, and not followed."""

    def redirect_request(self, *_args: object) -> None:
        """Follow none."""


def get(address: str, headers: dict[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (lower case) and body, whatever the status."""
    opener = urllib.request.build_opener(NoRedirect)
    try:
        with opener.open(urllib.request.Request(address, headers=headers or {}), timeout=10) as answer:
            return (
                answer.status,
                {name.lower(): value for name, value in answer.headers.items()},
                answer.read(),
            )
    except HTTPError as error:
        with error:
            return error.code, {name.lower(): value for name, value in error.headers.items()}, error.read()
