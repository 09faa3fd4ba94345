"""Receipts of an entry in a few words, the same on all screens (docs/reference/receipts.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, TypeVar

from tinyssb_node.control.rows import ReceiptRow
from tinyssb_node.screens.languages import t, tn

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
        return t("no other nodes are known")
    words = tn(row.expected, "on {held} of {n} node", "on {held} of {n} nodes", held=row.held)
    if row.inferred:
        proven = tn(row.proven, "{n} confirmed", "{n} confirmed") if row.proven else t("not confirmed")
        words += f", {proven}"
    if row.held < row.expected and row.missing:
        since = moment(row.committed_us if since_us is None else since_us, now_us)
        words += f"; {t('{names} not since {time}', names=_owners(row.missing, name_of), time=since)}"
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
        return tn(len(feeds), "that of {n} person", "those of {n} people")
    names = [t("{name}'s", name=name_of(feed)) for feed in feeds]
    if len(names) == 1:
        return names[0]
    return t("{names} and {name}", names=", ".join(names[:-1]), name=names[-1])


def moment(wall_us: int, now_us: int) -> str:
    """Return a local time: hours and minutes, with the day if it is not today."""
    then, now = (datetime.fromtimestamp(us / 1e6).astimezone() for us in (wall_us, now_us))
    return then.strftime("%H:%M" if then.date() == now.date() else "%Y-%m-%d %H:%M")
