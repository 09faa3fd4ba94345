"""KISS framing: what was put in comes out, whatever comes before, and in whatever pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.firmware.limits import FRAME_MAX
from firmware_bridge.serial import limits
from firmware_bridge.serial.framing import KissFrameReader, serialize_frame
from firmware_bridge.serial.session import Noise

frames = st.lists(st.binary(min_size=1, max_size=300), max_size=5)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """*data* cut at some places."""
    ends = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[begin:end] for begin, end in zip([0, *ends], [*ends, len(data)], strict=True)]


def test_bytes_with_a_meaning_are_escaped() -> None:
    assert serialize_frame(bytes.fromhex("00c0db01")) == bytes.fromhex("c0 00 dbdc dbdd 01 c0")
    assert KissFrameReader().feed(bytes.fromhex("c000dbdcdbdd01c0")) == [bytes.fromhex("00c0db01")]


@given(frames, st.lists(st.integers(0, 5_000), max_size=6))
def test_frames_come_back_in_whatever_pieces(sent: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(serialize_frame, sent))
    reader = KissFrameReader()
    assert [frame for piece in pieces(stream, cuts) for frame in reader.feed(piece)] == sent


@given(st.binary(max_size=2_000), st.binary(min_size=1, max_size=300))
def test_a_frame_is_found_behind_any_noise(noise: bytes, frame: bytes) -> None:
    found = KissFrameReader().feed(noise + b"\xc0" + serialize_frame(frame))
    assert found[-1] == frame


@given(st.binary(max_size=3_000))
def test_any_bytes_are_frames_or_noise_and_all_are_accounted_for(data: bytes) -> None:
    found = KissFrameReader().feed(data + b"\xc0")
    lengths = [len(item) if isinstance(item, bytes) else item.length for item in found]
    assert all(length > 0 for length in lengths)
    assert sum(lengths) <= len(data)
    assert all(len(item) <= FRAME_MAX for item in found if isinstance(item, bytes))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"hello\xc0", "bytes outside of a frame"),
        (b"\xc0\x00\xdb\x01\x02\xc0", "a broken escape"),
        (b"\xc0\x00\xdb\xc0", "a broken escape"),
        (b"\xc0" + bytes(FRAME_MAX + 1) + b"\xc0", "a frame that is too long"),
    ],
)
def test_noise_says_what_is_wrong(data: bytes, reason: str) -> None:
    (noise,) = KissFrameReader().feed(data)
    assert noise == Noise(reason, len(data.strip(b"\xc0")))


def test_noise_without_an_end_is_told_now_and_then() -> None:
    assert KissFrameReader().feed(bytes(3 * limits.NOISE_MAX)) == 3 * [
        Noise("bytes outside of a frame", limits.NOISE_MAX)
    ]
