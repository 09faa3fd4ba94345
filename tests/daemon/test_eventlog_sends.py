"""Peers that ask without end: they do not fill the log, and all packets sent to them are counted."""

from dataclasses import replace

import pytest

from tests.daemon.logshell import TX, Shell
from tinyssb_node import limits
from tinyssb_node.codec.events import FaceDown, PacketsSent
from tinyssb_node.daemon.eventlog import SendMeter
from tinyssb_node.ids import FaceName, PacketKind

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


def test_a_face_that_goes_and_a_boot_that_ends_tell_the_rest(shell):
    shell.append(*[WEB] * 5, FaceDown(face=WEB.face, reason="gone"))
    shell.append(WEB)
    shell.stop()
    assert shell.kinds()[2:] == ["tx", "tx", "tx", "tx_more", "face_down", "tx_more", "stop"]
    assert [row[2] for row in told(shell)[3:]] == [2, 1]


def test_nothing_is_lost_in_counting():
    meter = SendMeter()
    admitted = sum(meter.admit(WEB, 100 * number) for number in range(1_000))
    assert meter.take() == [
        PacketsSent(face=WEB.face, packet=WEB.packet, count=1_000 - admitted, size=120 * (1_000 - admitted))
    ]
    assert meter.take() == []
