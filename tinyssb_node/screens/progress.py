"""Long work on a terminal: a progress bar, and pictures drawn at the end."""

import sys
from collections.abc import Callable
from pathlib import Path

from firmware_bridge.libraries import install_command
from tinyssb_node.errors import ExitCode, ProblemError

_WIDTH = 30
"""Characters of the bar."""


class ProgressBar:
    """A progress bar on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def show(self, share: float, text: str) -> None:
        """Draw it anew."""
        if self._shown:
            done = round(_WIDTH * share)
            bar = "█" * done + "·" * (_WIDTH - done)
            print(f"\r{bar} {share:4.0%} {text}\x1b[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Wipe it away."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def draw(path: Path, plot: Callable[[], None]) -> None:
    """Call *plot*, which draws *path*. Raises ProblemError."""
    try:
        plot()
    except ModuleNotFoundError as error:
        reason = f"{error.name} is not installed ({install_command('plot')})"
        raise ProblemError(
            f"{path} was not drawn: {reason}.",
            "The report is complete without it.",
            exit_code=ExitCode.UNAVAILABLE,
        ) from error
    except (OSError, ValueError) as error:
        raise ProblemError(
            f"{path} was not drawn: {error}.",
            "The report is complete without it.",
            exit_code=ExitCode.UNAVAILABLE,
        ) from error
