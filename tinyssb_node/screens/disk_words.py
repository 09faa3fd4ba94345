"""The room that feeds take on the disk, in words."""

from tinyssb_node.control.rows import DiskUseRow
from tinyssb_node.screens.languages import decimal, t

_SHORT = 8
"""Digits of a feed id that are enough to name it in a command."""


def size_words(size: int) -> str:
    """Return *size* in bytes with a unit that makes it short."""
    if size < 1_000:
        return f"{size} B"
    shown = size / 1_000
    for unit in ("kB", "MB"):
        if shown < 1_000:
            return f"{decimal(shown, 1 if shown < 100 else 0)} {unit}"
        shown /= 1_000
    return f"{decimal(shown, 1)} GB"


def use_words(row: DiskUseRow) -> str:
    """Return the room that feeds take, and for whom."""
    return t(
        "own {own}, followed {followed}, groups {groups}, others {others} of {most}",
        own=size_words(row.own),
        followed=size_words(row.followed),
        groups=size_words(row.groups),
        others=size_words(row.others),
        most=size_words(row.others_max),
    )


def biggest_words(row: DiskUseRow) -> str:
    """Return the biggest feeds that nobody here follows; empty if there is none."""
    return ", ".join(f"{each.feed[:_SHORT]} {size_words(each.bytes)}" for each in row.biggest)


def disk_problem(row: DiskUseRow) -> tuple[str, str] | None:
    """Return what is wrong with the room of feeds that nobody here follows, and what to do; None: nothing."""
    if row.closed:
        return (
            t("too little of the disk is free: entries of feeds that nobody here follows are not taken"),
            t("Free disk space, or lower disk.reserve_mib in config.toml."),
        )
    if row.others < 0.9 * row.others_max:
        return None
    first = row.biggest[0].feed[:_SHORT] if row.biggest else "FEED"
    taken = t(
        "feeds that nobody here follows take {size}, nearly all of their share of the disk; the biggest: {biggest}",
        size=size_words(row.others),
        biggest=biggest_words(row),
    )
    todo = t(
        "If you do not want one: tinyssb purge {feed}. A larger share: disk.others_percent in config.toml.",
        feed=first,
    )
    return taken, todo
