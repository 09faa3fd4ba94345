"""The menu of a group; each change is shown with its cost and its limits before it is made."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget

from tinyssb_node.ids import FeedId
from tinyssb_node.screens.group_changes import GroupAction, GroupChange
from tinyssb_node.screens.group_conversations import NOTES, GroupConversation
from tinyssb_node.screens.safetext import safe
from tinyssb_node.tui import lines
from tinyssb_node.tui.actions import NodeAction, ShowPage
from tinyssb_node.tui.screen_state import ScreenSource, ScreenState
from tinyssb_node.tui.widgets import LineBox, Picker, Question, Row

Answer = TypeVar("Answer")
_SHOW: Final = "show"
_CREATE: Final[Row] = (GroupAction.CREATE.value, Content("Create a new group"))
_DECIDE: Final = "decide"
_FILE: Final = "file"
_MUTE: Final[Row] = (GroupAction.MUTE.value, Content("Mute: do not mark new messages"))
_UNMUTE: Final[Row] = (GroupAction.UNMUTE.value, Content("Unmute: mark new messages again"))
_ERASE_DAYS: Final = (1, 7, 30, 90, 365)
"""Choices of days after which texts are erased; `tinyssb group create` takes any up to 365."""
_LEFT: Final = NOTES["left"]


class GroupMenu:
    """A menu, and the small pages behind its entries, over a view."""

    def __init__(self, view: Widget, sight: ScreenState, group: GroupConversation | None) -> None:
        """*group*: the open one; None: another conversation is open."""
        self._view = view
        self._sight = sight
        self._group = group

    def open(self) -> None:
        """Show the menu."""
        title = (
            " Groups" if self._group is None else f" {lines.group_title(self._group.title, self._group.name)}"
        )
        self._ask(Picker(title, self._entries()), self._chosen)

    def _entries(self) -> list[Row]:
        group = self._group
        if group is None:
            return [_CREATE]
        entries: list[Row] = [(_SHOW, Content("Show who can read what, and what your node will do"))]
        if group.reviews and not group.note:
            entries.append((_DECIDE, Content(f"Decide: {group.alert}")))
        if not group.note:
            entries += [
                (_FILE, Content("Send a file or picture: first shows its size and cost")),
                (GroupAction.ADD.value, Content("Add people")),
                (GroupAction.EXCLUDE.value, Content("Exclude people: first shows the cost and the limits")),
                (GroupAction.RENAME.value, Content("Rename the group")),
                _UNMUTE if group.muted else _MUTE,
                (GroupAction.LEAVE.value, Content("Leave the group")),
            ]
        elif group.note == NOTES["invited"]:
            entries += [
                (GroupAction.ACCEPT.value, Content("Accept: take part in the group")),
                (GroupAction.DECLINE.value, Content("Decline: never take part, whoever adds you")),
            ]
        elif group.note == NOTES["arriving"]:
            entries.append((GroupAction.HISTORY.value, Content("Request the older messages now")))
        elif group.note == _LEFT:
            entries.append((GroupAction.RETURN.value, Content("Take part in the group again")))
        return [*entries, _CREATE]

    def _chosen(self, keys: Sequence[str]) -> None:
        group, (key,) = self._group, keys
        if key == GroupAction.CREATE.value:
            self._ask(LineBox(" Name of the new group; its members can read it"), self._name_given)
            return
        assert group is not None, "other entries are in the menu of a group only"
        if key == _SHOW:
            self._view.post_message(NodeAction(lambda node: node.group_page(group.name), "", self._show_page))
            return
        if key == _DECIDE:
            self._view.post_message(
                NodeAction(lambda node: node.group_decisions(group.name), "", self._pick_decision)
            )
            return
        if key == _FILE:
            self.send_file(group.name)
            return
        action = GroupAction(key)
        if action is GroupAction.RENAME:
            title = " New name; all members see it"
            self._ask(LineBox(title), lambda name: self._preview(_renamed(group, name)))
            return
        if action in {GroupAction.ADD, GroupAction.EXCLUDE}:
            self._pick_people(action, group)
        else:
            self._preview(GroupChange(action=action, group=group.name))

    def _name_given(self, name: str) -> None:
        def create(people: Sequence[FeedId]) -> None:
            rows = [("", Content("Keep them"))]
            rows += [
                (str(days), Content(f"Erase them after {days} day{'s' * (days > 1)}")) for days in _ERASE_DAYS
            ]
            title = " Texts: erased ones can be read by no thief of a device, and not by you"
            self._ask(Picker(title, rows), lambda keys: self._preview(self._new(name, people, keys[0])))

        self._pick(" People in the new group", self._others(()), create)

    def _new(self, name: str, people: Sequence[FeedId], days: str) -> GroupChange:
        erase_days = int(days) if days else None
        return GroupChange(action=GroupAction.CREATE, name=name, people=tuple(people), erase_days=erase_days)

    def _pick_people(self, action: GroupAction, group: GroupConversation) -> None:
        def change(people: Sequence[FeedId]) -> None:
            if people:
                self._preview(GroupChange(action=action, group=group.name, people=tuple(people)))

        if action is GroupAction.ADD:
            self._pick(" Add to the group", self._others(group.members), change)
        else:
            names = self._sight.names
            self._pick(
                " Exclude from the group", [one for one in group.members if not names.is_own(one)], change
            )

    def _others(self, members: Sequence[FeedId]) -> list[FeedId]:
        """Return people who can be added."""
        return [one.feed for one in self._sight.people if not (one.own or one.blocked or one.feed in members)]

    def _pick(self, title: str, feeds: Sequence[FeedId], then: Callable[[Sequence[FeedId]], None]) -> None:
        names = self._sight.names
        rows = [(feed.hex(), Content(names.shown(feed))) for feed in feeds]
        self._ask(Picker(title, rows, many=True), lambda keys: then([FeedId.from_hex(key) for key in keys]))

    def send_file(self, conversation: str) -> None:
        """Ask for a file, show its size and cost, and send it to a conversation if the user agrees."""

        def ask(found: object) -> None:
            assert isinstance(found, tuple)
            draft, told = found
            question = Question(" Send it?", Content("\n".join(safe(line) for line in told)))
            self._ask(question, lambda _: self._act(lambda node: node.send_file(draft)))

        def preview(path: str) -> None:
            self._view.post_message(NodeAction(lambda node: node.file_to_send(conversation, path), "", ask))

        self._ask(LineBox(" File to send: its path"), preview)

    def _pick_decision(self, found: object) -> None:
        assert isinstance(found, list)
        rows = [(str(number), Content(safe(line))) for number, (_, line) in enumerate(found)]
        self._ask(Picker(" Decide", rows), lambda keys: self._preview(found[int(keys[0])][0]))

    def _preview(self, change: GroupChange) -> None:
        """Show the cost and the limits of *change*, and make it if the user agrees."""

        def ask(told: object) -> None:
            assert isinstance(told, list)
            title = f" {change.action.value.replace('_', ' ').capitalize()}?"
            question = Question(title, Content("\n".join(safe(line) for line in told)))
            self._ask(question, lambda _: self._change(change))

        self._view.post_message(NodeAction(lambda node: node.group_preview(change), "", ask))

    def _change(self, change: GroupChange) -> None:
        self._act(lambda node: node.change_group(change))

    def _act(self, do: Callable[[ScreenSource], object]) -> None:
        self._view.post_message(NodeAction(do, None))

    def _show_page(self, page: object) -> None:
        assert isinstance(page, str)
        self._view.post_message(ShowPage(" Group", page))

    def _ask(self, page: ModalScreen[Answer | None], then: Callable[[Answer], None]) -> None:
        def answered(answer: Answer | None) -> None:
            if answer is not None:
                then(answer)

        self._view.app.push_screen(page, answered)


def _renamed(group: GroupConversation, name: str) -> GroupChange:
    return GroupChange(action=GroupAction.RENAME, group=group.name, name=name)
