"""The real server of the page, in a thread of its own."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from spark_sink.dashboard import app


@contextlib.contextmanager
def serving(database: Path, *, port: int = 0) -> Iterator[str]:
    """Serve the page over the database, on a free port unless told; gives its address, ends the server on leaving."""
    with app.bind("127.0.0.1", port) as listener:
        server = app.make_server(database, host="127.0.0.1")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield app.page_address(listener).rstrip("/")
        finally:
            server.should_exit = True
            thread.join(timeout=10)
    assert not thread.is_alive()
