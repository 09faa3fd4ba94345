"""Voice in messages: what phones record is read, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.content.voice_note import MODES, RECORDED, VoiceNote, parse_voice, serialize_voice

HEADER = bytes.fromhex("c0dec201000400")
"""As the phone app writes it (`Codec2.makeHeader` of mode 1300)."""


def test_what_a_phone_records_is_read() -> None:
    note = parse_voice(HEADER + bytes(range(14)))
    assert note == VoiceNote(RECORDED, bytes(range(14)))
    assert note.samples == 640


@given(st.sampled_from(MODES), st.integers(1, 50), st.data())
def test_what_is_written_is_read(mode, count, data):
    frames = data.draw(st.binary(min_size=count * mode.frame_bytes, max_size=count * mode.frame_bytes))
    note = VoiceNote(mode, frames)
    assert parse_voice(serialize_voice(note)) == note
    cut = data.draw(st.binary(max_size=mode.frame_bytes - 1))
    assert parse_voice(serialize_voice(note) + cut) == note


@pytest.mark.parametrize(
    "data",
    [b"", HEADER, HEADER + b"short!", b"RIFF" + bytes(40), HEADER[:3] + b"\x02" + HEADER[4:] + bytes(7),
     HEADER[:5] + b"\x09\x00" + bytes(70)],
)  # fmt: skip
def test_what_is_no_voice_is_none(data: bytes) -> None:
    assert parse_voice(data) is None


@given(st.binary(max_size=64))
def test_no_bytes_hurt(data):
    for each in (data, HEADER[:5] + data):
        note = parse_voice(each)
        assert note is None or note.samples > 0
