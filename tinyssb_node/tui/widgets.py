"""Parts of the screen that know nothing of messages: a list that keeps its place, an input box, a page to read."""

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from tinyssb_node.screens.languages import message, t
from tinyssb_node.tui import limits

Answer = TypeVar("Answer")
Row = tuple[str, Content]
"""The key of a row, which no other row has, and its display."""


class TextLine(Static):
    """A line of text, drawn only when it has changed: some terminals have slow lines."""

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes, markup=False)
        self._said = Content()

    def put(self, content: Content | str) -> None:
        """Show *content*, without parsing markup."""
        new = Content(content) if isinstance(content, str) else content
        if not new.is_same(self._said):
            self._said = new
            self.update(new)


class RowList(OptionList):
    """A list whose rows can all be replaced while its user reads: the selected row stays selected."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "cursor_up", show=False),
        Binding("j", "cursor_down", show=False),
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
    ]

    class Beyond(Message):
        """A request to go beyond the first or the last row."""

        def __init__(self, rows: "RowList", *, up: bool, far: bool = False) -> None:
            super().__init__()
            self.rows = rows
            self.up = up
            self.far = far
            """To the very end, not just one step."""

    def __init__(self, id: str, *, to_end: bool = False, choosing: bool = True) -> None:  # noqa: A002 - Textual's own name for it
        """Create a list; *to_end*: while the last row is selected, the selection follows new rows. *choosing*: rows can
        be selected, so that the selected one is marked."""
        super().__init__(id=id, markup=False, compact=True)
        self._to_end = to_end
        self._choosing = choosing
        self._shown: Sequence[Row] = ()

    @property
    def chosen(self) -> str | None:
        """The key of the selected row; None: there are no rows."""
        return None if self.highlighted is None else self._shown[self.highlighted][0]

    @property
    def room(self) -> int:
        """Cells of a row, without the scroll bar's, which keeps its column."""
        # Before a list has its size, and where a window is hardly open.
        return max(self.scrollable_content_region.width, 12)

    def show(self, rows: Sequence[Row]) -> None:
        """Replace all rows; nothing is drawn if they are the same."""
        if rows == self._shown:
            return
        before, place = self.chosen, self.highlighted or 0
        at_end = self._to_end and (self.highlighted is None or place == len(self._shown) - 1)
        self._shown = rows
        with self.app.batch_update(), self.prevent(OptionList.OptionHighlighted):
            self.set_options(Option(content, id=name) for name, content in rows)
            if rows:
                names = [name for name, _ in rows]
                kept = names.index(before) if before in names else min(place, len(rows) - 1)
                self.highlighted = len(rows) - 1 if at_end else kept

    def render_line(self, y: int) -> Strip:
        """Render one line; the selected row in reverse, which any terminal can show."""
        strip = super().render_line(y)
        if (
            self._choosing
            and self.has_focus
            and any(part.style and part.style.meta.get("option") == self.highlighted for part in strip)
        ):
            return strip.apply_style(Style(reverse=True))
        return strip

    def choose(self, name: str) -> None:
        """Select a row by its key; do nothing if there is none."""
        for index, (known, _) in enumerate(self._shown):
            if known == name:
                self.highlighted = index

    def action_cursor_up(self) -> None:
        """Go one row up, without wrapping around."""
        self._move(up=True)

    def action_cursor_down(self) -> None:
        """Go one row down, without wrapping around."""
        self._move(up=False)

    def action_last(self) -> None:
        """Go to the last row, and to later ones that are not loaded."""
        super().action_last()
        self.post_message(self.Beyond(self, up=False, far=True))

    def _move(self, *, up: bool) -> None:
        edge = 0 if up else len(self._shown) - 1
        if self.highlighted is None or self.highlighted == edge:
            self.post_message(self.Beyond(self, up=up))
        elif up:
            super().action_cursor_up()
        else:
            super().action_cursor_down()


class MessageInput(TextArea):
    """An input box. Enter sends, Ctrl-J starts a new line, Esc leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", show=False, priority=True),
        Binding("ctrl+j", "new_line", show=False, priority=True),
        Binding("escape", "leave", show=False),
    ]

    class Sent(Message):
        """A request to send this text. It stays in the box until it was sent."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """A request to leave the box."""

    class Refused(Message):
        """A note that a pasted text is too long and was not inserted."""

        def __init__(self, length: int) -> None:
            super().__init__()
            self.length = length

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(
            id=id, compact=True, highlight_cursor_line=False, theme="css", placeholder=t("Press w to write")
        )
        self.cursor_blink = False

    def action_send(self) -> None:
        """Send the text, if there is any."""
        if self.text.strip() and not self.read_only:
            self.post_message(self.Sent(self.text.rstrip()))

    def action_new_line(self) -> None:
        """Start a new line."""
        self.insert("\n")

    def action_leave(self) -> None:
        """Leave, and keep the text."""
        self.post_message(self.Left())

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert the visible characters of a paste: an escape sequence in it would reach the terminal."""
        event.prevent_default()
        event.stop()
        if len(event.text) > limits.PASTE_MAX:
            self.post_message(self.Refused(len(event.text)))
        elif not self.read_only:
            taken = event.text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
            self.insert("".join(char for char in taken if char.isprintable() or char == "\n"))


