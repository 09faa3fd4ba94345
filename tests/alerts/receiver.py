"""A webhook's receiver over a real socket."""

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any


class Receiver:
    """Posts that came, and the answer to the next ones."""

    def __init__(self) -> None:
        self.posted: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.targets: list[str] = []
        self.status = 200
        self.address = ""

    def next(self) -> dict[str, Any]:
        """Return the next post."""
        return self.posted.get(timeout=60)


@contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Take posts as long as the block runs."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.targets.append(self.path)
            if receiver.status == 200:
                receiver.posted.put(json.loads(body))
            self.send_response(receiver.status)
            self.send_header("location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        receiver.address = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join(timeout=10)
