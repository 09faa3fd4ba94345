"""Rate limit for the records that peers can cause, so that nobody washes out the event log.

A peer can send packets without end, and connect and leave without end. What brings a new entry or chunk has its records
in any case, as it costs the peer a share of the disk (decision 0063). All other records that peers can cause have a
bound; those beyond it are counted, and the counts are records, so that sums over the log stay true (decision 0070).
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.event_records import KINDS
from tinyssb_node.codec.events import (
    AnswersSpared,
    AskSeen,
    ChnkSeen,
    ClaimSeen,
    Event,
    FaceDown,
    FaceUp,
    FeedsSeen,
    NoveltySeen,
    PacketReceived,
    PacketSent,
    PacketsReceived,
    PacketsSent,
    RecordsLeftOut,
    Refused,
    SketchSeen,
    WantSeen,
)
from tinyssb_node.ids import Direction, FaceName, PacketKind, Verdict
from tinyssb_node.scheduling.token_bucket import TokenBucket

_Sent = tuple[FaceName, PacketKind]
_Received = tuple[FaceName, PacketKind, Verdict, str | None]
_LeftOut = tuple[FaceName | None, str, Direction | None, str | None]
_Key = TypeVar("_Key")
_Summary = PacketsSent | PacketsReceived | RecordsLeftOut

_CONTENT: Final = frozenset({PacketKind.ENTRY, PacketKind.CHUNK})
_MANY: Final = FaceName("")
"""The face under which packets are counted when there are too many faces."""
_MINUTE_US: Final = 60_000_000


class RecordMeter:
    """Which records are written, and counts of those that are not."""

    def __init__(self) -> None:
        self._sends = TokenBucket(limits.SENT_BURST, limits.SENT_PER_S, 1_000_000, 0)
        self._wires = TokenBucket(limits.HEARD_BURST, limits.HEARD_WIRE_PER_S, 1_000_000, 0)
        self._radios = TokenBucket(limits.HEARD_BURST, limits.HEARD_AIR_PER_S, 1_000_000, 0)
        self._incidents = TokenBucket(limits.INCIDENT_BURST, limits.INCIDENT_PER_S, 1_000_000, 0)
        self._on_air: set[FaceName] = set()
        """Faces of which a packet had airtime."""
        self._unrecorded: set[FaceName] = set()
        """Faces that are up and whose ``face_up`` was left out."""
        self._sent: dict[_Sent, list[int]] = {}
        self._received: dict[_Received, list[int]] = {}
        self._left_out: dict[_LeftOut, list[int]] = {}
        self._summed_us = 0
        self._admits: Mapping[type[Event], Callable[[Any, int], bool]] = {
            PacketSent: self._admit_sent,
            PacketReceived: self._admit_received,
            FaceUp: self._admit_face_up,
            FaceDown: self._admit_face_down,
            **dict.fromkeys(
                (WantSeen, ChnkSeen, ClaimSeen, NoveltySeen, SketchSeen, AskSeen, FeedsSeen), self._admit_seen
            ),
            Refused: self._admit_incident,
            AnswersSpared: self._admit_incident,
        }

    def admit(self, event: Event, mono_us: int) -> bool:
        """Return True if *event* is to have its own record; otherwise it is counted."""
        admits = self._admits.get(type(event))
        return admits is None or admits(event, mono_us)

    def due(self, mono_us: int) -> Iterator[_Summary]:
        """Yield counts, once a minute, those first that began first. Counts that are left grow on."""
        if mono_us - self._summed_us < _MINUTE_US:
            return iter(())
        self._summed_us = mono_us
        return islice(self.take(), limits.SUMMARY_ROWS)

    def take(self) -> Iterator[_Summary]:
        """Yield counts, each of which begins again then."""
        while self._sent:
            sent = next(iter(self._sent))
            count, size, _ = self._sent.pop(sent)
            yield PacketsSent(face=sent[0], packet=sent[1], count=count, size=size)
        while self._received:
            heard = next(iter(self._received))
            count, size, airtime_us = self._received.pop(heard)
            yield PacketsReceived(
                face=heard[0],
                packet=heard[1],
                verdict=heard[2],
                reason=heard[3],
                count=count,
                size=size,
                airtime_us=airtime_us,
            )
        while self._left_out:
            left = next(iter(self._left_out))
            count, total, _ = self._left_out.pop(left)
            yield RecordsLeftOut(
                face=left[0], record=left[1], direction=left[2], rule=left[3], count=count, total=total
            )

    def _admit_sent(self, event: PacketSent, mono_us: int) -> bool:
        """On the air packets always have a record: airtime is scarce, and they show which nodes hear each other."""
        if event.airtime_us:
            self._on_air.add(event.face)
            return True
        if event.face not in self._unrecorded and _takes(self._sends, mono_us):
            return True
        _count(self._sent, (self._summed(event.face), event.packet), event.length)
        return False

    def _admit_received(self, event: PacketReceived, mono_us: int) -> bool:
        if event.airtime_us:
            self._on_air.add(event.face)
        if (event.verdict is Verdict.NEW and event.packet in _CONTENT) or self._hears(event.face, mono_us):
            return True
        heard = self._summed(event.face), event.packet, event.verdict, event.reason
        _count(self._received, heard, event.length, event.airtime_us)
        return False

    def _admit_seen(
        self,
        event: WantSeen | ChnkSeen | ClaimSeen | NoveltySeen | SketchSeen | AskSeen | FeedsSeen,
        mono_us: int,
    ) -> bool:
        if self._hears(event.face, mono_us):
            return True
        key = self._summed(event.face), KINDS[type(event)], event.direction, None
        _count(self._left_out, key, _total(event))
        return False

    def _admit_face_up(self, event: FaceUp, mono_us: int) -> bool:
        if _takes(self._incidents, mono_us):
            return True
        self._unrecorded.add(event.face)
        _count(self._left_out, (self._summed(event.face), KINDS[FaceUp], None, None), 0)
        return False

    def _admit_face_down(self, event: FaceDown, _: int) -> bool:
        self._on_air.discard(event.face)
        if event.face not in self._unrecorded:
            return True
        _count(self._left_out, (self._summed(event.face), KINDS[FaceDown], None, None), 0)
        self._unrecorded.remove(event.face)
        return False

    def _admit_incident(self, event: Refused | AnswersSpared, mono_us: int) -> bool:
        if event.face not in self._unrecorded and _takes(self._incidents, mono_us):
            return True
        rule = event.rule if isinstance(event, Refused) else None
        face = None if event.face is None else self._summed(event.face)
        _count(self._left_out, (face, KINDS[type(event)], None, rule), event.count)
        return False

    def _hears(self, face: FaceName, mono_us: int) -> bool:
        bucket = self._radios if face in self._on_air else self._wires
        return face not in self._unrecorded and _takes(bucket, mono_us)

    def _summed(self, face: FaceName) -> FaceName:
        """Return the name under which packets of *face* are counted: connections that have no record share one."""
        if len(self._sent) + len(self._received) + len(self._left_out) >= limits.SUMMARY_KEYS:
            return _MANY
        if face in self._unrecorded:
            listener, mark, _ = face.partition("#")
            return FaceName(listener + mark)
        return face


def _takes(bucket: TokenBucket, mono_us: int) -> bool:
    if not bucket.has(mono_us):
        return False
    bucket.take()
    return True


def _count(table: dict[_Key, list[int]], key: _Key, size: int, airtime_us: int = 0) -> None:
    sums = table.setdefault(key, [0, 0, 0])
    sums[0] += 1
    sums[1] += size
    sums[2] += airtime_us


def _total(event: WantSeen | ChnkSeen | ClaimSeen | NoveltySeen | SketchSeen | AskSeen | FeedsSeen) -> int:
    """Return what a record counts, as ``spark_sink`` sums it up."""
    match event:
        case WantSeen():
            return sum(seq > 0 for seq in event.seqs)
        case ChnkSeen():
            return len(event.chunks_wanted)
        case NoveltySeen():
            return 0
        case _:
            return event.count
