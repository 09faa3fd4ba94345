"""Events: records of what happened. The shell adds time, node and offset to each, and appends it to the event log.

``docs/formats/events.md`` is the contract; the field names here are the field names there.
"""

from dataclasses import dataclass

from tinyssb_node.codec.values import quick_dataclass
from tinyssb_node.ids import (
    Dialect,
    Direction,
    FaceName,
    FeedId,
    MessageId,
    NetworkName,
    Origin,
    PacketKind,
    Verdict,
)


@quick_dataclass(frozen=True, slots=True, kw_only=True)
class EntryAppended:
    """A verified entry was added to its feed."""

    feed: FeedId
    """The feed."""
    seq: int
    """Its sequence number, from 1."""
    id: MessageId
    """Its message id."""
    type: int
    """The entry's type byte."""
    size: int
    """Bytes of content it declares, those in its side chain included."""
    chunks: int
    """Packets of its side chain, 0 for none."""
    origin: Origin
    """Its origin."""
    face: FaceName | None
    """Which face brought it, None for our own and imported ones."""
    arrival: int
    """Number of this append in the node's store: counts entries and chunks together, from 1, without gaps."""


@quick_dataclass(frozen=True, slots=True, kw_only=True)
class ChunkAppended:
    """A verified packet of a side chain was added."""

    feed: FeedId
    """The feed."""
    seq: int
    """The entry the side chain hangs on."""
    chunk: int
    """Its number in the side chain, from 0."""
    size: int
    """Bytes of content in it, without padding."""
    complete: bool
    """True if this was the last one missing."""
    origin: Origin
    """Its origin."""
    face: FaceName | None
    """Which face brought it, None for our own and imported ones."""
    arrival: int
    """As for entries."""


@quick_dataclass(frozen=True, slots=True, kw_only=True)
class PacketReceived:
    """A packet came in on a face."""

    face: FaceName
    """Which face."""
    packet: PacketKind
    """Its kind."""
    length: int
    """Bytes, without framing."""
    hash: bytes
    """First 8 bytes of the SHA-256 of the packet: the same on every node that heard or sent it."""
    verdict: Verdict
    """The result of checking it."""
    reason: str | None = None
    """The reason why it is invalid: the rule's name."""
    rssi_dbm: int | None = None
    """Received signal strength, where the face knows it."""
    snr_db: float | None = None
    """Signal to noise ratio, where the face knows it."""
    airtime_us: int = 0
    """Microseconds on the air, 0 where air costs nothing."""
    feed: FeedId | None = None
    """The feed of an entry or chunk, where known."""
    seq: int | None = None
    """The sequence number of an entry, or of a chunk's entry, where known."""
    chunk: int | None = None
    """The number of a chunk, where known."""


