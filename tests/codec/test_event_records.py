import json
import re
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.daemon.anyevent import any_event
from tinyssb_node import limits
from tinyssb_node.codec import events
from tinyssb_node.codec.event_records import KINDS, record_serializers, serialize_mark
from tinyssb_node.ids import FaceName, FeedId, MessageId, Origin, PacketKind, Verdict

NODE = "00112233aabbccdd"
SERIALIZERS = record_serializers(NODE, 7)
HEADER = ["v", "node", "boot", "offset", "t_us", "mono_us", "kind"]
DOCUMENT = Path(__file__).parents[2] / "docs" / "formats" / "events.md"
ANA = FeedId(bytes(range(32)))


def write(event, offset=5, t_us=1_700_000_000_000_000, mono_us=42):
    return SERIALIZERS[type(event)](event, offset, t_us, mono_us)


def expected(value):
    """Return the form of a field's value in the format."""
    match value:
        case Enum():
            return value.value
        case bytes():
            return value.hex()
        case str():
            return value[: limits.EVENT_TEXT_MAX]
        case tuple():
            return [expected(item) for item in value]
    return value


@given(any_event, st.integers(0, 10**12 - 1), st.integers(0, 2**53), st.integers(0, 2**53))
def test_a_record_says_what_the_event_said(event, offset, t_us, mono_us):
    line = write(event, offset, t_us, mono_us)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert len(line) <= limits.EVENT_LINE_MAX
    record = json.loads(line)
    header = {"v": 1, "node": NODE, "boot": 7, "offset": offset, "t_us": t_us, "mono_us": mono_us}
    said = {field.name: expected(getattr(event, field.name)) for field in fields(event)}
    present = {name: value for name, value in said.items() if value is not None}
    assert record == header | {"kind": KINDS[type(event)]} | present
    assert list(record)[: len(HEADER)] == HEADER, "readers like a fixed beginning"


def test_a_received_packet_in_full():
    event = events.PacketReceived(
        face=FaceName("udp"),
        packet=PacketKind.ENTRY,
        length=120,
        hash=bytes(range(8)),
        verdict=Verdict.NEW,
        rssi_dbm=-90,
        snr_db=7.5,
        feed=ANA,
        seq=5,
    )
    assert write(event).decode() == (
        '{"v":1,"node":"00112233aabbccdd","boot":7,"offset":5,"t_us":1700000000000000,"mono_us":42,"kind":"rx",'
        '"face":"udp","packet":"entry","length":120,"hash":"0001020304050607","verdict":"new","airtime_us":0,'
        f'"rssi_dbm":-90,"snr_db":7.5,"feed":"{ANA.hex()}","seq":5}}\n'
    )


def test_fields_without_a_value_are_left_out_and_zeros_are_not():
    event = events.EntryAppended(
        feed=ANA,
        seq=1,
        id=MessageId(bytes(20)),
        type=0,
        size=0,
        chunks=0,
        origin=Origin.OWN,
        face=None,
        arrival=1,
    )
    record = json.loads(write(event))
    assert "face" not in record
    assert record["type"] == record["size"] == record["chunks"] == 0


def test_a_long_text_is_cut():
    record = json.loads(write(events.FaceDown(face=FaceName("udp"), reason="x" * 9_999)))
    assert record["reason"] == "x" * limits.EVENT_TEXT_MAX


def test_the_longest_texts_of_a_record_fit_a_line():
    worst = "\x01" * 500
    event = events.FaceUp(face=FaceName(worst), spec=worst, sub_band=worst, limit_ppm=10**6, window_us=10**12)
    assert len(write(event, 10**12 - 1, 2**53, 2**53)) <= limits.EVENT_LINE_MAX


def test_a_text_that_utf8_cannot_say_is_written_with_question_marks():
    record = json.loads(write(events.DaemonStopped(reason="caf\udce9")))
    assert record["reason"] == "caf?"


def test_a_mark():
    line = serialize_mark(NODE, 7, 1, 2, 3, 99)
    record = json.loads(line)
    assert record == {"v": 1, "node": NODE, "boot": 7, "offset": 1, "t_us": 2, "mono_us": 3} | {
        "kind": "mark",
        "arrival": 99,
    }
    assert line.endswith(b"\n")


@given(any_event)
def test_every_record_of_a_network_with_a_key_says_which(event):
    line = record_serializers(NODE, 7, "00112233445566")[type(event)](event, 5, 1_700_000_000_000_000, 42)
    assert len(line) <= limits.EVENT_LINE_MAX
    assert json.loads(line) == {**json.loads(write(event)), "network": "00112233445566"}
    assert json.loads(serialize_mark(NODE, 7, 1, 2, 3, 99, "00112233445566"))["network"] == "00112233445566"


# The document


def documented():
    """Kinds and the text of their fields, from the table in the document."""
    rows = re.findall(
        r"^\| `(\w+)` \| (.+?) \| [^|]+ \|$", DOCUMENT.read_text().replace("\\|", "¦"), re.MULTILINE
    )
    return {kind: set(re.findall(r"`(\w+)`", text)) for kind, text in rows}


def test_every_kind_is_documented_and_every_documented_kind_is_written():
    kinds = {kind for kind in documented() if kind not in {*HEADER, "network"}}
    assert kinds == {*KINDS.values(), "mark"}


@pytest.mark.parametrize("event_class", get_args(events.Event), ids=lambda event_class: event_class.__name__)
def test_every_field_is_documented(event_class):
    missing = {field.name for field in fields(event_class)} - documented()[KINDS[event_class]]
    assert not missing


def test_the_header_is_documented():
    assert {*HEADER, "network"} <= set(re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(), re.MULTILINE))


def test_every_kind_of_packet_is_documented():
    text = DOCUMENT.read_text()
    line = next(line for line in text.splitlines() if line.startswith("`packet` is one of"))
    assert line == f"`packet` is one of `{' '.join(PacketKind)}`."
