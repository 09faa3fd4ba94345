"""UDP multicast: packets with a CRC-32 to all nodes in the local network, and unicast copies to peers that may sleep
through it.

Several daemons of one host share the port. Multicast returns our packets to us, and to them. Our own come back once per
datagram and are recognised by their bytes, since those of the other daemons have the same source address and port.
"""

import asyncio
import errno
import random
import socket
import struct
import sys
from typing import Final

from tinyssb_node import limits
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.face import FaceSink
from tinyssb_node.faces.frames import FrameFault, parse_crc_frame, serialize_crc_frame
from tinyssb_node.faces.spec_reader import is_ipv4_shaped
from tinyssb_node.faces.udp_spec import UdpSpec
from tinyssb_node.faces.udp_tables import MulticastEchoes, UdpPeers
from tinyssb_node.scheduling.link import WIRED, LinkProfile, lan_profile

_IP_MULTICAST_ALL: Final = 49
"""Linux (linux/in.h); Python has no name for it."""
_NEVER_HERE: Final = {errno.EADDRINUSE, errno.EACCES, errno.EPERM}
"""Errors of opening that only the user can mend."""


class UdpFace:
    """A socket that has joined the group."""

    def __init__(self, spec: UdpSpec, sock: socket.socket, own_address: str) -> None:
        self.name = spec.face_name
        self.profile: LinkProfile = lan_profile()
        self.own_address = own_address
        """The source address of our datagrams."""
        self._loop = asyncio.get_running_loop()
        self.broken: asyncio.Future[OSError] = self._loop.create_future()
        """The reason why the face failed, once it has."""
        self._group = (spec.group, spec.port)
        self._copies = spec.copies
        self._socket = sock
        self._echoes = MulticastEchoes()
        self._peers = UdpPeers()

    async def send(self, packets: list[bytes]) -> int:
        """Send each packet to the group, and a copy to each peer heard lately. Raises OSError if the group fails."""
        for packet in packets:
            frame = serialize_crc_frame(packet)
            self._echoes.sent(frame, self._loop.time())
            try:
                await self._loop.sock_sendto(self._socket, frame, self._group)
            except OSError as error:
                self._break(error)
                raise
            for peer in self._peers.recent(self._loop.time()) if self._copies else ():
                await self._send_copy(frame, peer)
        return len(packets)

    async def _send_copy(self, frame: bytes, peer: str) -> None:
        try:
            await self._loop.sock_sendto(self._socket, frame, (peer, self._group[1]))
        except OSError:
            self._peers.forget(peer)

    async def read(self, sink: FaceSink) -> None:
        """Hand everything that comes in to *sink*, until cancelled or broken."""
        try:
            while True:
                for _ in range(limits.UDP_READS_IN_A_ROW):
                    # A longer datagram is no packet anyway.
                    frame, source = await self._loop.sock_recvfrom(self._socket, 2_048)
                    if not self._take(frame, source[0], sink):
                        await sink.room(self.name)
                await asyncio.sleep(0)
        except OSError as error:
            self._break(error)

    def _take(self, frame: bytes, address: str, sink: FaceSink) -> bool:
        """Hand *frame* to *sink*. False: wait for room; until then the system drops what does not fit its buffer."""
        packet = parse_crc_frame(frame)
        if isinstance(packet, FrameFault):
            sink.junk(self.name, packet, len(frame))
            return True
        now_s = self._loop.time()
        if not self._peers.knows(address) and is_of_this_host(address):
            fresh = not self._echoes.is_echo(frame, now_s)
        else:
            fresh = self._peers.heard(address, frame, now_s)
        return not fresh or sink.frame(self.name, packet, WIRED)

    def _break(self, error: OSError) -> None:
        if not self.broken.done():
            self.broken.set_result(error)


