"""The view of conversations: a list of them, the messages of one, and an input box."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import OptionList, TextArea

from tinyssb_node.catalog.rows import PUBLIC, ConversationRow, MessageKind, MessageRow, PersonRow, is_group
from tinyssb_node.content.time_order import right_behind
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.arriving_words import arriving_in_words
from tinyssb_node.screens.chatlines import displayed_text
from tinyssb_node.screens.gaps import gap_in_words
from tinyssb_node.screens.group_conversations import MUTED, GroupConversation, lacking_in_words
from tinyssb_node.screens.holders_text import last_of_each
from tinyssb_node.screens.inbox import latest_places
from tinyssb_node.screens.languages import message, t, tn
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.safetext import one_line, safe
from tinyssb_node.tui import limits, lines
from tinyssb_node.tui.actions import NodeAction, ShowPage
from tinyssb_node.tui.group_menu import GroupMenu
from tinyssb_node.tui.screen_state import ScreenRequest, ScreenSource, ScreenState
from tinyssb_node.tui.views import ScreenView
from tinyssb_node.tui.widgets import LineBox, MessageInput, Picker, Question, Row, RowList, TextLine


@dataclass(frozen=True, slots=True)
class MessageTarget:
    """The destination of a message that is being written."""

    conversation: str | None
    """A conversation; None: a private one without messages yet."""
    people: tuple[FeedId, ...] = ()
    """Its readers, if there is no conversation yet."""
    answered: MessageRow | None = None
    """The message that is answered."""


class ConversationsView(ScreenView):
    """Conversations, messages, and an input box."""

    KEYS = message("w write  r reply  o groups  Enter details  Tab list")
    WRITING_KEYS = message("Enter send  ^J new line  Esc back, text is kept")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "write", show=False),
        Binding("r", "reply", show=False),
        Binding("o", "group", show=False),
        Binding("a", "attach", show=False),
        Binding("s", "save", show=False),
        Binding("t", "thread", show=False),
        Binding("slash", "search", show=False),
        Binding("escape", "drop", show=False),
    ]

    class Opened(Message):
        """A request to show another part of the conversations."""

        def __init__(self, asked: ScreenRequest) -> None:
            super().__init__()
            self.asked = asked

    class Seen(Message):
        """A note that the messages of a conversation are on the screen."""

        def __init__(self, seen: dict[str, int]) -> None:
            super().__init__()
            self.seen = seen
            """The last arrival, by conversation."""

    def __init__(self, id: str, pause_s: float | None) -> None:  # noqa: A002 - Textual's own name for it
        """Create the view; *pause_s*: seconds without typing before the cost of a text is requested; None: never."""
        super().__init__(id)
        self._pause_s = pause_s
        self._conversation = PUBLIC
        """The one that was opened; until the next look another may still be shown."""
        self._target = MessageTarget(PUBLIC)
        self._holds = 0
        """Actions under way that need the text in the box."""
        self._seen: dict[str, int] | None = None
        """The last arrival that the user has seen, by conversation."""
        self._typing: Timer | None = None
        """Asks for the cost when the user pauses."""
        self._older = 0
        """How many older messages arrived in the open conversation since the user last looked."""

    def compose(self) -> ComposeResult:
        """Yield two lists side by side, the box below the right one."""
        with Horizontal():
            yield RowList("conversations")
            with Vertical(id="said"):
                yield TextLine("above")
                yield RowList("messages", to_end=True)
                yield TextLine("to")
                yield MessageInput("compose")
                yield TextLine("cost")

    @property
    def keys(self) -> str:
        """Keys that work now."""
        return self.WRITING_KEYS if self.query_one(MessageInput).has_focus else self.KEYS

    def begin(self) -> None:
        """Take the focus."""
        self.query_one("#messages", RowList).focus()

    def on_mount(self) -> None:
        """Show no cost before there is a text."""
        self._show_cost("")

    # --- Drawing ------------------------------------------------------------------------------------------------------

    def draw(self, sight: ScreenState) -> None:
        """Draw both lists and the target of the text."""
        names = sight.names
        self._note_seen(sight)
        rows = self.query_one("#conversations", RowList)
        rows.show([(one.name, self._drawn(one, sight, names, rows.room)) for one in sight.rooms])
        self._draw_messages(sight, names)
        self._draw_target(names)

    def _drawn(self, row: ConversationRow, sight: ScreenState, names: DisplayNames, width: int) -> Content:
        place = None if row.last is None else row.last.placed
        muted = isinstance(row, GroupConversation) and row.muted
        new = not muted and place is not None and place > (self._seen or {}).get(row.name, -1)
        return lines.conversation(
            row, names, new=new, chosen=row.name == sight.asked.conversation, now_us=sight.now_us, width=width
        )

    def _note_seen(self, sight: ScreenState) -> None:
        """Mark messages as seen that are on the screen; without marks also those there when the screen started."""
        latest = latest_places(sight.rooms)
        if self._seen is None and sight.conversations:
            self._seen = latest if sight.read is None else dict(sight.read)
        conversation, latest_shown = sight.asked.conversation, sight.asked.before is sight.asked.after is None
        if self._seen is None or not self.display or not latest_shown or not sight.messages:
            return
        place = latest.get(conversation, 0)
        if place > self._seen.get(conversation, 0):
            self._older += sight.older
            self._seen[conversation] = place
            self.post_message(self.Seen({conversation: place}))

    def _draw_messages(self, sight: ScreenState, names: DisplayNames) -> None:
        rows = self.query_one("#messages", RowList)
        known = {**sight.referred, **{row.id: row for row in sight.messages}}
        holders = last_of_each([one.row.id for one in sight.shown], sight.holders)
        shown: list[Row] = []
        above: MessageRow | None = None
        for one in sight.shown:
            row = one.row
            content = lines.message(
                row,
                names,
                gap="" if one.gap is None else gap_in_words(one.gap, names),
                above=above,
                known=known,
                holders=holders.get(row.id),
                now_us=sight.now_us,
                width=rows.room,
            )
            shown.append((row.id.hex(), content))
            above = row
        rows.show(shown)
        self.query_one("#above", TextLine).put(self._above(sight, names))

    def _above(self, sight: ScreenState, names: DisplayNames) -> Content:
        title = next(
            (
                lines.conversation_title(row, names, limits.ID_DIGITS)
                for row in sight.rooms
                if row.name == sight.asked.conversation
            ),
            t("everybody") if sight.asked.conversation == PUBLIC else "",
        )
        notes = [room.note for room in sight.groups if room.note and room.name == sight.asked.conversation]
        alerts = [room.alert for room in sight.groups if room.alert and room.name == sight.asked.conversation]
        notes += [t("{event}: press o", event=alert) for alert in alerts]
        lacking = [room.lacking for room in sight.groups if room.name == sight.asked.conversation]
        notes += filter(None, (lacking_in_words(count, sight.shown) for count in lacking))
        notes += [t(MUTED) for room in sight.groups if room.muted and room.name == sight.asked.conversation]
        if sight.asked.before is not None or sight.asked.after is not None:
            notes.append(t("earlier messages: End shows the latest"))
        if not sight.messages:
            notes.append(t("no messages yet: press w to write"))
        if self._older:
            notes.append(
                tn(
                    self._older,
                    "{n} older message arrived further up",
                    "{n} older messages arrived further up",
                )
            )
        if sight.arriving and sight.asked.conversation == PUBLIC:
            notes.append(t("arriving: {words}", words=arriving_in_words(sight.arriving[0], names)))
        if sight.waiting:
            notes.append(
                tn(len(sight.waiting), "{n} waiting for earlier messages", "{n} waiting for earlier messages")
            )
        return Content.styled(one_line(" " + "; ".join([title, *notes]), self.size.width), "bold")

    def _draw_target(self, names: DisplayNames) -> None:
        target = self._target
        if target.answered is not None:
            who = lines.name_of(target.answered.feed, names)
            to = t("reply to {name}: {message}", name=who, message=displayed_text(target.answered))
        elif target.conversation == PUBLIC:
            to = t("to everybody")
        elif target.conversation is not None and is_group(target.conversation):
            to = t("to the group {name}", name=self._group(target.conversation))
        else:
            to = t("private, to {people}", people=self._readers(target, names))
        if closed := self._why_closed(target.conversation):
            to = t("you cannot write to this group: {reason}", reason=closed)
        self.query_one("#to", TextLine).put(one_line(f"> {to}", max(self.query_one("#to").size.width, 2)))

    def _group(self, conversation: str) -> str:
        rooms = () if self.sight is None else self.sight.groups
        title = next((room.title for room in rooms if room.name == conversation), None)
        return lines.group_title(title, conversation)

    def _readers(self, target: MessageTarget, names: DisplayNames) -> str:
        rows = () if self.sight is None else self.sight.conversations
        people: Sequence[FeedId] = next(
            (row.members for row in rows if row.name == target.conversation), target.people
        )
        return lines.names_of(people, names, limits.ID_DIGITS) or t("myself")

    # --- Reading ------------------------------------------------------------------------------------------------------

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Open the selected conversation."""
        event.stop()
        chosen = event.option_id if event.option_list.id == "conversations" else None
        if chosen is not None and chosen != self._conversation:
            self._open(chosen)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Handle Enter: go from a conversation to its messages, from a message to its details."""
        event.stop()
        if event.option_list.id == "conversations":
            self.begin()
        elif (row := self._chosen()) is not None and self.sight is not None:
            names = self.sight.names
            person = next((one for one in self.sight.people if one.feed == row.feed), None)
            page = lines.message_page(row, names, person, self.sight.holders.get(row.id))
            self.post_message(ShowPage(f" {t('Message')}", page))

    def on_row_list_beyond(self, event: RowList.Beyond) -> None:
        """Show messages before or after those at hand; half of these stay."""
        event.stop()
        sight = self.sight
        if event.rows.id != "messages" or sight is None or len(sight.messages) < 2:
            return
        asked, latest = sight.asked, sight.asked.before is None and sight.asked.after is None
        middle = sight.messages[len(sight.messages) // 2].order
        whole = len(sight.messages) == limits.MESSAGES_MAX
        if event.up and (whole or asked.after is not None):
            self.post_message(self.Opened(ScreenRequest(conversation=asked.conversation, before=middle)))
        elif not event.up and not latest:
            after = middle if whole and not event.far else None
            self.post_message(self.Opened(ScreenRequest(conversation=asked.conversation, after=after)))

    def _open(self, conversation: str) -> None:
        self._conversation, self._target, self._older = conversation, MessageTarget(conversation), 0
        self.post_message(self.Opened(ScreenRequest(conversation=conversation)))

    def _chosen(self) -> MessageRow | None:
        chosen = self.query_one("#messages", RowList).chosen
        messages = () if self.sight is None else self.sight.shown
        return next((one.row for one in messages if one.row.id.hex() == chosen), None)

    # --- Writing ------------------------------------------------------------------------------------------------------

    def write_to(self, person: PersonRow) -> None:
        """Write to one person, in the conversation with only them if there is one."""
        if self.sight is None:
            return
        for row in self.sight.conversations:
            if row.name != PUBLIC and {*row.members} - self._own() == {person.feed}:
                self._open(row.name)
                break
        else:
            self._target = MessageTarget(None, (person.feed,))
        self._edit()

    def _why_closed(self, conversation: str | None) -> str:
        """Return why the user cannot write to a conversation; empty if they can."""
        groups = () if self.sight is None else self.sight.groups
        return next((one.note for one in groups if one.name == conversation), "")

    def action_write(self) -> None:
        """Write to the open conversation."""
        if not self._why_closed(self._conversation):
            self._target = MessageTarget(self._conversation)
            self._edit()

    def action_reply(self) -> None:
        """Answer the selected message."""
        row = self._chosen()
        if row is not None and row.placed is not None and not self._why_closed(row.conversation):
            self._target = MessageTarget(row.conversation, answered=row)
            self._edit()

    def action_group(self) -> None:
        """Show what can be done with the open group, or with groups."""
        if self.sight is not None:
            room = next((one for one in self.sight.groups if one.name == self._conversation), None)
            GroupMenu(self, self.sight, room).open()

    def action_search(self) -> None:
        """Search for words in all messages, those of groups, too."""

        def search(words: str | None) -> None:
            if words is not None:
                self.post_message(NodeAction(lambda node: node.search(words), "", self._show_found))

        self.app.push_screen(LineBox(f" {t('Search: words, or their beginnings; all must occur')}"), search)

    def _show_found(self, found: object) -> None:
        assert isinstance(found, tuple)
        messages, in_groups = found
        sight = self.sight
        if sight is None:
            return
        rooms = {row.name: row for row in sight.rooms}
        rows = {row.id.hex(): row for row in messages if row.conversation is not None}
        width = max(self.size.width - 2, 12)
        shown: list[Row] = [
            (key, lines.found(row, rooms.get(row.conversation), sight.names, sight.now_us, width))
            for key, row in rows.items()
        ]
        left = "" if in_groups else f"; {t('groups were not searched: no daemon answers')}"
        page = Picker(f" {t('Found {n}', n=len(shown))}{left}", shown)
        self.app.push_screen(page, lambda keys: self._open_at(rows[keys[0]]) if keys else None)

    def _open_at(self, row: MessageRow) -> None:
        """Open the conversation of a message, so that it is the last one shown: End leads to the latest."""
        self._conversation = row.conversation or PUBLIC
        self._target = MessageTarget(self._conversation)
        before = right_behind(row.order) if row.order else None
        self.post_message(self.Opened(ScreenRequest(conversation=self._conversation, before=before)))

    def action_thread(self) -> None:
        """Show the selected message with what it answers and all answers."""
        row, conversation = self._chosen(), self._conversation
        if row is None:
            return

        def show(page: object) -> None:
            assert isinstance(page, str)
            self.post_message(ShowPage(f" {t('Thread')}", page))

        self.post_message(NodeAction(lambda node: node.thread(conversation, row.id), "", show))

    def action_save(self) -> None:
        """Save the selected file."""
        row = self._chosen()
        if row is not None and row.kind is MessageKind.FILE:
            conversation = self._conversation
            self.post_message(NodeAction(lambda node: node.save_file(conversation, row.id), None))

    def action_attach(self) -> None:
        """Send a file to the open conversation."""
        if self.sight is not None and not self._why_closed(self._conversation):
            GroupMenu(self, self.sight, None).send_file(self._conversation)

    def action_drop(self) -> None:
        """Cancel an answer, and close what is open over the view."""
        self._target = MessageTarget(self._conversation)
        if self.sight is not None:
            self.draw(self.sight)

    def on_message_input_left(self) -> None:
        """Return to the messages."""
        self.begin()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Ask for the cost of the text when the user pauses, and show it below the box."""
        event.stop()
        if self._typing is not None:
            self._typing.stop()
        self._show_cost("")
        if self._pause_s is not None and event.text_area.text.strip():
            self._typing = self.set_timer(self._pause_s, self._ask_cost)

    def _ask_cost(self) -> None:
        target, text = self._target, self.query_one(MessageInput).text.rstrip()
        answered = None if target.answered is None else target.answered.id

        def show(words: object) -> None:
            if self._target == target and self.query_one(MessageInput).text.rstrip() == text:
                self._show_cost(str(words))

        def ask(node: ScreenSource) -> str:
            return node.cost_words(text, target.conversation, target.people, answered)

        if text and not self._holds and not self._why_closed(target.conversation):
            self.post_message(NodeAction(ask, "", show))

    def _show_cost(self, words: str) -> None:
        line = self.query_one("#cost", TextLine)
        line.set_class(not words, "nothing")
        line.put(one_line(f"  {words}", max(line.size.width or self.size.width, 2)))

    def on_message_input_sent(self, event: MessageInput.Sent) -> None:
        """Publish the text, a big one if the user agrees to its cost; it stays in the box until that is done."""
        event.stop()
        target, text = self._target, event.text
        answered = None if target.answered is None else target.answered.id

        def asked(question: object) -> None:
            assert isinstance(question, list)
            if not question:
                self._publish(target, text)
                return
            page = Question(f" {t('Publish it?')}", Content("\n".join(map(safe, question))))
            self.app.push_screen(page, lambda agreed: self._publish(target, text) if agreed else None)

        self._hold()
        self.post_message(
            NodeAction(
                lambda node: node.cost_question(text, target.conversation, target.people, answered),
                "",
                asked,
                self._released,
            )
        )

    def _publish(self, target: MessageTarget, text: str) -> None:
        def publish(node: ScreenSource) -> str:
            if target.conversation is None:
                return node.tell(target.people, text)
            node.say(target.conversation, text, None if target.answered is None else target.answered.id)
            return target.conversation

        self._hold()
        self.post_message(
            NodeAction(publish, t("Published: the message is on the disk."), self._published, self._released)
        )

    def _published(self, conversation: object) -> None:
        self.query_one(MessageInput).clear()
        assert isinstance(conversation, str)
        self._open(conversation)

    def _hold(self) -> None:
        """Keep the text as it is until it was published."""
        self._holds += 1
        self.query_one(MessageInput).read_only = True

    def _released(self) -> None:
        self._holds -= 1
        self.query_one(MessageInput).read_only = self._holds > 0

    def _edit(self) -> None:
        box = self.query_one(MessageInput)
        # At once, because the next keys are meant for the box; and again later, if this view is just being shown.
        self.screen.set_focus(box)
        box.focus()
        if self.sight is not None:
            self._draw_target(self.sight.names)

    def _own(self) -> set[FeedId]:
        people = () if self.sight is None else self.sight.people
        return {one.feed for one in people if one.own}
