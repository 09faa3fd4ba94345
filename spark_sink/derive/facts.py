"""Facts: hours of packets and arrivals of all nodes, with corrected times, from which figures are derived."""

from dataclasses import dataclass
from typing import Final

from spark_sink.arrays import Floats, Ints

HOUR_US: Final = 3_600_000_000
RX: Final = 0
TX: Final = 1
ENTRY: Final = 2
WHOLE: Final = 3
"""Kinds of sights: packets heard and sent, entries committed, side chains made whole."""


@dataclass(frozen=True, slots=True)
class Sights:
    """One row a record, columns of the same length, in order of `mesh_us`.

    Codes and unknown values are those of packed rows (docs/formats/serving.md), but for names: ``face`` is an index
    into ``faces``, −1 for none, and ``feed_no`` is the feed's number in the database, −1 for none.
    """

    node_no: Ints
    boot: Ints
    offset: Ints
    kind: Ints
    face: Ints
    packet: Ints
    verdict: Ints
    t_us: Ints
    mono_us: Ints
    mesh_us: Ints
    """Time by the clock of the mesh."""
    mesh: Ints
    """Clocks with the same number can be compared (docs/formats/serving.md, `clocks`)."""
    hash: Ints
    length: Ints
    airtime_us: Ints
    rssi_dbm: Ints
    snr_db: Floats
    feed_no: Ints
    seq: Ints
    chunk: Ints
    faces: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.node_no)


@dataclass(frozen=True, slots=True)
class Copies:
    """All copies known of the entries that arrive in the sights, in order of (feed_no, seq, node_no)."""

    feed_no: Ints
    seq: Ints
    node_no: Ints
    own: Ints
    """1: this node published the entry."""
    mesh_us: Ints
    mesh: Ints


@dataclass(frozen=True, slots=True)
class Uptimes:
    """Times when nodes were up, in mesh time: from the first to the last record of each boot; in order of node_no."""

    node_no: Ints
    boot: Ints
    since_us: Ints
    until_us: Ints


@dataclass(frozen=True, slots=True)
class Facts:
    """Whole hours, and a margin around them in which their packets may have partners.

    A transform gives figures for the hours from ``since_us`` on and before ``until_us`` (full hours), each the same
    however many hours are asked for at a time.
    """

    since_us: int
    until_us: int
    sights: Sights
    copies: Copies
    uptimes: Uptimes
