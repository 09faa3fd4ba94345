"""Receipts of an entry in a few words, the same on all screens (docs/reference/receipts.md)."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from tinyssb_node.control.rows import ReceiptRow

_NAMED_MAX: Final = 3
"""People named in a line; of more only the number is given."""


def holders_text(row: ReceiptRow, name_of: Callable[[str], str], now_us: int) -> str:
    """Return words such as `3 of 5, Ana missing since 14:02`. *name_of* turns 64 digits into a name that is safe to
    show; *now_us*, the wall clock, decides whether the day is given, too."""
    if not row.expected:
        return "no other nodes are known"
    parts = [f"{row.held} of {row.expected}"]
    if row.inferred:
        parts.append("not proven" if not row.proven else f"{row.proven} proven")
    if row.held < row.expected and row.missing:
        since = moment(row.committed_us, now_us)
        parts.append(f"{_named(row.missing, name_of)} missing since {since}")
    return ", ".join(parts)


def _named(feeds: Sequence[str], name_of: Callable[[str], str]) -> str:
    if len(feeds) > _NAMED_MAX:
        return f"{len(feeds)} people"
    names = [name_of(feed) for feed in feeds]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def moment(wall_us: int, now_us: int) -> str:
    """Return a local time: hours and minutes, with the day if it is not today."""
    then, now = (datetime.fromtimestamp(us / 1e6).astimezone() for us in (wall_us, now_us))
    return then.strftime("%H:%M" if then.date() == now.date() else "%Y-%m-%d %H:%M")
