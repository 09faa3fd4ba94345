"""The application: one thread reads the node, one writes, and this one only draws."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import ClassVar, Final, TypeVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import ContentSwitcher

from tinyssb_node.errors import LocalError
from tinyssb_node.screens.error_texts import translated
from tinyssb_node.screens.languages import message, number, t
from tinyssb_node.screens.safetext import one_line, safe
from tinyssb_node.tui.actions import NodeAction, ShowPage
from tinyssb_node.tui.conversations_view import ConversationsView
from tinyssb_node.tui.headline import head_line
from tinyssb_node.tui.limits import COST_PAUSE_S, PASTE_MAX
from tinyssb_node.tui.notices import ArrivalCounter
from tinyssb_node.tui.screen_state import ScreenRequest, ScreenSource, ScreenState
from tinyssb_node.tui.views import FacesView, FeedsView, LogView, PeopleView, ScreenView
from tinyssb_node.tui.widgets import MessageInput, TextLine, TextPage

_WIDE: Final = 76  # columns at which names and conversations have all the room they need: 80 less borders
TITLES = (message("Chat"), message("People"), message("Links"), message("Feeds"), message("Log"))
"""Names of the views, in the order of their keys."""

HELP = message("""\
1 to 5         show chat, people, links, feeds, log
Tab            go to the next list, or to the input box
↑ ↓ PgUp PgDn  move; Home and End go to the first and the last (k j g G too)
Enter          show details of the selected line
w              write to the open conversation
r              reply to the selected message
o              group menu: create; show who can read what, send a file, add,
               exclude, leave
a              send a file to the open conversation: first shows its cost
s              save the selected file in the current folder
t              show the selected message with all answers
/              search all messages, those of groups, too
m              write to the selected person, privately (People)
f              follow or unfollow the selected feed (People, Feeds)
b              block or unblock the selected person (People)
p              show or hide packets (Log)
z              show PZP messages
Enter, Ctrl-J  while writing: send, start a new line
Esc            leave the input box (the text is kept), close a page
Ctrl-C, q      quit (q not while writing)

