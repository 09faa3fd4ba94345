"""Receipts of an entry in a few words, the same on all screens (docs/reference/receipts.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, TypeVar

from tinyssb_node.control.rows import ReceiptRow

_NAMED_MAX: Final = 3
"""People named in a line; of more only the number is given."""

Key = TypeVar("Key")


def holders_text(
    row: ReceiptRow, name_of: Callable[[str], str], now_us: int, since_us: int | None = None
) -> str:
    """Return words such as `on 3 of 4 nodes; Ana's not since 14:02`. *name_of* turns 64 digits into a name that is safe
    to show; *now_us*, the wall clock, decides whether the day is given, too. *since_us*: when the first entry was
    written that the same people lack; None: this one."""
    if not row.expected:
        return "no other nodes are known"
    words = f"on {row.held} of {row.expected} {'node' if row.expected == 1 else 'nodes'}"
    if row.inferred:
        words += ", not confirmed" if not row.proven else f", {row.proven} confirmed"
    if row.held < row.expected and row.missing:
        since = moment(row.committed_us if since_us is None else since_us, now_us)
        words += f"; {_owners(row.missing, name_of)} not since {since}"
    return words


def holders_texts(rows: Iterable[ReceiptRow], name_of: Callable[[str], str], now_us: int) -> dict[str, str]:
    """Return the words for several entries by their ids: the same words for entries one behind the other that the same
    people have."""
    found: dict[str, str] = {}
    in_order = sorted(rows, key=lambda row: (row.feed, row.seq))
    for _, same in groupby(in_order, lambda row: (row.feed, row.held, row.proven, row.expected, row.missing)):
        run = list(same)
        text = holders_text(run[-1], name_of, now_us, run[0].committed_us)
        found.update((row.id, text) for row in run)
    return found


def last_of_each(ids: Iterable[Key], words: Mapping[Key, str]) -> dict[Key, str]:
    """Return the words of messages, of those that follow each other with the same words only those of the last one:
    nodes that have it have the earlier ones, too."""
    found: dict[Key, str] = {}
    below = ""
    for id_ in reversed([one for one in ids if one in words]):
        if words[id_] != below:
            found[id_] = below = words[id_]
    return found


def _owners(feeds: Sequence[str], name_of: Callable[[str], str]) -> str:
    if len(feeds) > _NAMED_MAX:
        return f"those of {len(feeds)} people"
    names = [f"{name_of(feed)}'s" for feed in feeds]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def moment(wall_us: int, now_us: int) -> str:
    """Return a local time: hours and minutes, with the day if it is not today."""
    then, now = (datetime.fromtimestamp(us / 1e6).astimezone() for us in (wall_us, now_us))
    return then.strftime("%H:%M" if then.date() == now.date() else "%Y-%m-%d %H:%M")
