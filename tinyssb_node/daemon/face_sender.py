"""The sending side of a face that is up: packets wait here while the face sends earlier ones."""

import asyncio
from collections.abc import Callable

from tinyssb_node.daemon.logs import Logger
from tinyssb_node.faces.face import Face


class FaceSender:
    """Queue that hands packets to a face, in order, and reports when they have left."""

    def __init__(
        self, face: Face, spec: str, left: Callable[["FaceSender", int, int, int], None], logger: Logger
    ) -> None:
        """Start sending. *left* is called with this sender, its generation when packets were handed over, how many have
        left since, and how many carrier sense kept here."""
        self.face = face
        self.spec = spec
        self.generation = 0
        """Changes when packets handed over before no longer concern the nodes."""
        self._left = left
        self._logger = logger
        self._waiting: list[bytes] = []
        """Packets to send; the node keeps their number within the face's window."""
        self._ready = asyncio.Event()
        self._sender = asyncio.get_running_loop().create_task(self._send())

    def give(self, packet: bytes) -> None:
        """Send *packet* after those given before."""
        self._waiting.append(packet)
        self._ready.set()

    def discard(self) -> None:
        """Drop the packets that wait, and report nothing about those handed over."""
        self._waiting.clear()
        self.generation += 1

    def close(self) -> None:
        """Send nothing more."""
        self._sender.cancel()

    async def _send(self) -> None:
        while True:
            await self._ready.wait()
            self._ready.clear()
            packets, self._waiting = self._waiting, []
            generation = self.generation
            if not packets:
                continue
            try:
                sent = await self.face.send(packets)
            except OSError as error:
                # Its endpoint takes the face down; packets under way are lost, as packets may be.
                self._logger.debug("sending failed", face=self.face.name, error=str(error))
                return
            self._left(self, generation, sent, len(packets) - sent)
