"""What a view asks of the application: something to do by the node, or a page to read."""

from collections.abc import Callable

from textual.message import Message

from tinyssb_node.tui.screen_state import ScreenSource


class NodeAction(Message):
    """Something for the node to do, off the thread that draws."""

    def __init__(
        self,
        do: Callable[[ScreenSource], object],
        done: str,
        then: Callable[[object], None] | None = None,
        after: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.do = do
        """Called by the thread that writes; what it raises as LocalError is told."""
        self.done = done
        """What is said when it is done; unescaped."""
        self.then = then
        """Called with what *do* gave, by the thread that draws; not if it failed."""
        self.after = after
        """Called by the thread that draws when it was done, and when it failed."""


class ShowPage(Message):
    """A text to read, over everything else."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.title = title
        self.text = text
        """Unescaped."""
