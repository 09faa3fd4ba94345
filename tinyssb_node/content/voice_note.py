"""Recorded voice in messages of the phone app: a file of Codec 2 (docs/formats/messages.md, "Voice").

The header is that of Codec 2's own files (`codec2.h`, `struct c2_header`); frames follow without gaps.
"""

from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"\xc0\xde\xc2"
"""The first bytes."""
HEADER_SIZE: Final = 7
"""Bytes before the first frame."""
RATE_HZ: Final = 8_000
"""Samples in a second, of 16 bits, one channel."""
_VERSION: Final = (1, 0)


@dataclass(frozen=True, slots=True)
class CodecMode:
    """A bit rate of Codec 2."""

    name: str
    """As its programs call it: bits a second, and a letter."""
    number: int
    """In a header."""
    frame_bytes: int
    frame_samples: int

    def header(self) -> bytes:
        """Return the header of a file in this mode."""
        return bytes((*MAGIC, *_VERSION, self.number, 0))


MODES: Final = (
    CodecMode("3200", 0, 8, 160), CodecMode("2400", 1, 6, 160), CodecMode("1600", 2, 8, 320),
    CodecMode("1400", 3, 7, 320), CodecMode("1300", 4, 7, 320), CodecMode("1200", 5, 6, 320),
    CodecMode("700C", 8, 4, 320), CodecMode("450", 10, 3, 320),
)  # fmt: skip
"""Those that the phone app can play (`Codec2.kt`). It records in 1300: 175 bytes a second."""
RECORDED: Final = MODES[4]
"""The mode in which phones record."""


@dataclass(frozen=True, slots=True)
class VoiceNote:
    """Recorded voice."""

    mode: CodecMode
    frames: bytes
    """Whole ones."""

    @property
    def samples(self) -> int:
        """How many samples it has when it is played."""
        return len(self.frames) // self.mode.frame_bytes * self.mode.frame_samples


def parse_voice(data: bytes) -> VoiceNote | None:
    """Parse the voice of a message, which a stranger wrote; None: it is none that can be played. Bytes behind the last
    whole frame are left out."""
    if len(data) < HEADER_SIZE or data[:3] != MAGIC or tuple(data[3:5]) != _VERSION:
        return None
    mode = next((mode for mode in MODES if mode.number == data[5]), None)
    if mode is None:
        return None
    frames = data[HEADER_SIZE:]
    frames = frames[: len(frames) - len(frames) % mode.frame_bytes]
    return VoiceNote(mode, frames) if frames else None


def serialize_voice(note: VoiceNote) -> bytes:
    """Return the file of a voice note, which is what a message carries."""
    return note.mode.header() + note.frames