class UdpEndpoint:
    """An endpoint that brings up one face, ``udp``, and joins the group again when the network changes."""

    def __init__(self, text: str, spec: UdpSpec, backoff: Backoff | None = None) -> None:
        self.spec = text
        self.problem: str | None = None
        self._udp = spec
        self._backoff = backoff or Backoff(random.random)

    async def run(self, sink: FaceSink) -> None:
        """Keep the face up until cancelled. Raises FaceOpenError if this machine will never allow it."""
        clock = asyncio.get_running_loop().time
        self._check_interface()
        while True:
            opened = self._open()
            if opened is not None:
                begun_s = clock()
                self.problem = None
                with opened[0] as sock:
                    self.problem = await self._serve(UdpFace(self._udp, sock, opened[1]), sink)
                self._backoff.link_was_up(clock() - begun_s)
            await asyncio.sleep(self._backoff.next_s())

    async def _serve(self, face: UdpFace, sink: FaceSink) -> str:
        """Have *face* up while it is of use. Returns why it is not any more."""
        reason = "this node closed it"
        sink.up(face, self.spec)
        reading = asyncio.create_task(face.read(sink))
        try:
            reason = await self._until_useless(face)
        finally:
            reading.cancel()
            await asyncio.wait([reading])
            sink.down(face.name, reason)
        return reason

    async def _until_useless(self, face: UdpFace) -> str:
        """Return the reason once the face is broken or its interface has another address."""
        while True:
            await asyncio.wait([face.broken], timeout=limits.UDP_CHECK_S)
            if face.broken.done():
                return f"the network failed: {face.broken.result().strerror}"
            try:
                if _own_address(self._udp) != face.own_address:
                    return "the address of the network interface changed"
            except OSError as error:
                return f"the network is gone: {error.strerror}"

    def _open(self) -> tuple[socket.socket, str] | None:
        """Return a socket in the group and the address it sends from; None while there is no network."""
        try:
            return group_socket(self._udp), _own_address(self._udp)
        except OSError as error:
            if error.errno in _NEVER_HERE:
                raise FaceOpenError(
                    self.spec,
                    f"port {self._udp.port} is refused: {error.strerror}",
                    "Stop the program that holds it for itself alone, or choose another port.",
                ) from error
            self.problem = f"there is no network for it: {error.strerror}"
            return None

    def _check_interface(self) -> None:
        name = self._udp.interface
        known = [interface for _, interface in socket.if_nameindex()]
        if name is not None and not is_ipv4_shaped(name) and name not in known:
            raise FaceOpenError(
                self.spec, f"there is no network interface '{name}'", f"This machine has: {', '.join(known)}."
            )


def is_of_this_host(address: str) -> bool:
    """Return True if *address* is ours: a program that sends from it shares our port, and receives multicast as we
    do."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def _interface_option(spec: UdpSpec) -> bytes:
    """struct ip_mreqn (ip(7)): which group on which interface. Index 0 and address 0.0.0.0 let the system choose."""
    address, index = bytes(4), 0
    if spec.interface is not None and is_ipv4_shaped(spec.interface):
        address = socket.inet_aton(spec.interface)
    elif spec.interface is not None:
        index = socket.if_nametoindex(spec.interface)
    return struct.pack("=4s4si", socket.inet_aton(spec.group), address, index)


def _own_address(spec: UdpSpec) -> str:
    """Return the source address of datagrams to the group. Raises OSError without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        if spec.interface is not None:
            probe.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, _interface_option(spec))
        probe.connect((spec.group, spec.port))
        address: str = probe.getsockname()[0]
        return address


def group_socket(spec: UdpSpec) -> socket.socket:
    """Return a socket bound to the group's port, in the group, sending to it on the right interface. Raises OSError."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, spec.ttl)
        # Copies must not go farther: a forged source address would make us send to a host that never asked.
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, max(spec.ttl, 1))
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        if sys.platform == "linux":
            # Otherwise every socket bound to all addresses hears groups that other sockets joined elsewhere.
            sock.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
        # Bound to all addresses, because copies come to our own address and not to the group's.
        sock.bind(("", spec.port))
        option = _interface_option(spec)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, option)
        if spec.interface is not None:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, option)
    except OSError:
        sock.close()
        raise
    return sock
