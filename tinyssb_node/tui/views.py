"""The views besides conversations: people, links, feeds, events. Each draws the state it is given."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from tinyssb_node.catalog.rows import PersonRow
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.follow_words import PENDING_MEANING
from tinyssb_node.screens.languages import message, t, tn
from tinyssb_node.tui import airlines, lines
from tinyssb_node.tui.actions import NodeAction, ShowPage
from tinyssb_node.tui.screen_state import ScreenState
from tinyssb_node.tui.widgets import Row, RowList, TextLine


class ScreenView(Vertical):
    """One of the views. Its first list gets the keys."""

    KEYS: ClassVar[str] = ""
    """The keys of this view for the last line, the most important first."""

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id, classes="view")
        self.sight: ScreenState | None = None

    @property
    def keys(self) -> str:
        """Keys that work now."""
        return self.KEYS

    def show(self, sight: ScreenState) -> None:
        """Draw the state."""
        self.sight = sight
        self.draw(sight)

    def draw(self, sight: ScreenState) -> None:
        """Draw the state."""
        raise NotImplementedError  # each view draws in its own way

    def begin(self) -> None:
        """Take the focus."""
        self.query(RowList).first().focus()


class PeopleView(ScreenView):
    """All people the node knows of."""

    KEYS = message("m message  f follow  b block  Enter details")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "message", show=False),
        Binding("f", "follow", show=False),
        Binding("b", "block", show=False),
    ]

    class Chosen(Message):
        """A request to write to a person."""

        def __init__(self, person: PersonRow) -> None:
            super().__init__()
            self.person = person

    def compose(self) -> ComposeResult:
        """Yield column titles and rows."""
        yield TextLine(classes="columns")
        yield RowList("people-rows")

    def draw(self, sight: ScreenState) -> None:
        """Draw a row for each person."""
        rows = self.query_one(RowList)
        names = sight.names
        wanted = _wanted(sight)
        more = sight.hidden_people
        hidden = f"   {tn(more, '{n} more is not shown', '{n} more are not shown')}" if more else ""
        self.query_one(TextLine).put(lines.person_header(rows.room).append(hidden))
        rows.show(
            [
                (
                    one.feed.hex(),
                    lines.person(
                        one,
                        names,
                        followed=wanted.get(one.feed),
                        now_us=sight.now_us,
                        width=rows.room,
                    ),
                )
                for one in sight.people
            ]
        )

    def action_message(self) -> None:
        """Write to the selected person."""
        if (person := self._chosen()) is not None and not person.own:
            self.post_message(self.Chosen(person))

    def action_follow(self) -> None:
        """Follow or unfollow the selected person's feed."""
        if (person := self._chosen()) is not None and not person.own and self.sight is not None:
            followed = _wanted(self.sight).get(person.feed)
            name = self._called(person)
            done = (
                t("No longer following {name}.", name=name) if followed else t("Following {name}.", name=name)
            )
            if followed is None:
                done += f" {t('Pending:')} {t(PENDING_MEANING)}"
            elif person.pending:
                done += f" {t('It was pending, and is forgotten.')}"
            self.post_message(NodeAction(lambda node: node.follow(person.feed, wanted=not followed), done))

    def action_block(self) -> None:
        """Block or unblock the selected person."""
        if (person := self._chosen()) is not None and not person.own:
            name = self._called(person)
            done = (
                t("{name} is unblocked.", name=name) if person.blocked else t("{name} is blocked.", name=name)
            )
            self.post_message(
                NodeAction(lambda node: node.block(person.feed, blocked=not person.blocked), done)
            )

    def on_option_list_option_selected(self) -> None:
        """Show all details of the selected person."""
        if (person := self._chosen()) is not None and self.sight is not None:
            self.post_message(ShowPage(f" {t('Person')}", lines.person_page(person, self.sight.now_us)))

    def _called(self, person: PersonRow) -> str:
        return (
            lines.short(person.feed) if self.sight is None else lines.name_of(person.feed, self.sight.names)
        )

    def _chosen(self) -> PersonRow | None:
        chosen = self.query_one(RowList).chosen
        people = () if self.sight is None else self.sight.people
        return next((one for one in people if one.feed.hex() == chosen), None)


