"""Names of people, and the search for the person a name means.

Anyone may take any name. So a name is shown beside the beginning of the feed id, and names a person only while it can
mean no other. A petname, which our user gave, takes precedence over aliases.
"""

import unicodedata
from collections.abc import Collection, Sequence
from typing import Final

from tinyssb_node.catalog.rows import PersonRow
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.limits import FEED_ID_SIZE
from tinyssb_node.screens import limits
from tinyssb_node.screens.safetext import HAPPENED, INVISIBLE, NO_HAPPENING, one_line

ME: Final = "me"
"""The name of our own feed."""
SHORT_FEED: Final = 8
"""Digits of a feed id that stand beside a name."""
_UNSEEN: Final = INVISIBLE | {"\u1160"}
"""Printable but invisible characters; the last one is what two of them become in Unicode's form for comparing."""
RESERVED: Final = frozenset(
    {ME, "you", "myself", "notes to myself", "everybody", "nobody", "public", "private"}
)
"""Words that screens use for us and for conversations: never a person's name without digits."""


class UnknownPersonError(ProblemError):
    """A name that no one has."""

    exit_code = ExitCode.MISSING


def alike(name: str) -> str:
    """Return the common form of names that people take for the same."""
    plain = unicodedata.normalize("NFKC", name[:256])
    seen = (
        char
        for char in plain
        if char.isprintable() and char not in _UNSEEN and unicodedata.category(char)[0] != "M"
    )
    return " ".join("".join(seen).casefold().split())


class DisplayNames:
    """Names of all people, at one moment."""

    def __init__(self, people: Sequence[PersonRow], petnamed: Collection[FeedId] = ()) -> None:
        """Index the names of *people*; *petnamed* are those whom our user named."""
        self._people = {person.feed: person for person in people}
        self._given: dict[str, list[FeedId]] = {}
        self._said: dict[str, list[FeedId]] = {}
        for person in people:
            if person.own:
                continue
            given, said = (person.alias, person.said) if person.feed in petnamed else (None, person.alias)
            for names, name in ((self._given, given), (self._said, said)):
                if word := alike(name or ""):
                    names.setdefault(word, []).append(person.feed)

    def is_own(self, feed: FeedId) -> bool:
        """Return whether it is our own feed."""
        person = self._people.get(feed)
        return person is not None and person.own

    def is_blocked(self, feed: FeedId) -> bool:
        """Return whether our user blocked it."""
        person = self._people.get(feed)
        return person is not None and person.blocked

    def name(self, feed: FeedId) -> str | None:
        """Return a name for *feed*, unescaped, with a question mark if others have it, too; None for no name."""
        person = self._people.get(feed)
        if person is None or person.alias is None:
            return ME if person is not None and person.own else None
        if person.own:
            return ME
        word = alike(person.alias)
        if not word:
            return None
        sure = self._meant(word) == [feed]
        return person.alias if sure else f"{person.alias}?"

    def stands_alone(self, feed: FeedId) -> bool:
        """Return whether its name needs no digits: our user gave it, to no other feed, and it is not reserved."""
        person = self._people.get(feed)
        word = "" if person is None else alike(person.alias or "")
        return word not in RESERVED and self._given.get(word) == [feed]

    def is_given(self, feed: FeedId) -> bool:
        """Return whether our user gave its name."""
        person = self._people.get(feed)
        return person is not None and feed in self._given.get(alike(person.alias or ""), ())

    def of(self, feed: FeedId) -> str:
        """Return name and beginning of the id of *feed*, unescaped."""
        name = self.name(feed)
        digits = feed.hex()[:SHORT_FEED]
        return digits if name is None else f"{name} {digits}"

    def shown(self, feed: FeedId) -> str:
        """Return the same for a terminal, of bounded width."""
        name = self.name(feed)
        digits = feed.hex()[:SHORT_FEED]
        return (
            digits
            if name is None
            else f"{one_line(name, limits.NAME_CELLS).replace(HAPPENED, NO_HAPPENING)} {digits}"
        )

    def with_feeds(self, feeds: Collection[FeedId]) -> "DisplayNames":
        """Return these names, with *feeds* that the catalog may lack: digits find them, too."""
        more = DisplayNames((), ())
        more._people = {feed: _unnamed(feed) for feed in feeds} | self._people
        more._given, more._said = self._given, self._said
        return more

    def find(self, text: str) -> PersonRow:
        """Return the person that *text* names: ``me``, a petname, an alias, or the beginning of a feed id.

        Raises UnknownPersonError, and ProblemError where it names several.
        """
        digits = text.lower()
        found = [
            person
            for feed, person in self._people.items()
            if (digits and feed.hex().startswith(digits)) or (person.own and text == ME)
        ]
        whole = len(digits) == 2 * FEED_ID_SIZE and bool(found)
        called = [] if whole else [self._people[feed] for feed in self._meant(alike(text))]
        meant = {person.feed: person for person in [*called, *found]}
        if len(meant) == 1:
            return next(iter(meant.values()))
        typed = one_line(text, limits.NAME_CELLS)
        if not meant:
            raise UnknownPersonError(
                f"This node knows no person '{typed}'.",
                "List people: tinyssb contacts. For a new feed, give all 64 digits: tinyssb follow FEED",
            )
        shown = ", ".join(self.shown(feed) for feed in list(meant)[: limits.NAMES_TOLD_MAX])
        raise ProblemError(
            f"'{typed}' may mean {len(meant)} people: {shown}.",
            "Type digits of the feed id, or give one of them a name of your own: tinyssb contacts petname FEED NAME",
            exit_code=ExitCode.USAGE,
        )

    def _meant(self, word: str) -> list[FeedId]:
        """Return the people that *word* may mean."""
        if word == ME:
            return [feed for feed, person in self._people.items() if person.own]
        return self._given.get(word) or self._said.get(word, [])


def _unnamed(feed: FeedId) -> PersonRow:
    """Return a person of whom nothing is stored."""
    return PersonRow(feed=feed, alias=None, said=None, own=False, entries=0, last_us=None, blocked=False)
