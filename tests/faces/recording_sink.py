"""A daemon's side of a face that only remembers, and lets a test wait for what it needs without sleeping."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from tinyssb_node.faces.face import Endpoint, Face
from tinyssb_node.faces.store_port import FaceStorePort
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import Reception

PATIENCE_S = 10.0
"""How long a test waits for what should come at once, before it fails."""


class RecordingSink:
    """Implements FaceSink."""

    def __init__(self, libraries: Sequence[FaceStorePort] = ()) -> None:
        self._libraries = libraries
        self._appended = asyncio.Event()
        self.faces: dict[FaceName, Face] = {}
        self.ups: list[tuple[FaceName, str]] = []
        self.downs: list[tuple[FaceName, str]] = []
        self.frames: list[tuple[FaceName, bytes, Reception]] = []
        self.junks: list[tuple[FaceName, str, int]] = []
        self.accepting = asyncio.Event()
        self.accepting.set()
        self.rooms = 0
        self._changed = asyncio.Event()

    @property
    def packets(self) -> list[bytes]:
        return [packet for _, packet, _ in self.frames]

    def face(self) -> Face:
        """The one face that is up."""
        (face,) = self.faces.values()
        return face

    def up(self, face: Face, spec: str) -> None:
        assert face.name not in self.faces, "two faces of one name"
        self.faces[face.name] = face
        self.ups.append((face.name, spec))
        self._changed.set()

    def frame(self, face: FaceName, packet: bytes, reception: Reception) -> bool:
        assert face in self.faces, "a frame on a face that is not up"
        self.frames.append((face, packet, reception))
        self._changed.set()
        return self.accepting.is_set()

    def junk(self, face: FaceName, reason: str, length: int) -> None:
        assert face in self.faces, "junk on a face that is not up"
        self.junks.append((face, str(reason), length))
        self._changed.set()

    async def room(self, face: FaceName) -> None:
        assert face in self.faces, "no room for a face that is not up"
        self.rooms += 1
        self._changed.set()
        await self.accepting.wait()

    def down(self, face: FaceName, reason: str) -> None:
        del self.faces[face]
        self.downs.append((face, reason))
        self._changed.set()

    def libraries(self) -> Sequence[FaceStorePort]:
        return self._libraries

    def appended(self) -> asyncio.Event:
        return self._appended

    def append(self) -> None:
        """Say that something was appended to a library."""
        event, self._appended = self._appended, asyncio.Event()
        event.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when *condition* holds; it is looked at whenever something was recorded."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def running(
    endpoint: Endpoint, libraries: Sequence[FaceStorePort] = ()
) -> AsyncIterator[RecordingSink]:
    """*endpoint* with a sink of its own, running while the block does; a crash of it fails the test."""
    sink = RecordingSink(libraries)
    task = asyncio.create_task(endpoint.run(sink))
    try:
        yield sink
        assert not task.done() or task.exception() is None
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
    assert sink.faces == {}, "faces left up after the end"
