"""`demo`: a whole mesh without hardware."""

import argparse
import json
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from tinyssb_node.screens.options import CommandParsers, positive

_PAGE_PORT = 8765
_KEYS = "Enter goes on at once, Ctrl-C ends it."


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "demo", demo, more="Press Enter to go on to the next step at once, and Ctrl-C to end it."
    )
    parser.add_argument(
        "--seconds",
        type=positive,
        metavar="N",
        help="end automatically after about N seconds (240: all acts once)",
    )
    parser.add_argument(
        "--engine",
        choices=("local", "spark"),
        default="local",
        help="what reads the nodes' logs (default: local; spark needs Java 17)",
    )
    parser.add_argument(
        "--folder",
        default=".demo",
        help="the folder for its files (default: .demo; files of an earlier demo are deleted)",
    )
    parser.add_argument(
        "--port", type=positive, default=_PAGE_PORT, help=f"the page's port (default: {_PAGE_PORT})"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON, and nothing else")


def demo(arguments: argparse.Namespace) -> int:
    """Run the demonstration. Return exit code 1 if nodes or tables disagree at the end."""

    from tinyssb_node.cli.demo.mesh import DemoMesh, free_port
    from tinyssb_node.cli.demo.story import DemoStory

    begun_s = time.monotonic()

    def tell(line: str) -> None:
        print(
            f"[{time.monotonic() - begun_s:4.0f} s] {line}",
            file=sys.stderr if arguments.json else sys.stdout,
            flush=True,
        )

    mesh = DemoMesh(Path(arguments.folder).absolute(), free_port(arguments.port), arguments.engine)
    deadline_s = None if arguments.seconds is None else begun_s + arguments.seconds
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        tell(f"Starting five nodes on a modelled LoRa channel, and a page. Files are in {arguments.folder}/.")
        mesh.start()
        tell(f"The page is at {mesh.page}: open it in a browser. {_KEYS}")
        story = DemoStory(mesh, tell, deadline_s, skipped)
        with suppress(KeyboardInterrupt):
            story.run()
        summary = story.end()
    finally:
        mesh.stop()
    if arguments.json:
        print(json.dumps(summary.json()))
    else:
        print(f"\n{summary.text()}\nThe page has ended, too. To look at it again: {mesh.page_again}")
    return 0 if summary.nodes_agree and summary.tables_agree else 1


def skipped() -> bool:
    """Return True if the user pressed Enter since the last call; False where input is no terminal."""
    pressed = False
    while sys.stdin.isatty() and select.select([sys.stdin], [], [], 0)[0]:
        if not sys.stdin.readline():
            break
        pressed = True
    return pressed
