"""Limits that were reached, in words: what was refused or put off, and what to do about it."""

from typing import Final

from tinyssb_node.control.rows import RefusalRow
from tinyssb_node.screens.languages import message, number, t

_WORDS: Final = {
    "ids": (
        message("ids of strangers' feeds were put off: too many feeds of the set have no entry yet"),
        message("They come in with an entry, or 32 an hour. More: set.ids_per_hour in config.toml."),
    ),
    "unproven": (
        message("ids of feeds without an entry were refused: strangers flooded a radio with such ids"),
        message("They come in with their first entry. An hour after the flood they need none."),
    ),
    "claimed": (
        message(
            "ids of feeds without an entry, which boards or strangers claim on a radio, made room for newer ones"
        ),
        message(
            "They come in with their first entry. Near many boards a node with `--dialect deployed` keeps all."
        ),
    ),
    "expired": (
        message("ids were refused that had brought no entry before, and left the set for that"),
        message("They come in with an entry of theirs."),
    ),
    "quota": (
        message("feeds that nobody here follows have used up their share of the disk"),
        message("More of one: `tinyssb follow`. A larger share: disk.other_feed_percent in config.toml."),
    ),
    "evicted": (
        message("feeds that nobody here follows were deleted, to make room"),
        message("`tinyssb feeds` lists them. `tinyssb follow` fetches one again."),
    ),
    "admission": (
        message("ids of feeds were refused, as set.admit in config.toml says"),
        message("What it lets in: docs/reference/config.md"),
    ),
    "set": (
        message("ids of feeds found the set full"),
        message("Nodes exchange such feeds by name. Phones and boards do not."),
    ),
    "feeds": (
        message("feeds were refused: this node knows as many as it can"),
        message("Those that you follow come in all the same. `tinyssb purge FEED` makes room for another."),
    ),
    "queue": (
        message("packets found the queue of a face full"),
        message(
            "Peers ask for them again. If it goes on, the link is too slow for what is asked of it: `tinyssb faces`"
        ),
    ),
    "budget": (
        message("packets had to wait for airtime"),
        message("The law sets this limit: `tinyssb airtime`"),
    ),
    "orphans": (
        message("packets that came too early were dropped for later ones"),
        message("They are requested again."),
    ),
    "faces": (message("links were refused: as many are up as can be"), message("See `tinyssb faces`.")),
    "rate": (
        message("records of junk were left out of the event log"),
        message("Somebody sends what is no packet."),
    ),
    "groups": (
        message("times the work for a private group stopped or had to wait; the node tries again"),
        message("`tinyssb group list` shows which, and `tinyssb group show GROUP` why. All else goes on."),
    ),
    "read_only": (message("packets were not stored: nothing can be written"), message("Free disk space.")),
}
_RECENT_US: Final = 3_600_000_000
"""For how long a limit counts as reached: somebody who looks wants to know what bites now."""
UNDECIDED: Final = frozenset({"ids", "set", "feeds", "quota", "evicted", "groups"})
"""The rules that keep out feeds, or parts of them, or stop work, which nobody here decided to do."""


def recent(refusals: list[RefusalRow], now_us: int) -> list[RefusalRow]:
    """Return the limits that were reached in the last hour."""
    return [row for row in refusals if now_us - row.last_us < _RECENT_US]


def what_was_refused(row: RefusalRow) -> str:
    """Say what was refused."""
    words = _WORDS.get(row.rule)
    if words is None:
        return t("{n} refusals by the rule {rule}", n=number(row.count), rule=repr(row.rule))
    return f"{number(row.count)} {t(words[0])}"


def what_to_do(row: RefusalRow) -> str:
    """Say what to do about it."""
    words = _WORDS.get(row.rule)
    return t(words[1]) if words else t("docs/formats/events.md explains the rules.")
