"""Rendering of values for people."""

import json
import re

import wcwidth
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.codec import bipf
from tinyssb_node.content.acks import ACK_TYPE, Ack, serialize_acks
from tinyssb_node.screens.render import (
    LINE_TEXT,
    DecodedFormat,
    decode_content,
    duration,
    fields,
    local_time,
    one_line,
    printable,
    shortened,
    table,
    to_json,
)


def test_content_is_bipf_else_text_else_hex() -> None:
    assert decode_content(bipf.encode(["TAV", [], None])).form is DecodedFormat.BIPF
    assert decode_content(b"plain words").value == "plain words"
    assert decode_content(b"plain words").form is DecodedFormat.TEXT
    assert decode_content(b"two\nlines").form is DecodedFormat.TEXT
    assert decode_content(b"\x1b[2Jx").form is DecodedFormat.HEX
    assert decode_content(b"\xff\xfe").value == "fffe"
    assert decode_content(b"").form is DecodedFormat.TEXT


def test_of_a_damaged_message_the_readable_items_are_shown() -> None:
    decoded = decode_content(bytes.fromhex("8c0118544156304772c3bc657a6906229c1bcc64"))
    assert decoded.form is DecodedFormat.DAMAGED
    assert decoded.value == ["TAV", "Grüezi", None, 1691098012]
    assert decoded.damage == "lengths in it count characters instead of bytes"


def test_an_acknowledgement_is_shown_as_what_it_says() -> None:
    content, _ = serialize_acks([Ack(7, b"\x6f\x1c\x02\xaa"), Ack(300, b"\x00\xe4\xb1\x19")])
    decoded = decode_content(content, ACK_TYPE)
    assert decoded.form is DecodedFormat.ACKS
    assert one_line(decoded) == '[[7, "6f1c02aa"], [300, "00e4b119"]]'
    assert decode_content(content).form is DecodedFormat.HEX
    assert decode_content(bytes(48), ACK_TYPE).form is DecodedFormat.HEX


@given(st.binary(max_size=60) | st.text(max_size=20).map(bipf.encode))
def test_no_content_moves_the_cursor(content: bytes) -> None:
    line = one_line(decode_content(content))
    assert wcwidth.wcswidth(line) >= 0
    json.dumps(to_json(decode_content(content).value), allow_nan=False)


@given(st.text())
def test_whatever_is_printed_is_printable(text: str) -> None:
    assert wcwidth.wcswidth(printable(text)) >= 0
    if text.isascii() and text.isprintable():
        assert printable(text) == text


def test_what_json_cannot_say_is_put_in_words() -> None:
    value: bipf.Value = {"b": b"\x01", 2: float("inf"), b"\x03": [True, None], "s": "é"}
    assert to_json(value) == {"b": {"hex": "01"}, "2": "inf", "03": [True, None], "s": "é"}


def test_columns_are_aligned_and_escaped() -> None:
    shown = table(("NAME", "COUNT", "X"), [("a\x1b", 5, None), ("bcd", 1000, True)])
    assert shown.splitlines() == ["NAME   COUNT  X", "a\\x1b      5  -", "bcd     1000  yes"]
    assert table(("A", "B"), []) == "A  B"
    assert table(("A", "B"), [("漢", 1), ("e" + "\u0301" * 99, 22)]).splitlines()[1] == "漢   1"
    assert fields([("a", 1), ("long", "x\ny")]) == "a:     1\nlong:  x\\ny"


def test_times_are_local_iso_whatever_the_number() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", local_time(1_700_000_000_000_000))
    assert local_time(2**70) == str(2**70)


def test_durations_have_two_units() -> None:
    spans = [duration(us) for us in (1_500_000, 61_000_000, 3_660_000_000, 90_000_000_000)]
    assert spans == ["1.5 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]


def test_long_content_is_cut() -> None:
    assert shortened("x" * LINE_TEXT) == "x" * LINE_TEXT
    assert shortened("x" * (LINE_TEXT + 1)).endswith("x…")
