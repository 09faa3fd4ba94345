"""Goals: how much of a tangle to keep, and which messages follow from it. Names as in PZP's own programs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.pzp.messages.tangle import PzpTangle

_NEWEST: Final = re.compile(r"newest-([1-9][0-9]{0,9})")


class GoalKind(StrEnum):
    """A sort of goal."""

    ALL = "all"
    """Everything."""
    NEWEST = "newest"
    """So many messages, the last in topological order."""
    SET = "set"
    """Of a CRDT set or dictionary: what no other message supersedes."""
    NONE = "none"
    """Nothing."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: how much of a tangle to keep."""

    keep: GoalKind
    count: int = 0
    """Of the newest."""

    def __str__(self) -> str:
        """As it is written in a file, and by users."""
        return f"newest-{self.count}" if self.keep is GoalKind.NEWEST else self.keep.value


ALL: Final = Goal(GoalKind.ALL)
NONE: Final = Goal(GoalKind.NONE)


def parse_goal(text: str) -> Goal:
    """The goal that *text* names: ``all``, ``newest-100``, ``set`` (or ``dict``), ``none``. Raises ValueError."""
    if newest := _NEWEST.fullmatch(text):
        return Goal(GoalKind.NEWEST, int(newest[1]))
    word = "set" if text == "dict" else text
    if word == GoalKind.NEWEST or word not in list(GoalKind):
        raise ValueError(
            f"{text[:40]!a} is no goal; there are: all, newest-100 (or any number), set, dict, none"
        )
    return Goal(GoalKind(word))


@dataclass(frozen=True, slots=True)
class GoalNeeds:
    """The messages that a goal asks for in a tangle."""

    whole: frozenset[str]
    """Ids of messages that are kept as they are."""
    trail: frozenset[str]
    """Ids of those of which id and signature are kept, so that the others, and what comes, can be certified."""


def needs(tangle: PzpTangle, goal: Goal, said: Callable[[], Mapping[str, Json]]) -> GoalNeeds:
    """Return the messages that *goal* asks for in *tangle*.

    *said* returns the payloads of the messages, by id; it is called for a set only. Except for the goal that
    keeps nothing, there is a trail from the ends as well: the author of the next message follows them, and
    links to a message on their path to the root.
    """
    if goal.keep is GoalKind.NONE or not len(tangle):
        return GoalNeeds(frozenset(), frozenset())
    if goal.keep is GoalKind.ALL:
        return GoalNeeds(frozenset(tangle.slice(0, tangle.max_depth)), frozenset())
    if goal.keep is GoalKind.NEWEST:
        whole = frozenset(tangle.topological()[-goal.count :])
    else:
        whole = frozenset(unsuperseded(said()))
    ends = whole | tangle.ends
    return GoalNeeds(whole, frozenset((tangle.trail(ends) | ends) - whole))


def unsuperseded(said: Mapping[str, Json]) -> set[str]:
    """Of the messages of a set or dictionary, by id, those that still count.

    One counts as long as for some item, or field, of it no known message that supersedes it speaks of the same. What
    speaks of none does not count.
    """
    items = {id_: _items(data) for id_, data in said.items()}
    left = {id_: set(names) for id_, names in items.items()}
    for id_, data in said.items():
        supersedes = data.get("supersedes") if isinstance(data, dict) else None
        for earlier in supersedes if isinstance(supersedes, list) else ():
            if isinstance(earlier, str) and earlier in left and earlier != id_:
                left[earlier] -= items[id_]
    return {id_ for id_, names in left.items() if names}


def _items(data: Json) -> set[str]:
    """Return the items that a message of a set (``add``, ``del``) or dictionary (``update``) names."""
    if not isinstance(data, dict):
        return set()
    found: set[str] = set()
    for name in ("add", "del", "update"):
        value = data.get(name)
        if isinstance(value, list | dict):
            found.update(one for one in value if isinstance(one, str))
    return found