class FacesView(ScreenView):
    """Links, and the airtime left."""

    KEYS = message("↑↓ scroll")

    def compose(self) -> ComposeResult:
        """Yield rows only."""
        yield RowList("faces-rows", choosing=False)

    def draw(self, sight: ScreenState) -> None:
        """Draw airtime accounts with their bars, then the links, then those that are not up."""
        rows = self.query_one(RowList)
        shown: list[Row] = [
            (f"band {row.band} {' '.join(row.faces)}", airlines.account(row, rows.room))
            for row in sight.airtime
        ]
        shown += [(f"face {row.face}", airlines.face(row, rows.room)) for row in sight.faces]
        up = {row.spec for row in sight.faces}
        specs = [] if sight.status is None else sight.status.endpoints
        shown += [
            (f"spec {number}", airlines.endpoint(end, rows.room))
            for number, end in enumerate(specs)
            if end.spec not in up
        ]
        if not sight.airtime:
            shown.insert(0, ("none", airlines.no_account(known=sight.status is not None)))
        rows.show(shown)


class FeedsView(ScreenView):
    """The frontier of each feed."""

    KEYS = message("f follow or unfollow")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f", "follow", show=False)]

    def compose(self) -> ComposeResult:
        """Yield column titles and rows."""
        yield TextLine(classes="columns")
        yield RowList("feeds-rows")

    def draw(self, sight: ScreenState) -> None:
        """Draw a row for each feed."""
        rows = self.query_one(RowList)
        names = sight.names
        self.query_one(TextLine).put(lines.feed_header(rows.room))
        rows.show([(row.feed, lines.feed(row, names, rows.room)) for row in sight.feeds])

    def action_follow(self) -> None:
        """Follow or unfollow the selected feed."""
        chosen = self.query_one(RowList).chosen
        feeds = () if self.sight is None else self.sight.feeds
        row = next((row for row in feeds if row.feed == chosen), None)
        if row is not None and not row.own:
            feed, wanted = FeedId.from_hex(row.feed), not row.wanted
            name = lines.short(feed)
            done = (
                t("Following {name}.", name=name) if wanted else t("No longer following {name}.", name=name)
            )
            if row.pending:
                done += f" {t('It was pending, and is forgotten.')}"
            self.post_message(NodeAction(lambda node: node.follow(feed, wanted=wanted), done))


class LogView(ScreenView):
    """Records of the event log."""

    KEYS = message("p packets  Enter whole record  End newest")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("p", "packets", show=False)]

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id)
        self._packets = False

    def compose(self) -> ComposeResult:
        """Yield a header and rows."""
        yield TextLine(classes="columns")
        yield RowList("log-rows", to_end=True)

    def draw(self, sight: ScreenState) -> None:
        """Draw a row for each record."""
        rows = self.query_one(RowList)
        self.query_one(TextLine).put(
            airlines.event_header(packets=self._packets, fault=sight.log_fault, width=rows.room)
        )
        drawn = (
            (str(number), airlines.event(line, packets=self._packets, width=rows.room))
            for number, line in sight.events
        )
        rows.show([(number, content) for number, content in drawn if content is not None])

    def action_packets(self) -> None:
        """Show or hide records of packets."""
        self._packets = not self._packets
        if self.sight is not None:
            self.draw(self.sight)

    def on_option_list_option_selected(self) -> None:
        """Show the selected record as it is."""
        chosen = self.query_one(RowList).chosen
        for number, line in () if self.sight is None else self.sight.events:
            if str(number) == chosen:
                self.post_message(
                    ShowPage(f" {t('Record of the event log')}", line.decode("utf-8", "replace"))
                )


def _wanted(sight: ScreenState) -> dict[FeedId, bool]:
    return {FeedId.from_hex(row.feed): row.wanted for row in sight.feeds}
