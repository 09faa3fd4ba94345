"""The firmware's KISS against the host's: each understands what the other writes, whatever the bytes."""

from hypothesis import example, given
from hypothesis import strategies as st

from firmware_bridge.chips.modem import PAYLOAD_MAX
from firmware_bridge.firmware import kiss, limits
from firmware_bridge.serial import limits as host_limits
from firmware_bridge.serial.framing import FrameReader, serialize_frame
from firmware_bridge.serial.kiss import Command, ErrorCode, RxMeta, Sub, TxResult, serialize_rx_meta

CABLE = st.lists(
    st.one_of(
        st.sampled_from([b"\xc0", b"\xdb", b"\xdb\xdc", b"\xdb\xdd", b"\xc0\x06\x17\xc0"]),
        st.binary(max_size=30),
        st.binary(min_size=250, max_size=520).map(serialize_frame),
    ),
    max_size=12,
).map(b"".join)


@given(frame=st.binary(max_size=limits.FRAME_MAX))
def test_frames_are_written_as_the_host_writes_them(frame: bytes) -> None:
    assert kiss.frame(frame) == serialize_frame(frame)


@given(data=CABLE, cut=st.integers(0, 500))
@example(data=serialize_frame(bytes(limits.FRAME_MAX)) + serialize_frame(bytes(limits.FRAME_MAX + 1)), cut=0)
@example(data=b"\xc0\x06\xdb\xc0\x06\x17\xc0", cut=3)
def test_frames_are_read_as_the_host_reads_them(data: bytes, cut: int) -> None:
    host = [frame for frame in FrameReader().feed(data) if isinstance(frame, bytes)]
    reader = kiss.Reader()
    assert reader.feed(data[:cut]) + reader.feed(data[cut:]) == host


@given(snr=st.integers(-200, 200), rssi=st.integers(-200, 200))
def test_signals_are_cut_as_the_host_cuts_them(snr: int, rssi: int) -> None:
    meta = serialize_rx_meta(RxMeta(snr_db=snr / 4, rssi_dbm=rssi))
    assert bytes([kiss.meta_byte(snr), kiss.meta_byte(rssi)]) == meta


def test_the_numbers_are_the_host_s() -> None:
    subs = {"SET_POWER", "OK", "ERROR"} | {sub.name for sub in Sub}
    for name in subs:
        assert getattr(kiss, name) == Sub[name], name
    for command in Command:
        assert getattr(kiss, command.name) == command, command
    assert list(TxResult) == [kiss.FAILED, kiss.SENT, kiss.BUSY, kiss.DUTY_SPENT]
    assert list(ErrorCode) == [
        kiss.INVALID_LENGTH,
        kiss.INVALID_PARAM,
        kiss.NOT_AVAILABLE,
        kiss.UNKNOWN_COMMAND,
        kiss.TX_BUSY,
        kiss.NO_RADIO,
    ]
    assert (limits.FRAME_MAX, PAYLOAD_MAX, limits.EXTENSION) == (
        host_limits.KISS_FRAME_MAX,
        host_limits.KISS_PACKET_MAX,
        host_limits.KISS_EXTENSION,
    )
