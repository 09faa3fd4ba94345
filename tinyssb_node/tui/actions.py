"""Requests of a view to the application: an action of the node, or a page to show."""

from collections.abc import Callable

from textual.message import Message

from tinyssb_node.tui.screen_state import ScreenSource


class NodeAction(Message):
    """An action of the node, done off the thread that draws."""

    def __init__(
        self,
        do: Callable[[ScreenSource], object],
        done: str | None,
        then: Callable[[object], None] | None = None,
        after: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.do = do
        """Called by the thread that writes; a LocalError that it raises is shown."""
        self.done = done
        """Shown when it is done; unescaped. None: the result of *do* is shown."""
        self.then = then
        """Called with the result of *do*, by the thread that draws; not if it failed."""
        self.after = after
        """Called by the thread that draws, whether it was done or failed."""


class ShowPage(Message):
    """A text to show over everything else."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.title = title
        self.text = text
        """Unescaped."""
