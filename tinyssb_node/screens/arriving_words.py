"""The arrival of messages and files, packet by packet, in words."""

from typing import TYPE_CHECKING

from tinyssb_node.catalog.rows import ArrivingRow
from tinyssb_node.screens import limits
from tinyssb_node.screens.languages import number, t, tn
from tinyssb_node.screens.safetext import one_line

if TYPE_CHECKING:
    from tinyssb_node.screens.people import DisplayNames


def arriving_in_words(row: ArrivingRow, names: "DisplayNames") -> str:
    """Return words such as `map.webp of Ana, 9,000 bytes: 12 of 91 packets`, safe to show."""
    what = t("a message")
    if row.is_file:
        what = one_line(row.name or "", limits.FILE_NAME_CELLS) or t("a file")
    size = tn(row.size, "{n} byte", "{n} bytes")
    packets = tn(row.chunks, "{held} of {n} packet", "{held} of {n} packets", held=number(row.chunks_held))
    return t(
        "{what} of {author}, {size}: {packets}",
        what=what,
        author=names.shown(row.feed),
        size=size,
        packets=packets,
    )
