"""The guess of the device at the other end of a cable, by its answers."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firmware_bridge.serial.identify import guess

NMEA = b"$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n"


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (NMEA, "a GPS receiver (it sends $GPGGA"),
        (b"\x00\xffgarbage$GNRMC,1,", "a GPS receiver (it sends $GNRMC"),
        (b"\xc0\x06\x17\xc0", "echoes"),
        (b"\r\nERROR\r\n", "telephone modem"),
        (b"tinySSB virtual LoRa pub\r\n", "console for people"),
        (b"\x94\xc3\x00\x02\x40\x01", "Meshtastic"),
        (b"MicroPython v1.27.0 on 2026\r\n>>> ", "MicroPython prompt"),
        (b"rst:0x10 (RTCWDT_RTC_RESET)", "ESP32"),
        (b"Welcome to Ubuntu!\r\nlogin: ", "a device that prints text: 'Welcome to Ubuntu! login:'"),
        (b"\x1b[0;32mI (29) main: hello\x1b[0m\x00\r\n", "a device that prints text: 'I (29) main: hello'"),
        (bytes(range(128, 200)), "another speed"),
    ],
)
def test_what_it_may_be(seen: bytes, words: str) -> None:
    found = guess(seen, b"\xc0\x06\x17\xc0")
    assert found is not None
    assert words in found


def test_silence_tells_nothing() -> None:
    assert guess(b"", b"\xc0\x06\x17\xc0") is None


@given(st.binary(max_size=512), st.binary(max_size=20))
@example(b"\x1b", b"")
@example(b"a boot counter: \x07", b"")
def test_any_bytes_make_a_short_sentence(seen: bytes, asked: bytes) -> None:
    found = guess(seen, asked)
    assert (found is None) == (seen == b"")
    assert found is None or (len(found) < 120 and found.isprintable())
