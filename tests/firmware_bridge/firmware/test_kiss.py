"""The firmware's KISS decoder against the host's: both find the same frames in any bytes."""

from hypothesis import example, given
from hypothesis import strategies as st

from firmware_bridge.firmware import kiss, limits
from firmware_bridge.serial.framing import KissFrameReader, serialize_frame

CABLE = st.lists(
    st.one_of(
        st.sampled_from([b"\xc0", b"\xdb", b"\xdb\xdc", b"\xdb\xdd", b"\xc0\x06\x17\xc0"]),
        st.binary(max_size=30),
        st.binary(min_size=250, max_size=520).map(serialize_frame),
    ),
    max_size=12,
).map(b"".join)


@given(data=CABLE, cut=st.integers(0, 500))
@example(data=serialize_frame(bytes(limits.FRAME_MAX)) + serialize_frame(bytes(limits.FRAME_MAX + 1)), cut=0)
@example(data=b"\xc0\x06\xdb\xc0\x06\x17\xc0", cut=3)
def test_frames_are_read_as_the_host_reads_them(data: bytes, cut: int) -> None:
    host = [frame for frame in KissFrameReader().feed(data) if isinstance(frame, bytes)]
    reader = kiss.KissReader()
    assert reader.feed(data[:cut]) + reader.feed(data[cut:]) == host
