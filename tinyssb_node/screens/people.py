"""What people are called, and whom a name means.

Anybody may call themselves anything: a name is shown beside the beginning of the feed id, and means somebody only as
long as it can mean nobody else. A petname, which our user gave, goes before what people say of themselves.
"""

import unicodedata
from collections.abc import Collection, Sequence
from typing import Final

from tinyssb_node.catalog.rows import PersonRow
from tinyssb_node.errors import ExitCode
from tinyssb_node.ids import FeedId
from tinyssb_node.limits import FEED_ID_SIZE
from tinyssb_node.problems import ProblemError
from tinyssb_node.screens import limits
from tinyssb_node.screens.safetext import HAPPENED, INVISIBLE, NO_HAPPENING, one_line

ME: Final = "me"
"""What our own feed is called."""
SHORT_FEED: Final = 8
"""Digits of a feed id that stand beside a name."""
_UNSEEN: Final = INVISIBLE | {"\u1160"}
"""What is printable and yet not seen; the last one is what two of them become in Unicode's form for comparing."""
RESERVED: Final = frozenset(
    {ME, "you", "myself", "notes to myself", "everybody", "nobody", "public", "private"}
)
"""What screens call us, and conversations: nobody's name where it stands alone."""


class UnknownPersonError(ProblemError):
    """Nobody is called so."""

    exit_code = ExitCode.MISSING


class AmbiguousPersonError(ProblemError):
    """Several people may be meant."""

    exit_code = ExitCode.USAGE


def alike(name: str) -> str:
    """What two names have in common that people take for the same."""
    plain = unicodedata.normalize("NFKC", name[: limits.NAME_MAX])
    seen = (
        char
        for char in plain
        if char.isprintable() and char not in _UNSEEN and unicodedata.category(char)[0] != "M"
    )
    return " ".join("".join(seen).casefold().split())


class DisplayNames:
    """What everybody is called, as of now."""

    def __init__(self, people: Sequence[PersonRow], petnamed: Collection[FeedId] = ()) -> None:
        """*petnamed*: whose name our user gave."""
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
        """Is it our own feed?"""
        person = self._people.get(feed)
        return person is not None and person.own

    def is_blocked(self, feed: FeedId) -> bool:
        """Does our user want to see nothing of it?"""
        person = self._people.get(feed)
        return person is not None and person.blocked

    def name(self, feed: FeedId) -> str | None:
        """One word for *feed*, unescaped: with a question mark behind it if others are called so; None for no name."""
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
        """Does its name mean it without digits? Our user gave it, to nobody else, and it is no word of ours."""
        person = self._people.get(feed)
        word = "" if person is None else alike(person.alias or "")
        return word not in RESERVED and self._given.get(word) == [feed]

    def of(self, feed: FeedId) -> str:
        """Name and beginning of the id of *feed*, unescaped."""
        name = self.name(feed)
        digits = feed.hex()[:SHORT_FEED]
        return digits if name is None else f"{name} {digits}"

    def shown(self, feed: FeedId) -> str:
        """The same for a terminal, of bounded width."""
        name = self.name(feed)
        digits = feed.hex()[:SHORT_FEED]
        return (
            digits
            if name is None
            else f"{one_line(name, limits.NAME_CELLS).replace(HAPPENED, NO_HAPPENING)} {digits}"
        )

    def find(self, text: str) -> PersonRow:
        """Whom *text* means: ``me``, a petname, an alias, or the beginning of a feed id.

        Raises UnknownPersonError, AmbiguousPersonError.
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
        told = one_line(text, limits.NAME_CELLS)
        if not meant:
            raise UnknownPersonError(
                f"Nobody that this node knows of is called '{told}'.",
                "`tinyssb contacts` lists people; `tinyssb follow` takes all 64 digits of a new feed.",
            )
        shown = ", ".join(self.shown(feed) for feed in list(meant)[: limits.NAMES_TOLD_MAX])
        raise AmbiguousPersonError(
            f"'{told}' may be {len(meant)} people: {shown}.",
            "Type more digits of the feed id, or give one of them a name of yours: `tinyssb contacts petname`.",
        )

    def _meant(self, word: str) -> list[FeedId]:
        """Those whom *word* may mean."""
        if word == ME:
            return [feed for feed, person in self._people.items() if person.own]
        return self._given.get(word) or self._said.get(word, [])
