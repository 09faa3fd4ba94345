"""Questions to a database, straight to the queries and over sockets."""

import http.client
import json
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from spark_sink.page.scope import Question
from spark_sink.page.source import opened


def ask(path: Path, view: str, **asked: Any) -> dict[str, Any]:
    """The answer of a view."""
    with opened(str(path)) as source:
        return source.ask(view, Question(**asked))


class Events:
    """A listening page: reads server-sent events off a socket."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self.connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
        self.connection.request("GET", "/api/events")
        self.response = self.connection.getresponse()

    def next(self, kind: str) -> dict[str, Any]:
        """Data of the next event of this kind."""
        name = ""
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: ") and name == kind:
                found: dict[str, Any] = json.loads(line.removeprefix("data: "))
                return found
        raise AssertionError(f"the stream ended before a {kind} came")

    def close(self) -> None:
        """Leave."""
        self.response.close()
        self.connection.close()


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
