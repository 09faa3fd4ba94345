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
        """Its properties for scheduling."""
        ...

    async def send(self, packets: list[bytes]) -> int:
        """Send *packets* in order; return when the last has left (a radio: when its airtime is over).

        Returns how many have left: fewer than all if carrier sense found another node on the air. The face does not
        wait for silence itself, since by then there may be something better to send.

        Cancelled when the face goes down. Raises OSError if the link fails under it; its endpoint then reports the face
        down, if it has not yet.
        """
        ...


class FaceSink(Protocol):
    """The daemon as an endpoint sees it. Called in the event loop's thread; none of it blocks or raises."""

    def up(self, face: Face, spec: str) -> None:
        """Report that *face* can be used now."""
        ...

    def frame(self, face: FaceName, packet: bytes, reception: Reception) -> bool:
        """Pass on a whole received packet, framing removed. False: wait for ``room`` before reading on. Who cannot wait
        goes on, and further packets are dropped."""
        ...

    def junk(self, face: FaceName, reason: str, length: int) -> None:
        """Something came in that was no frame: wrong CRC, too short, too long."""
        ...

    async def room(self, face: FaceName) -> None:
        """Return when the daemon has caught up with what *face* received."""
        ...

    def down(self, face: FaceName, reason: str) -> None:
        """Report that *face* is gone; *reason* in plain words."""
        ...

    def libraries(self) -> Sequence[FaceStorePort]:
        """Return each network's store, for faces that must know what a packet is about. The default network is
        first."""
        ...

    def appended(self) -> asyncio.Event:
        """Set when the next entry or chunk was appended to one of them. Take it before looking there."""
        ...


@runtime_checkable
class Listener(Protocol):
    """The counters of an endpoint to which others connect."""

    @property
    def turned_away(self) -> int:
        """Connections that never became a face."""
        ...


class Endpoint(Protocol):
    """A link configured by a spec string, opened by ``faces.spec.open_endpoint``."""

    @property
    def spec(self) -> str:
        """The spec string, as given."""
        ...

    @property
    def problem(self) -> str | None:
        """The reason why it has no face up although it tries, in plain words; None while all is well."""
        ...

    async def run(self, sink: FaceSink) -> None:
        """Bring faces up and keep them up until cancelled, reconnecting with back-off.

        Raises LocalError if that can never work (address in use, no such interface).
        """
        ...
