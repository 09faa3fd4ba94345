"""What option records have in common."""

import re
from collections.abc import Iterable

from tinyssb_node.errors import OptionError
from tinyssb_node.sim import limits as sim_limits

SECOND_US = 1_000_000
_MEMBER = re.compile(r"n(0|[1-9][0-9]{0,3})(?:-n(0|[1-9][0-9]{0,3}))?")


def within(key: str, value: float, low: float, high: float) -> None:
    """Raise OptionError unless *low* <= *value* <= *high*."""
    if not low <= value <= high:
        raise OptionError(key, f"{value:g} is not possible; it takes {low:g} to {high:g}")


def us(seconds: float) -> int:
    """Seconds as whole microseconds."""
    return round(seconds * SECOND_US)


def members(key: str, texts: Iterable[str]) -> tuple[str, ...]:
    """The nodes that *texts* name, each once: ``n3``, or ``n3-n7`` for five of them. Raises OptionError."""
    names: dict[str, None] = {}
    for text in texts:
        match = _MEMBER.fullmatch(text)
        if match is None:
            raise OptionError(key, f"'{text}' names no node; they are n0, n1 and so on, or n3-n7 for a range")
        first = int(match[1])
        last = int(match[2] or match[1])
        if not first <= last < sim_limits.NODES_MAX:
            raise OptionError(key, f"'{text}' is no range of nodes")
        names.update(dict.fromkeys(f"n{number}" for number in range(first, last + 1)))
    return tuple(names)