@quick_dataclass(frozen=True, slots=True, kw_only=True)
class PacketSent:
    """A packet went out on a face."""

    face: FaceName
    """Which face."""
    packet: PacketKind
    """Its kind."""
    length: int
    """Bytes, without framing."""
    hash: bytes
    """As for received packets."""
    airtime_us: int
    """Microseconds on the air, 0 where air costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketsSent:
    """A summary of sent packets of one kind that have no record each, on a face where airtime costs nothing."""

    face: FaceName
    """Which face."""
    packet: PacketKind
    """Their kind."""
    count: int
    """Their number."""
    size: int
    """Bytes of all of them, without framing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketsReceived:
    """A summary of received packets that have no record each, because a peer sent more than the log takes."""

    face: FaceName
    """Which face; up to its "#" for a connection whose coming up has no record either; empty if there are many."""
    packet: PacketKind
    """Their kind."""
    verdict: Verdict
    """The result of checking them."""
    reason: str | None = None
    """The reason why they are invalid: the rule's name."""
    count: int
    """Their number."""
    size: int
    """Bytes of all of them, without framing."""
    airtime_us: int
    """Microseconds on the air of all of them, 0 where air costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsLeftOut:
    """A summary of other records that are not in the log, because a peer caused more than the log takes."""

    record: str
    """Their kind."""
    face: FaceName | None = None
    """As for received packets."""
    direction: Direction | None = None
    """Which way, for packets that were sent or understood."""
    rule: str | None = None
    """By which rule, for refusals."""
    count: int
    """Their number."""
    total: int
    """The sum of what each of them counts: its ``count``, or how many entries or chunks it requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantSeen:
    """A WANT was sent or understood."""

    direction: Direction
    """Which way."""
    face: FaceName
    """Which face."""
    state: bytes
    """XOR of the set's feed ids, 32 bytes: the set its numbers index."""
    offset_index: int
    """Index of the feed that the first number is about."""
    seqs: tuple[int, ...]
    """Next wanted sequence number per feed from *offset_index* on, 0 for "not this one"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChnkSeen:
    """A CHNK was sent or understood."""

    direction: Direction
    """Which way."""
    face: FaceName
    """Which face."""
    state: bytes
    """As for WANT."""
    chunks_wanted: tuple[tuple[int, int, int], ...]
    """(feed index, sequence number, chunk number) of the first chunk missing of each side chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSeen:
    """A CLAIM was sent or understood."""

    direction: Direction
    """Which way."""
    face: FaceName
    """Which face."""
    low: FeedId
    """Lowest feed id of the region."""
    high: FeedId
    """Highest feed id of the region."""
    xor: bytes
    """XOR of the region's feed ids, 32 bytes."""
    count: int
    """Feed ids in the region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltySeen:
    """A NOVELTY was sent or understood."""

    direction: Direction
    """Which way."""
    face: FaceName
    """Which face."""
    feed: FeedId
    """The feed id in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SketchSeen:
    """A SKETCH was sent or understood."""

    direction: Direction
    """Which way."""
    face: FaceName
    """Which face."""
    salt: bytes
    """Its salt, 4 bytes."""
    count: int
    """Feed ids in the sender's set."""
    capacity: int
    """Most differences that can be computed from it, 0 to 26."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSeen:
    """An ASK was sent or understood."""

    direction: Direction
    """Which way."""
    face: FaceName
    """Which face."""
    salt: bytes
    """As in the SKETCH it goes back to."""
    count: int
    """Feed ids it asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedsSeen:
    """A FEEDS packet was sent or understood."""

    direction: Direction
    """Which way."""
    face: FaceName
    """Which face."""
    count: int
    """Feed ids in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetChanged:
    """A feed id was added to the set, or has left it."""

    feed: FeedId
    """Which one."""
    count: int
    """Feed ids in the set now."""
    state: bytes
    """XOR of the set's feed ids now, 32 bytes."""
    face: FaceName | None
    """The face by which it came; None for a user of this node, and where one has left."""
    left: bool | None = None
    """True if it has left the set; its entries stay stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkFound:
    """Two validly signed entries have the same sequence number in a feed. Both are kept as proof; the feed is
    frozen."""

    feed: FeedId
    """The forked feed."""
    seq: int
    """The place both claim."""
    held: MessageId
    """Message id of the one we hold."""
    other: MessageId
    """Message id of the other one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceUp:
    """A face can send and receive."""

    face: FaceName
    """Its name."""
    spec: str
    """The spec string it was opened by."""
    sub_band: str | None = None
    """The legal sub-band it sends in; None where no law limits how much is sent. So are the following."""
    limit_ppm: int | None = None
    """Airtime allowed, in microseconds per second of the window."""
    window_us: int | None = None
    """Any window of this length counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceDown:
    """A face is gone."""

    face: FaceName
    """Its name."""
    reason: str
    """The reason, in plain words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Something was refused because of a limit; at most one record a minute and rule."""

    rule: str
    """Which bound: queue, orphans, set, faces, rate (records of junk), budget (airtime), read_only (the disk),
    event_log."""
    face: FaceName | None
    """The face, if the limit is a face's."""
    count: int
    """Number since the last such record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersSpared:
    """Replies were dropped because another node gave them first; at most one record a minute and face."""

    face: FaceName
    """The face."""
    count: int
    """Number since the last such record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSet:
    """The wall clock moved against the monotonic clock."""

    step_us: int
    """By how much, forward positive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStarted:
    """First record of every boot."""

    name: str
    """The node's name, chosen by its user."""
    feed: FeedId
    """Its own feed."""
    dialect: Dialect
    """The dialect it writes."""
    version: str
    """The program's version."""
    clean: bool
    """True if the boot before ended by a stop record (or there was none)."""
    network_name: NetworkName | None = None
    """The node's own name for the network; None for the default one."""
    latitude: float | None = None
    """The node's position if its user configured one: degrees north (WGS 84)."""
    longitude: float | None = None
    """Degrees east."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStopped:
    """Last record of a boot that ended in order."""

    reason: str
    """The reason: signal or command."""


Event = (
    EntryAppended
    | ChunkAppended
    | PacketReceived
    | PacketSent
    | PacketsSent
    | PacketsReceived
    | RecordsLeftOut
    | WantSeen
    | ChnkSeen
    | ClaimSeen
    | NoveltySeen
    | SketchSeen
    | AskSeen
    | FeedsSeen
    | SetChanged
    | ForkFound
    | FaceUp
    | FaceDown
    | Refused
    | AnswersSpared
    | ClockSet
    | DaemonStarted
    | DaemonStopped
)
"""Everything that can happen."""


@dataclass(frozen=True, slots=True)
class Send:
    """A request to send *packet* on *face*, once everything the core wrote to the store is committed."""

    face: FaceName
    """Which face."""
    packet: bytes
    """8 to 120 bytes, without CRC or other framing."""
    kind: PacketKind
    """Its kind."""


Effect = Send | Event
"""An event is an effect too: "record this"."""
