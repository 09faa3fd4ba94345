"""A page that listens, without a browser."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit


class Events:
    """Reads server-sent events off a socket."""

    def __init__(self, address: str, **headers: str) -> None:
        place = urlsplit(address)
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
        self._connection.request("GET", "/api/events", headers=headers)
        self.response = self._connection.getresponse()
        self.status = self.response.status

    def next(self, kind: str = "change") -> dict[str, Any]:
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
        self._connection.close()
