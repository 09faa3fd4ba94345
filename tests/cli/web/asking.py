"""Questions to a served page, over sockets."""

import http.client
import json
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    """Names in small letters."""
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


def ask(
    address: str,
    path: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """One request on a connection of its own."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        with connection.getresponse() as answer:
            return Answer(
                answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
            )
    finally:
        connection.close()


def post(address: str, path: str, content: Any, **headers: str) -> Answer:
    """A request of the page's own kind; underscores in names of *headers* stand for hyphens."""
    given = {"content-type": "application/json", "origin": address} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return ask(address, path, method="POST", body=json.dumps(content).encode(), headers=given)


class Events:
    """A listening page: reads server-sent events off a socket."""

    def __init__(self, address: str, **headers: str) -> None:
        place = urlsplit(address)
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
        self._connection.request("GET", "/api/events", headers=headers)
        self._answer = self._connection.getresponse()
        self.status = self._answer.status

    def next(self, kind: str = "change") -> dict[str, Any]:
        """Data of the next event of this kind."""
        name = ""
        for raw in self._answer:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: ") and name == kind:
                found: dict[str, Any] = json.loads(line.removeprefix("data: "))
                return found
        raise AssertionError(f"the stream ended before a {kind} came")

    def close(self) -> None:
        """Leave."""
        self._answer.close()
        self._connection.close()
