"""The interface between the world and the daemon.

An *endpoint* is what a spec string opens: a socket, a listening server, a radio. It brings up *faces*: a WebSocket
server one per connection, UDP multicast and radios exactly one. The daemon never parses frames, an endpoint never
parses packets.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tinyssb_node.faces.store_port import FaceStorePort
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import LinkProfile, Reception


class Face(Protocol):
    """A link to the outside that is up."""

    @property
    def name(self) -> FaceName:
        """Unique in this node, stable while up, short enough for a table: ``udp``, ``ws:8080#3``, ``ether:ana``."""
        ...

    @property
    def profile(self) -> LinkProfile:
        """How it is scheduled."""
        ...

    async def send(self, packets: list[bytes]) -> int:
        """Send *packets* in order; return when the last has left (a radio: when its airtime is over).

        Returns how many have left: fewer than all if carrier sense says that somebody else is on the air. The face does
        not wait for silence itself, since by then there may be something better to say.

        Cancelled when the face goes down. Raises OSError if the link fails under it; its endpoint then reports
        the face down, if it has not yet.
        """
        ...


class FaceSink(Protocol):
    """What an endpoint tells the daemon. Called in the event loop's thread; none of it blocks or raises."""

    def up(self, face: Face, spec: str) -> None:
        """*face* can be used now."""
        ...

    def frame(self, face: FaceName, packet: bytes, reception: Reception) -> bool:
        """A whole packet came in, framing removed. False: wait for ``room`` before reading on (a stream), or
        know that it was dropped (a datagram)."""
        ...

    def junk(self, face: FaceName, reason: str, length: int) -> None:
        """Something came in that was no frame: wrong CRC, too short, too long."""
        ...

    async def room(self) -> None:
        """Return when the daemon has caught up with what was received."""
        ...

    def down(self, face: FaceName, reason: str) -> None:
        """*face* is gone; *reason* in plain words."""
        ...

    def libraries(self) -> Sequence[FaceStorePort]:
        """What is held of each network, for faces that must know what a packet is about. The default one first."""
        ...

    def appended(self) -> asyncio.Event:
        """Set when the next entry or chunk was appended to one of them. Take it before looking there."""
        ...


@runtime_checkable
class Listener(Protocol):
    """What an endpoint tells besides if others connect to it."""

    @property
    def turned_away(self) -> int:
        """Connections that never became a face."""
        ...


class Endpoint(Protocol):
    """Opened from a spec string by ``faces.spec.open_endpoint``."""

    @property
    def spec(self) -> str:
        """The spec string, as given."""
        ...

    @property
    def problem(self) -> str | None:
        """Why it has no face up although it tries, in plain words; None while all is well."""
        ...

    async def run(self, sink: FaceSink) -> None:
        """Bring faces up and keep them up until cancelled, reconnecting with back-off.

        Raises LocalError if that can never work (address in use, no such interface).
        """
        ...
