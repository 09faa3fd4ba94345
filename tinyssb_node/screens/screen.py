"""What is known of the terminal that is printed to."""

import os
import sys

from tinyssb_node.screens import limits


def width() -> int | None:
    """Cells of a line; None if standard output is no terminal: other programs get whole lines."""
    if not sys.stdout.isatty():
        return None
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        found = limits.SCREEN_CELLS
    return max(limits.SCREEN_CELLS_MIN, found or limits.SCREEN_CELLS)


def can_draw(glyphs: str) -> bool:
    """Can standard output carry *glyphs*?"""
    try:
        glyphs.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
