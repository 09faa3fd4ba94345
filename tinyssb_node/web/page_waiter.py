"""Program that waits in place of a page that nobody looks at, with a tenth of its memory.

It imports nothing of ours, since it is run by itself: ``page_waiter.py LISTENER WATCHED ARGUMENT...``.
*LISTENER* is the number of the listening socket, *WATCHED* 1 if standard input is watched. At a connection the process
becomes Python with these arguments, which accepts it.
"""

import os
import select
import signal
import sys


def main(arguments: list[str]) -> None:
    """Wait. Returns if standard input is watched and ends: the daemon has ended."""
    number, watched, *python_arguments = arguments
    listener = int(number)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sources = [listener, 0] if watched == "1" else [listener]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if listener in ready:
            os.execv(sys.executable, [sys.executable, *python_arguments])  # noqa: S606 - the page's own command line
        if not os.read(0, 4_096):
            return


if __name__ == "__main__":
    main(sys.argv[1:])
