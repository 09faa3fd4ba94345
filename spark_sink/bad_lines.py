"""Bad lines, which are not valid records: the first ones of each file are listed, the others are counted.

A stranger may write millions of them into a log of a few megabytes. Which ones are kept depends only on the lines
themselves, not on how reading was cut into parts: `bounded` may be applied to parts and to its own results, in any
order.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from spark_sink import limits

Row: TypeAlias = tuple[str, int, str, str]
"""Path, byte, reason, text: a line, or one that stands for itself and later ones."""
_MORE: Final = re.compile(r"and (\d+) more from here on in this file\Z")


def more(count: int) -> str:
    """Return the reason of a row that stands for *count* lines and says where the first of them begins."""
    return f"and {count} more from here on in this file"


def lines_of(reason: str) -> int:
    """Return how many lines a row with this reason stands for."""
    found = _MORE.match(reason)
    return int(found[1]) if found else 1


def bounded(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the first lines of each file and a row for the others, by path and byte. Of two at one byte the first
    counts."""
    for path, of_file in groupby(sorted(rows, key=itemgetter(0, 1)), key=itemgetter(0)):
        listed: list[Row] = []
        first = count = 0
        for row in of_file:
            lines = lines_of(row[2])
            if lines == 1 and listed and listed[-1][1] == row[1]:
                continue
            if not count and lines == 1 and len(listed) < limits.BAD_LINES_LISTED:
                listed.append(row)
            else:
                first = first if count else row[1]
                count += lines
        yield from listed
        if count:
            yield path, first, more(count), ""