class ReadingScreen(ModalScreen[Answer]):
    """A text to read, over everything else, with the keys that end it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
    ]
    KEYS: ClassVar[str]
    """The line that names the keys."""

    def __init__(self, title: str, text: Content) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """Yield a title, the text, the keys."""
        yield Static(Content.styled(self._title, "bold underline"), id="head")
        with VerticalScroll(id="page"):
            yield Static(self._text)
        yield Static(f" {t(self.KEYS)}", id="keys", markup=False)

    def action_scroll(self, lines: int) -> None:
        """Scroll down by *lines*."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class TextPage(ReadingScreen[None]):
    """A text to read, over everything else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "close", show=False),
    ]
    KEYS: ClassVar[str] = message("Esc close  ↑↓ scroll")

    def action_close(self) -> None:
        """Close the page."""
        self.dismiss(None)


class Picker(ModalScreen[tuple[str, ...] | None]):
    """A list to choose one or several rows from, over everything else. Its answer: their keys; None: cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "cancel", show=False),
        Binding("space", "mark", show=False),
    ]

    def __init__(self, title: str, rows: Sequence[Row], *, many: bool = False) -> None:
        """Create a list; *many*: Space marks rows, and Enter gives all marked ones, or the selected one if none is."""
        super().__init__()
        self._title = title
        self._rows = rows
        self._many = many
        self._marked: set[str] = set()

    def compose(self) -> ComposeResult:
        """Yield a title, the rows, the keys."""
        keys = t("Space mark  Enter done  Esc cancel") if self._many else t("Enter choose  Esc cancel")
        yield Static(Content.styled(self._title, "bold underline"), id="head")
        yield RowList("picks")
        yield Static(f" {keys}", id="keys", markup=False)

    def on_mount(self) -> None:
        """Show the rows."""
        self._draw()
        self.query_one(RowList).focus()

    def _draw(self) -> None:
        self.query_one(RowList).show(
            [
                (
                    key,
                    Content.assemble(("[x] " if key in self._marked else "[ ] ") if self._many else " ", row),
                )
                for key, row in self._rows
            ]
        )

    def action_mark(self) -> None:
        """Mark the selected row, or remove its mark."""
        chosen = self.query_one(RowList).chosen
        if self._many and chosen is not None:
            self._marked ^= {chosen}
            self._draw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the marked rows, or the selected one."""
        event.stop()
        marked = tuple(key for key, _ in self._rows if key in self._marked)
        self.dismiss(marked or ((event.option_id,) if event.option_id is not None else None))

    def action_cancel(self) -> None:
        """Close the list without an answer."""
        self.dismiss(None)


class Question(ReadingScreen[bool | None]):
    """A text with a question whether to go on, over everything else. Its answer: True; None: no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "agree", show=False),
        Binding("escape,n,q", "refuse", show=False),
    ]
    KEYS: ClassVar[str] = message("y yes, do it  Esc no: nothing is written")

    def action_agree(self) -> None:
        """Go on. Enter does not: it is the key by which the page before was left."""
        self.dismiss(True)

    def action_refuse(self) -> None:
        """Do nothing."""
        self.dismiss(None)


class LineBox(ModalScreen[str | None]):
    """A box for one text, over everything else. Its answer: the text; None: cancelled."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        """Yield a title, the box, the keys."""
        yield Static(Content.styled(self._title, "bold underline"), id="head")
        yield MessageInput("line")
        yield Static(f" {t('Enter done  Esc cancel')}", id="keys", markup=False)

    def on_mount(self) -> None:
        """Take the keys."""
        self.query_one(MessageInput).focus()

    def on_message_input_sent(self, event: MessageInput.Sent) -> None:
        """Give the text."""
        event.stop()
        self.dismiss(event.text)

    def on_message_input_left(self, event: MessageInput.Left) -> None:
        """Close the box without an answer."""
        event.stop()
        self.dismiss(None)
