"""Playing and recording of voice: the programs of Codec 2, each in a process of its own, which strangers' bytes can
crash and nothing else."""

import asyncio
import contextlib
import io
import shutil
import wave
from typing import Final

from tinyssb_node.content.voice_note import RATE_HZ, RECORDED, VoiceNote
from tinyssb_node.web import limits
from tinyssb_node.web.errors import CodecFailedError, CodecMissingError

_SAMPLE_BYTES: Final = 2


class VoiceCodec:
    """Codec 2, one recording at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def play(self, note: VoiceNote) -> bytes:
        """Return a voice note as a WAV file: 8,000 samples a second of 16 bits, one channel.

        Raises CodecMissingError, CodecFailedError.
        """
        samples = await self._run("c2dec", note.mode.name, note.frames)
        if len(samples) != note.samples * _SAMPLE_BYTES:
            raise CodecFailedError("c2dec")
        made = io.BytesIO()
        with wave.open(made, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(_SAMPLE_BYTES)
            file.setframerate(RATE_HZ)
            file.writeframes(samples)
        return made.getvalue()

    async def record(self, samples: bytes) -> VoiceNote:
        """Return *samples* (8,000 a second, 16 bits, the lowest byte first) as a voice note of the phone app's kind.
        What is beyond the last 40 ms is left out.

        Raises CodecMissingError, CodecFailedError.
        """
        frames = await self._run("c2enc", RECORDED.name, samples)
        whole = len(samples) // (_SAMPLE_BYTES * RECORDED.frame_samples)
        if not whole or len(frames) != whole * RECORDED.frame_bytes:
            raise CodecFailedError("c2enc")
        return VoiceNote(RECORDED, frames)

    async def _run(self, program: str, mode: str, data: bytes) -> bytes:
        """Pass *data* through a program."""
        path = shutil.which(program)
        if path is None:
            raise CodecMissingError
        async with self._turn:
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                path, mode, "-", "-", stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
            )
            try:
                async with asyncio.timeout(limits.CODEC_S):
                    found, _ = await process.communicate(data)
            except TimeoutError as error:
                raise CodecFailedError(program) from error
            finally:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
        if process.returncode:
            raise CodecFailedError(program)
        return found
