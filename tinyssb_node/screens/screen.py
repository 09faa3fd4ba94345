"""The terminal: its properties, and questions on it."""

import os
import sys
from typing import Final

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens import limits
from tinyssb_node.screens.languages import t

_SCREEN_CELLS: Final = 80  # of a terminal that does not report its width


def width() -> int | None:
    """Return the cells of a line; None if standard output is not a terminal: other programs get whole lines."""
    if not sys.stdout.isatty():
        return None
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        found = _SCREEN_CELLS
    return max(limits.SCREEN_CELLS_MIN, found or _SCREEN_CELLS)


def can_draw(glyphs: str) -> bool:
    """Return whether standard output can encode *glyphs*."""
    try:
        glyphs.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def is_interactive() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin.isatty()


def confirm(question: str, *, kept: str, otherwise: str) -> bool:
    """Ask a yes-or-no question. Raises ProblemError if there is no terminal: *kept* and *otherwise* are its
    sentences."""
    if not is_interactive():
        raise ProblemError(
            f"{t('There is no terminal to confirm this on.')} {kept}", otherwise, exit_code=ExitCode.USAGE
        )
    yes = t("y")
    print(f"{question} [{yes}/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes", yes, t("yes")}
