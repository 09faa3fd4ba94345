"""Peers that send or ask without end: they do not fill the log, and all that is left out is counted."""

from dataclasses import replace

import pytest

from tests.daemon.logshell import TX, Shell
from tinyssb_node import limits
from tinyssb_node.codec.events import (
    FaceDown,
    FaceUp,
    PacketReceived,
    PacketsReceived,
    PacketsSent,
    RecordsLeftOut,
    Refused,
    WantSeen,
)
from tinyssb_node.daemon.eventlog_meter import RecordMeter
from tinyssb_node.ids import Direction, FaceName, PacketKind, Verdict

WEB = replace(TX, face=FaceName("ws:1#1"), packet=PacketKind.ENTRY, length=120)
MINUTE = 60


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(limits, "SENT_BURST", 3)


@pytest.fixture
def shell(tmp_path):
    shell = Shell(tmp_path).start()
    yield shell
    shell.crash()


def told(shell):
    return [
        (record["kind"], record["face"], record.get("count"), record.get("size"))
        for record in shell.records()
        if record["kind"] in ("tx", "tx_more")
    ]


def test_beyond_a_burst_packets_are_counted_once_a_minute(shell):
    shell.append(*[WEB] * 10, TX)
    shell.later(MINUTE - 1)
    assert told(shell) == [("tx", "ws:1#1", None, None)] * 3
    shell.later(1)
    assert told(shell)[3:] == [("tx_more", "ws:1#1", 7, 840), ("tx_more", "udp", 1, 20)]
    shell.later(2 * MINUTE)
    assert len(told(shell)) == 5


def test_the_bucket_fills_again(shell):
    shell.append(*[WEB] * 4)
    shell.mono_us += 1_000_000
    shell.append(*[WEB] * (limits.SENT_PER_S + 1))
    shell.log.flush()
    assert len(told(shell)) == 3 + 3, "no further than to the brim"


def test_what_goes_on_the_air_has_its_record(shell):
    shell.append(*[WEB] * 4, *[replace(WEB, airtime_us=205_056)] * 5)
    shell.log.flush()
    assert len(told(shell)) == 3 + 5


def test_a_boot_that_ends_tells_the_rest(shell):
    shell.append(*[WEB] * 5, FaceDown(face=WEB.face, reason="gone"))
    shell.append(WEB)
    shell.stop()
    assert shell.kinds()[2:] == ["tx", "tx", "tx", "face_down", "tx_more", "stop"]
    assert [row[2] for row in told(shell)[3:]] == [3]


def test_nothing_is_lost_in_counting():
    meter = RecordMeter()
    admitted = sum(meter.admit(WEB, 100 * number) for number in range(1_000))
    assert list(meter.take()) == [
        PacketsSent(face=WEB.face, packet=WEB.packet, count=1_000 - admitted, size=120 * (1_000 - admitted))
    ]
    assert list(meter.take()) == []


# --- what peers send


def heard(verdict=Verdict.DUPLICATE, packet=PacketKind.ENTRY, face=WEB.face, airtime_us=0, reason=None):
    return PacketReceived(
        face=face,
        packet=packet,
        length=120,
        hash=bytes(8),
        verdict=verdict,
        reason=reason,
        airtime_us=airtime_us,
    )


def want(seqs=(3, 0, 2), face=WEB.face):
    return WantSeen(direction=Direction.RX, face=face, state=bytes(32), offset_index=0, seqs=seqs)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(limits, "HEARD_BURST", 3)
    monkeypatch.setattr(limits, "INCIDENT_BURST", 2)


def summed(meter):
    """Return the counts of what was left out."""
    return list(meter.take())


def test_duplicates_are_counted_by_face_kind_verdict_and_reason(few):
    meter = RecordMeter()
    junk = heard(Verdict.INVALID, PacketKind.UNKNOWN, reason="CrcError")
    assert [meter.admit(heard(), 0) for _ in range(5)] == [True] * 3 + [False] * 2
    assert not meter.admit(junk, 0)
    assert summed(meter) == [
        PacketsReceived(
            face=WEB.face, packet=PacketKind.ENTRY, verdict=Verdict.DUPLICATE, count=2, size=240, airtime_us=0
        ),
        PacketsReceived(
            face=WEB.face,
            packet=PacketKind.UNKNOWN,
            verdict=Verdict.INVALID,
            reason="CrcError",
            count=1,
            size=120,
            airtime_us=0,
        ),
    ]


def test_what_is_new_has_its_record_in_a_flood_too(few):
    meter = RecordMeter()
    for _ in range(10):
        meter.admit(heard(), 0)
    assert meter.admit(heard(Verdict.NEW, PacketKind.ENTRY), 0)
    assert meter.admit(heard(Verdict.NEW, PacketKind.CHUNK), 0)
    assert not meter.admit(heard(Verdict.NEW, PacketKind.WANT), 0), "which brings nothing"


def test_of_vectors_it_is_counted_what_they_request(few):
    meter = RecordMeter()
    for _ in range(5):
        meter.admit(want(), 0)
    assert summed(meter) == [
        RecordsLeftOut(record="want", face=WEB.face, direction=Direction.RX, count=2, total=4)
    ]


def test_radios_have_a_share_of_their_own(few):
    meter = RecordMeter()
    radio = FaceName("lora")
    for _ in range(10):
        meter.admit(heard(), 0)
    assert meter.admit(heard(face=radio, airtime_us=205_056), 0)
    assert meter.admit(want(face=radio), 0)
    for _ in range(3):
        meter.admit(heard(face=radio, airtime_us=205_056), 0)
    assert [row.airtime_us for row in summed(meter) if row.face == radio] == [2 * 205_056]


def test_connections_without_end_share_one_count(few):
    meter = RecordMeter()
    recorded = 0
    for number in range(20):
        face = FaceName(f"ws:1#{number}")
        recorded += meter.admit(FaceUp(face=face, spec="ws"), 0)
        recorded += meter.admit(heard(face=face), 0)
        recorded += meter.admit(Refused(rule="rate", face=face, count=3), 0)
        recorded += meter.admit(FaceDown(face=face, reason="gone"), 0)
    assert recorded == 4, "of the first connection, and then of none"
    rows = summed(meter)
    assert {row.face for row in rows} <= {"ws:1#", "ws:1#0"}
    assert sum(row.count for row in rows) == 4 * 20 - recorded
    assert RecordsLeftOut(record="refused", face=FaceName("ws:1#"), rule="rate", count=19, total=57) in rows


def test_too_many_counts_lose_their_face(few, monkeypatch):
    monkeypatch.setattr(limits, "SUMMARY_KEYS", 4)
    meter = RecordMeter()
    for number in range(20):
        meter.admit(heard(face=FaceName(f"ble{number}")), 0)
    rows = summed(meter)
    assert len(rows) == 5
    assert sum(row.count for row in rows) == 17
    assert rows[-1].face == ""


def test_counts_are_written_some_a_minute(few, monkeypatch):
    monkeypatch.setattr(limits, "SUMMARY_ROWS", 2)
    meter = RecordMeter()
    for number in range(8):
        meter.admit(heard(face=FaceName(f"ble{number}")), 0)
    assert len(list(meter.due(59_999_999))) == 0
    assert len(list(meter.due(60_000_000))) == 2
    assert len(list(meter.due(60_000_001))) == 0
    assert len(list(meter.due(120_000_000))) == 2
    assert len(list(meter.take())) == 1
