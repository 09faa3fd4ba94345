"""Replies to the pings of ESP32 boards, on faces set up to send them.

A board shows whose pongs it hears as its neighbours, and how well they heard it. A reply goes when an advert may, is
paid out of the adverts' share of the airtime, and is not sent to boards that ping too often.
"""

from tinyssb_node import limits
from tinyssb_node.codec.dmx import PING_DMX
from tinyssb_node.codec.packets import Pong, parse_ping, serialize_pong
from tinyssb_node.errors import PeerError
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import Reception
from tinyssb_node.scheduling.suppression import RecentSet
from tinyssb_node.scheduling.transmit_queue import TransmitQueue


class PongHistory:
    """Boards and faces that were answered lately, over all faces of a program."""

    def __init__(self, name: str | None) -> None:
        """*name* is how boards show us, four hexadecimal digits as their own names are; None: never reply."""
        self._name = name
        self._faces: RecentSet[FaceName] = RecentSet(limits.FACES_MAX)
        self._boards: RecentSet[tuple[FaceName, str]] = RecentSet(32)  # a board itself remembers 8 neighbours

    def heard(self, queue: TransmitQueue, packet: bytes, reception: Reception, now_us: int) -> None:
        """Reply to *packet* on *queue* if it is a ping, the face answers pings, and it is not too soon to do so
        again."""
        if self._name is None or not queue.profile.answers_pings or not packet.startswith(PING_DMX):
            return
        try:
            board = parse_ping(packet).mac
        except PeerError:
            # The node counts it with what is not ours; nobody can be told how well they are heard.
            return
        key = queue.name, board
        # One pong in 10 s on a face, since names of boards cost nothing to make up; one in 60 s to a board. Boards ping
        # every 25 to 27 s and drop neighbours after 3 minutes of silence.
        if self._faces.within(queue.name, 10_000_000, now_us) or self._boards.within(key, 60_000_000, now_us):
            return
        self._faces.add(queue.name, now_us)
        self._boards.add(key, now_us)
        queue.answer_ping(self._serialize(packet, reception, now_us), now_us)

    def _serialize(self, ping: bytes, reception: Reception, now_us: int) -> bytes:
        """Serialize a pong of ours, at most 87 bytes: t counts the seconds of our clock, as a board's counts its
        own."""
        assert self._name is not None
        fields = [("t", str(now_us // 1_000_000))]
        if reception.rssi_dbm is not None:
            fields.append(("rssi", f"{reception.rssi_dbm}dBm"))
        if reception.snr_db is not None:
            fields.append(("snr", f"{reception.snr_db:.1f}"))
        request = ping[limits.DMX_SIZE :].rstrip(b"\0").decode("ascii")
        return serialize_pong(Pong(self._name, tuple(fields), request))[: limits.PONG_OWN_MAX_SIZE]
