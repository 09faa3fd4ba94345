"""Serves the page over the story: ``python -m tests.spark_sink.page.serve_story [--port N]``."""

import argparse
import contextlib
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from spark_sink.page import server
from spark_sink.page.tiles import Tiles
from tests.spark_sink.page.story import Story


@contextlib.contextmanager
def serving(
    name: str,
    *,
    port: int = 0,
    token: str | None = None,
    tls: server.TlsFiles | None = None,
    tiles: Tiles | None = None,
    map_file: Path | None = None,
    caption: Path | None = None,
) -> Iterator[str]:
    """The real server in a thread of its own; gives its address, ends it on leaving."""
    with server.bind("127.0.0.1", port) as listener:
        running = server.make_server(
            name,
            host="127.0.0.1",
            token=token,
            tls=tls,
            tiles=tiles,
            map_file=map_file,
            caption=caption,
        )
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield server.page_address(listener, tls=tls is not None).rstrip("/")
        finally:
            running.should_exit = True
            thread.join(timeout=10)
    assert not thread.is_alive()


def announce(address: str) -> None:
    """Say where the page is."""
    sys.stdout.write(f"The page is at {address}\n")
    sys.stdout.flush()


def main() -> int:
    """Make the story's database in a folder that goes at the end, and serve it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8766)
    port = parser.parse_args().port
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "story.sqlite"
        Story().write(database)
        server.serve(str(database), host="127.0.0.1", port=port, announce=announce)
    return 0


if __name__ == "__main__":
    sys.exit(main())
