"""Reception log: the records of received packets, with a bound on how many a stranger's junk may cause."""

from tinyssb_node import limits
from tinyssb_node.codec.events import PacketReceived
from tinyssb_node.ids import FaceName, Verdict
from tinyssb_node.replication.packet_outcome import ORPHANS_FULL, PacketOutcome
from tinyssb_node.scheduling.link import Reception
from tinyssb_node.scheduling.refusals import RefusalLog
from tinyssb_node.scheduling.suppression import RecentSet
from tinyssb_node.scheduling.token_bucket import TokenBucket
from tinyssb_node.scheduling.transmit_queue import TransmitQueue

_INVALID = Verdict.INVALID
_NOT_OURS = Verdict.NOT_OURS
"""Module-level aliases: a global lookup is ten times faster than `Enum.member`, and this is the hot path."""


class ReceptionLog:
    """Counts and records received packets."""

    def __init__(self, refusals: RefusalLog) -> None:
        self._refusals = refusals
        self._junk_meters: dict[FaceName, TokenBucket] = {}
        self._heard: dict[FaceName, RecentSet[bytes]] = {}

    def face_up(self, face: FaceName, now_us: int) -> None:
        """A face can be used."""
        self._junk_meters[face] = TokenBucket(limits.JUNK_BURST, limits.JUNK_PER_S, 1_000_000, now_us)
        self._heard[face] = RecentSet(limits.RECENT_MAX)

    def face_down(self, face: FaceName) -> None:
        """A face is gone."""
        del self._junk_meters[face]
        del self._heard[face]

    def is_repeat(self, queue: TransmitQueue, hash_: bytes, now_us: int) -> bool:
        """A CLAIM, WANT or the like was heard. Return True if the very same was heard there a moment ago."""
        return self._heard_within(queue, hash_, queue.profile.hold_us, now_us)

    def is_second_copy(self, queue: TransmitQueue, hash_: bytes, now_us: int) -> bool:
        """A copy of an entry or chunk that is stored was heard. Return True if the very same copy was heard there of
        late: honest neighbours seldom give a packet so often."""
        return self._heard_within(queue, hash_, limits.COPIES_US, now_us)

    def _heard_within(self, queue: TransmitQueue, hash_: bytes, span_us: int, now_us: int) -> bool:
        heard = self._heard[queue.name]
        again = heard.within(hash_, span_us, now_us)
        heard.add(hash_, now_us)
        return again

    def record(
        self,
        queue: TransmitQueue,
        length: int,
        digest: bytes,
        finding: PacketOutcome,
        reception: Reception,
        now_us: int,
    ) -> PacketReceived | None:
        """Return the record of a received packet; None where junk has used up its share of records."""
        verdict = finding.verdict
        queue.count_verdict(verdict)
        if verdict is _INVALID or verdict is _NOT_OURS:
            if finding.reason == ORPHANS_FULL:
                self._refusals.refuse("orphans", queue.name)
            meter = self._junk_meters[queue.name]
            if not meter.has(now_us):
                self._refusals.refuse("rate", queue.name)
                return None
            meter.take()
        return PacketReceived(
            face=queue.name,
            packet=finding.kind,
            length=length,
            hash=digest[: limits.PACKET_HASH_SIZE],
            verdict=verdict,
            reason=finding.reason if verdict is _INVALID else None,
            rssi_dbm=reception.rssi_dbm,
            snr_db=reception.snr_db,
            airtime_us=reception.airtime_us,
            feed=finding.feed,
            seq=finding.seq,
            chunk=finding.chunk,
        )
