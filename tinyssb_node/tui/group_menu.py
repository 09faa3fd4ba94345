"""The menu of a group; each change is shown with its cost and its limits before it is made."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget

from tinyssb_node.ids import FeedId
from tinyssb_node.screens.group_changes import GroupAction, GroupChange
from tinyssb_node.screens.group_conversations import GroupConversation, standing_note
from tinyssb_node.screens.languages import message, t, tn
from tinyssb_node.screens.safetext import safe
from tinyssb_node.tui import lines
from tinyssb_node.tui.actions import NodeAction, ShowPage
from tinyssb_node.tui.screen_state import ScreenSource, ScreenState
from tinyssb_node.tui.widgets import LineBox, Picker, Question, Row

Answer = TypeVar("Answer")
_SHOW: Final = "show"
_DECIDE: Final = "decide"
_FILE: Final = "file"
_ERASE_DAYS: Final = (1, 7, 30, 90, 365)
"""Choices of days after which texts are erased; `tinyssb group create` takes any up to 365."""


_QUESTIONS: Final = {
    GroupAction.CREATE: message("Create?"),
    GroupAction.ADD: message("Add?"),
    GroupAction.EXCLUDE: message("Exclude?"),
    GroupAction.LEAVE: message("Leave?"),
    GroupAction.RETURN: message("Return?"),
    GroupAction.ACCEPT_FORK: message("Accept fork?"),
    GroupAction.REJECT_FORK: message("Reject fork?"),
    GroupAction.ACCEPT: message("Accept?"),
    GroupAction.DECLINE: message("Decline?"),
    GroupAction.RENAME: message("Rename?"),
    GroupAction.MUTE: message("Mute?"),
    GroupAction.UNMUTE: message("Unmute?"),
    GroupAction.HISTORY: message("History?"),
}
"""Titles of the questions before changes."""


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
            f" {t('Groups')}"
            if self._group is None
            else f" {lines.group_title(self._group.title, self._group.name)}"
        )
        self._ask(Picker(title, self._entries()), self._chosen)

    def _entries(self) -> list[Row]:
        group = self._group
        create = _row(GroupAction.CREATE.value, t("Create a new group"))
        if group is None:
            return [create]
        entries: list[Row] = [_row(_SHOW, t("Show who can read what, and what your node will do"))]
        if group.reviews and not group.note:
            entries.append(_row(_DECIDE, t("Decide: {event}", event=group.alert)))
        if not group.note:
            entries += [
                _row(_FILE, t("Send a file or picture: first shows its size and cost")),
                _row(GroupAction.ADD.value, t("Add people")),
                _row(GroupAction.EXCLUDE.value, t("Exclude people: first shows the cost and the limits")),
                _row(GroupAction.RENAME.value, t("Rename the group")),
                _row(GroupAction.UNMUTE.value, t("Unmute: mark new messages again"))
                if group.muted
                else _row(GroupAction.MUTE.value, t("Mute: do not mark new messages")),
                _row(GroupAction.LEAVE.value, t("Leave the group")),
            ]
        elif group.note == standing_note("invited"):
            entries += [
                _row(GroupAction.ACCEPT.value, t("Accept: take part in the group")),
                _row(GroupAction.DECLINE.value, t("Decline: never take part, whoever adds you")),
            ]
        elif group.note == standing_note("arriving"):
            entries.append(_row(GroupAction.HISTORY.value, t("Request the older messages now")))
        elif group.note == standing_note("left"):
            entries.append(_row(GroupAction.RETURN.value, t("Take part in the group again")))
        return [*entries, create]

    def _chosen(self, keys: Sequence[str]) -> None:
        group, (key,) = self._group, keys
        if key == GroupAction.CREATE.value:
            self._ask(LineBox(f" {t('Name of the new group; its members can read it')}"), self._name_given)
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
            title = f" {t('New name; all members see it')}"
            self._ask(LineBox(title), lambda name: self._preview(_renamed(group, name)))
            return
        if action in {GroupAction.ADD, GroupAction.EXCLUDE}:
            self._pick_people(action, group)
        else:
            self._preview(GroupChange(action=action, group=group.name))

    def _name_given(self, name: str) -> None:
        def create(people: Sequence[FeedId]) -> None:
            rows = [_row("", t("Keep them"))]
            rows += [
                _row(str(days), tn(days, "Erase them after {n} day", "Erase them after {n} days"))
                for days in _ERASE_DAYS
            ]
            title = f" {t('Texts: erased ones can be read by no thief of a device, and not by you')}"
            self._ask(Picker(title, rows), lambda keys: self._preview(self._new(name, people, keys[0])))

        self._pick(f" {t('People in the new group')}", self._others(()), create)

    def _new(self, name: str, people: Sequence[FeedId], days: str) -> GroupChange:
        erase_days = int(days) if days else None
        return GroupChange(action=GroupAction.CREATE, name=name, people=tuple(people), erase_days=erase_days)

    def _pick_people(self, action: GroupAction, group: GroupConversation) -> None:
        def change(people: Sequence[FeedId]) -> None:
            if people:
                self._preview(GroupChange(action=action, group=group.name, people=tuple(people)))

        if action is GroupAction.ADD:
            self._pick(f" {t('Add to the group')}", self._others(group.members), change)
        else:
            names = self._sight.names
            self._pick(
                f" {t('Exclude from the group')}",
                [one for one in group.members if not names.is_own(one)],
                change,
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
            question = Question(f" {t('Send it?')}", Content("\n".join(safe(line) for line in told)))
            self._ask(question, lambda _: self._act(lambda node: node.send_file(draft)))

        def preview(path: str) -> None:
            self._view.post_message(NodeAction(lambda node: node.file_to_send(conversation, path), "", ask))

        self._ask(LineBox(f" {t('File to send: its path')}"), preview)

    def _pick_decision(self, found: object) -> None:
        assert isinstance(found, list)
        rows = [(str(number), Content(safe(line))) for number, (_, line) in enumerate(found)]
        self._ask(Picker(f" {t('Decide')}", rows), lambda keys: self._preview(found[int(keys[0])][0]))

    def _preview(self, change: GroupChange) -> None:
        """Show the cost and the limits of *change*, and make it if the user agrees."""

        def ask(told: object) -> None:
            assert isinstance(told, list)
            title = f" {t(_QUESTIONS[change.action])}"
            question = Question(title, Content("\n".join(safe(line) for line in told)))
            self._ask(question, lambda _: self._change(change))

        self._view.post_message(NodeAction(lambda node: node.group_preview(change), "", ask))

    def _change(self, change: GroupChange) -> None:
        self._act(lambda node: node.change_group(change))

    def _act(self, do: Callable[[ScreenSource], object]) -> None:
        self._view.post_message(NodeAction(do, None))

    def _show_page(self, page: object) -> None:
        assert isinstance(page, str)
        self._view.post_message(ShowPage(f" {t('Group')}", page))

    def _ask(self, page: ModalScreen[Answer | None], then: Callable[[Answer], None]) -> None:
        def answered(answer: Answer | None) -> None:
            if answer is not None:
                then(answer)

        self._view.app.push_screen(page, answered)


def _row(key: str, text: str) -> Row:
    return key, Content(text)


def _renamed(group: GroupConversation, name: str) -> GroupChange:
    return GroupChange(action=GroupAction.RENAME, group=group.name, name=name)