* before a conversation: it has new messages. ↳ before a text: the message
that it answers, if that is not right above. ? behind a name: several
people have it; the digits are the beginning of this person's feed id.
┃ in the bar of a link: the limit set by law.
""")

Given = TypeVar("Given")


class Tui(App[None]):
    """`tinyssb tui`."""

    CSS_PATH = "tui.tcss"
    TITLE = "tinyssb"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"view({number})", show=False) for number in range(1, len(TITLES) + 1)),
        Binding("question_mark", "help", show=False),
        Binding("z", "subjects", show=False),
        Binding("q", "quit", show=False),
        Binding("ctrl+c,ctrl+q", "quit", show=False, priority=True),
    ]

    def __init__(
        self,
        source: ScreenSource,
        *,
        look_s: float | None = 1.0,
        pause_s: float | None = COST_PAUSE_S,
        notify: Callable[[int], None] | None = None,
    ) -> None:
        """Create the application; *look_s*: seconds between two looks at the node; None: only after an action. With one
        a second bars move as one watches, and a Pi Zero has time left. *notify* is called with the number of
        conversations in which messages of others came."""
        super().__init__(ansi_color=True)  # From the beginning: with NO_COLOR, colours are decided here.
        self.animation_level = "none"  # A slow line is better used for text.
        self.asked = ScreenRequest()
        self.sight: ScreenState | None = None
        self._source = source
        self._notify, self._arrivals = notify, ArrivalCounter()
        self._look_s = look_s
        self._pause_s = pause_s
        self._looking, self._writing = ThreadPoolExecutor(1, "look"), ThreadPoolExecutor(1, "write")
        self._wake = asyncio.Event()
        self._wishes = 0
        self._at_work = True

    def compose(self) -> ComposeResult:
        """Yield the status line, the views' names, a view, the last notice, keys."""
        yield TextLine("head")
        yield TextLine("tabs")
        with ContentSwitcher(id="views", initial="view1"):
            yield ConversationsView("view1", self._pause_s)
            yield PeopleView("view2")
            yield FacesView("view3")
            yield FeedsView("view4")
            yield LogView("view5")
        yield TextLine("notice")
        yield TextLine("keys")

    def on_mount(self) -> None:
        """Start to look at the node."""
        self.theme = "ansi-dark"
        self.query_one("#head", TextLine).put(f" tinyssb: {t('reading the store …')}")
        self._show_tabs()
        self._view.begin()
        self.screen.set_class(self.size.width < _WIDE, "narrow")
        self.run_worker(self._look_on(), name="looking")

    async def on_unmount(self) -> None:
        """End both threads in order; one that waits for a silent daemon ends after the screen is gone."""
        ends = [
            asyncio.ensure_future(self._in(self._looking, self._source.end_looking)),
            asyncio.ensure_future(self._in(self._writing, self._source.end_writing)),
        ]
        await asyncio.wait(ends, timeout=1.0)  # while the screen is still there
        for pool in (self._looking, self._writing):
            pool.shutdown(wait=False)

    # --- Looking ------------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """True while the display may be about to change because of an action."""
        return self._at_work or self._wishes > 0 or self._wake.is_set()

    def look_soon(self) -> None:
        """Look at the node again, now or right after the look under way; calls are combined."""
        self._wake.set()

    async def _look_on(self) -> None:
        while True:
            self._wake.clear()
            self._at_work = True
            sight = await self._in(self._looking, lambda: self._source.look(self.asked))
            self._take(sight)
            self._at_work = False
            try:
                async with asyncio.timeout(self._look_s):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _take(self, sight: ScreenState) -> None:
        """Show the node's state, unless another part was requested meanwhile."""
        if sight.asked != self.asked:
            self.look_soon()
            return
        self.sight = sight
        self._show_head(sight)
        self._view.show(sight)
        if not sight.rooms:
            return  # nothing was read yet
        if (count := self._arrivals.look(sight.rooms)) and self._notify is not None:
            self._notify(count)

    async def _in(self, pool: ThreadPoolExecutor, work: Callable[[], Given]) -> Given:
        return await asyncio.get_running_loop().run_in_executor(
            pool, copy_context().run, work
        )  # with its language

    # --- Drawing ------------------------------------------------------------------------------------------------------

    @property
    def _view(self) -> ScreenView:
        return self.query_one(f"#{self.query_one(ContentSwitcher).current}", ScreenView)

    def _show_head(self, sight: ScreenState) -> None:
        head = self.query_one("#head", TextLine)
        head.set_class(sight.away is not None or sight.fault is not None, "away")
        head.put(one_line(head_line(sight), max(self.size.width, 2)))

    def _show_tabs(self) -> None:
        current = self.query_one(ContentSwitcher).current
        tabs: list[str | tuple[str, str]] = [" "]
        for place, title in enumerate(TITLES, 1):
            if current == f"view{place}":
                tabs.append((f"[{place} {t(title)}]", "bold reverse"))
            else:
                tabs.append(f" {place} {t(title)} ")
        self.query_one("#tabs", TextLine).put(Content.assemble(*tabs))

    def _show_keys(self) -> None:
        always = "" if isinstance(self.focused, MessageInput) else t("? help  q quit  1-5 views")
        keys = f" {t(self._view.keys)}  {always}"
        self.query_one("#keys", TextLine).put(keys.ljust(self.size.width))

    def _say(self, text: str) -> None:
        notice = self.query_one("#notice", TextLine)
        notice.put(safe(f" {text}"))
        notice.set_class(bool(text), "shown")

    def on_key(self, event: events.Key) -> None:
        """Put keys into the box that were typed before it had the focus: over a slow line keys come in bunches, and `w`
        with a `q` behind it must not quit."""
        if not isinstance(self.focused, MessageInput):
            return
        if event.key == "enter":
            event.prevent_default()
            self.focused.action_send()
        elif event.is_printable and event.character is not None:
            event.prevent_default()
            self.focused.insert(event.character)

    def on_descendant_focus(self, _: events.DescendantFocus) -> None:
        """Show the keys that work now."""
        self._show_keys()

    def on_resize(self, event: events.Resize) -> None:
        """Draw for the new size."""
        self.screen.set_class(event.size.width < _WIDE, "narrow")
        self.call_after_refresh(self._draw_again)

    def _draw_again(self) -> None:
        self._show_keys()
        if self.sight is not None:
            self._show_head(self.sight)
            self._view.show(self.sight)

    # --- Doing --------------------------------------------------------------------------------------------------------

    def action_view(self, number: int) -> None:
        """Show another view."""
        self.query_one(ContentSwitcher).current = f"view{number}"
        self._show_tabs()
        self._say("")
        self._view.begin()
        self._show_keys()
        self.call_after_refresh(self._draw_again)

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(TextPage(f" {t('Keys')}", Content(t(HELP))))

    def action_subjects(self) -> None:
        """Show the data of optional subjects, such as PZP messages."""

        def show(text: object) -> None:
            self.push_screen(TextPage(f" {t('Other messages')}", Content(safe(str(text)))))

        self.post_message(NodeAction(lambda node: node.subject_text(), "", show))

    def on_show_page(self, event: ShowPage) -> None:
        """Show a page over everything."""
        self.push_screen(TextPage(event.title, Content(safe(event.text))))

    def on_conversations_view_opened(self, event: ConversationsView.Opened) -> None:
        """Show another part of the conversations."""
        self.asked = event.asked
        self.look_soon()

    def on_conversations_view_seen(self, event: ConversationsView.Seen) -> None:
        """Mark messages as read, off this thread."""
        self.run_worker(self._in(self._looking, lambda: self._source.mark_read(event.seen)), name="marking")

    def on_people_view_chosen(self, event: PeopleView.Chosen) -> None:
        """Write to a person."""
        self.action_view(1)
        self.query_one(ConversationsView).write_to(event.person)

    def on_message_input_refused(self, event: MessageInput.Refused) -> None:
        """Say that a pasted text was not inserted."""
        self._say(
            "! "
            + t(
                "The pasted text has {length} characters, and an entry holds {most} at most. Nothing was inserted. "
                "Publish it as a file: tinyssb attach FILE",
                length=number(event.length),
                most=number(PASTE_MAX),
            )
        )

    def on_node_action(self, wish: NodeAction) -> None:
        """Do an action, off this thread."""
        self._wishes += 1
        self.run_worker(self._fulfil(wish), name="doing")

    async def _fulfil(self, wish: NodeAction) -> None:
        try:
            given = await self._in(self._writing, lambda: wish.do(self._source))
        except LocalError as error:
            self._say(f"! {translated(error.message)} {translated(error.hint)}".rstrip())
        else:
            self._say(str(given) if wish.done is None else wish.done)
            if wish.then is not None:
                wish.then(given)
        finally:
            self._wishes -= 1
            if wish.after is not None:
                wish.after()
        self.look_soon()
