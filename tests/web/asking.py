"""Questions to a served page, over sockets."""

import http.client
import json
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    """A response."""

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
