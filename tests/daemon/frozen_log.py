"""Calls that make the frozen event log in ``tests/vectors/events``."""

from pathlib import Path

from tests.store.frozen import FORKED, OWN, PEER, UNWANTED, fill
from tinyssb_node.codec import events
from tinyssb_node.daemon.eventlog import EventLog, EventLogOptions, rederive
from tinyssb_node.daemon.eventlog_segments import segments
from tinyssb_node.ids import Dialect, Direction, FaceName, MessageId, PacketKind, Verdict
from tinyssb_node.store.memory import MemoryStore

FOLDER = Path(__file__).parents[1] / "vectors" / "events"
NODE = OWN.feed_id.hex()[:16]
UDP, RADIO = FaceName("udp"), FaceName("ether:ana")
STATE = bytes(range(32))
FIRST_US, SECOND_US, THIRD_US = 1_700_000_000_000_000, 1_700_000_900_000_000, 1_700_001_800_000_000
"""When the three boots began."""

HAPPENINGS: list[events.Event] = [
    events.FaceUp(face=UDP, spec="udp:239.5.5.8:1558?interface=lo"),
    events.FaceUp(face=RADIO, spec="ether:127.0.0.1:7777?name=ana"),
    events.SetChanged(feed=PEER.feed_id, count=2, state=STATE, face=RADIO),
    events.SetChanged(feed=UNWANTED.feed_id, count=3, state=STATE, face=None),
    events.PacketReceived(
        face=RADIO,
        packet=PacketKind.ENTRY,
        length=120,
        hash=b"\x01" * 8,
        verdict=Verdict.NEW,
        rssi_dbm=-97,
        snr_db=-3.25,
        airtime_us=205_056,
        feed=PEER.feed_id,
        seq=1,
    ),
    events.PacketReceived(
        face=UDP,
        packet=PacketKind.CHUNK,
        length=120,
        hash=b"\x02" * 8,
        verdict=Verdict.DUPLICATE,
        feed=PEER.feed_id,
        seq=3,
        chunk=0,
    ),
    events.PacketReceived(
        face=UDP,
        packet=PacketKind.WANT,
        length=9,
        hash=b"\x03" * 8,
        verdict=Verdict.INVALID,
        reason="VectorShapeError",
    ),
    events.PacketReceived(
        face=UDP, packet=PacketKind.UNKNOWN, length=120, hash=b"\x04" * 8, verdict=Verdict.NOT_OURS
    ),
    events.PacketSent(face=RADIO, packet=PacketKind.CLAIM, length=105, hash=b"\x05" * 8, airtime_us=184_576),
    events.WantSeen(direction=Direction.TX, face=RADIO, state=STATE, offset_index=1, seqs=(4, 0, 2)),
    events.ChnkSeen(direction=Direction.RX, face=UDP, state=STATE, chunks_wanted=((0, 3, 2), (1, 3, 0))),
    events.ClaimSeen(
        direction=Direction.TX, face=RADIO, low=OWN.feed_id, high=PEER.feed_id, xor=STATE, count=2
    ),
    events.NoveltySeen(direction=Direction.RX, face=RADIO, feed=PEER.feed_id),
    events.SketchSeen(direction=Direction.TX, face=RADIO, salt=STATE[:4], count=2, capacity=26),
    events.AskSeen(direction=Direction.RX, face=RADIO, salt=STATE[:4], count=1),
    events.FeedsSeen(direction=Direction.TX, face=RADIO, count=1),
    events.ForkFound(feed=FORKED.feed_id, seq=1, held=MessageId(b"\x06" * 20), other=MessageId(b"\x07" * 20)),
    events.Refused(rule="queue", face=RADIO, count=12),
    events.Refused(rule="side_chains", face=None, count=1),
    events.ClockSet(step_us=-3_600_000_000),
    events.FaceDown(face=RADIO, reason="the ether closed the connection"),
    events.FaceUp(face=RADIO, spec="this line is torn by a crash"),
]
"""One or more of every kind but those that begin and end a boot, entries and chunks."""

SUMMARIES: list[events.Event] = [
    events.PacketsReceived(
        face=UDP,
        packet=PacketKind.ENTRY,
        verdict=Verdict.DUPLICATE,
        count=70_000,
        size=8_400_000,
        airtime_us=0,
    ),
    events.PacketsReceived(
        face=RADIO,
        packet=PacketKind.WANT,
        verdict=Verdict.INVALID,
        reason="VectorShapeError",
        count=2,
        size=18,
        airtime_us=92_672,
    ),
    events.RecordsLeftOut(record="want", face=UDP, direction=Direction.RX, count=20, total=61),
    events.RecordsLeftOut(record="refused", rule="rate", count=3, total=900),
    events.RecordsLeftOut(record="face_up", face=FaceName("ws:8080#"), count=5, total=0),
]
"""Counts of records that a log has no room for."""


def write(folder: Path) -> None:
    """Three boots: the first ends in a torn line after two of its three commits, the second has two segments, the third
    has counts of what was left out."""
    store = MemoryStore()
    log = EventLog.open(folder, NODE, store, FIRST_US)
    log.begin(_start(log), FIRST_US, 1_000)
    fill(store, 1)
    for number, (event, _) in enumerate(rederive(store, 0)):
        if number < 6:
            log.append(event, FIRST_US + 2_000, 2_000)
    for number, happening in enumerate(HAPPENINGS, start=3):
        log.append(happening, FIRST_US + 1_000 * number, 1_000 * number)
    log.close()
    _tear(segments(folder / NODE)[-1].path)
    log = EventLog.open(folder, NODE, store, SECOND_US, options=EventLogOptions(segment_bytes=2_000))
    log.begin(_start(log), SECOND_US, 1_500)
    log.append(HAPPENINGS[0], SECOND_US + 2_500, 2_500)
    many = events.PacketsSent(face=UDP, packet=PacketKind.ENTRY, count=512, size=61_440)
    log.append(many, SECOND_US + 3_500, 3_500)
    law = events.FaceUp(
        face=RADIO,
        spec="lora:rak4631",
        sub_band="EU868 868.0-868.6",
        limit_ppm=10_000,
        window_us=3_600_000_000,
    )
    log.append(law, SECOND_US + 4_500, 4_500)
    log.append(events.AnswersSpared(face=RADIO, count=3), SECOND_US + 5_500, 5_500)
    log.append(events.DaemonStopped(reason="SIGTERM"), SECOND_US + 9_000, 9_000)
    log.close()
    log = EventLog.open(folder, NODE, store, THIRD_US)
    log.begin(_start(log), THIRD_US, 1_700)
    for number, summary in enumerate(SUMMARIES, start=2):
        log.append(summary, THIRD_US + 1_000 * number, 1_000 * number)
    log.append(events.DaemonStopped(reason="SIGTERM"), THIRD_US + 9_000, 9_000)
    log.close()


def _start(log: EventLog) -> events.DaemonStarted:
    return events.DaemonStarted(
        name="ana", feed=OWN.feed_id, dialect=Dialect.SPEC, version="0.1.0", clean=log.clean
    )


def _tear(path: Path) -> None:
    """Cut the last line short, as a crash may."""
    path.write_bytes(path.read_bytes()[:-20])
