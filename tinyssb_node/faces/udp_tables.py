"""The memory of a UDP face: its own datagrams that multicast will return, and peers heard lately. Pure."""

from collections import OrderedDict
from typing import Final

from tinyssb_node import limits

# Datagrams: our own until multicast returns them, and peers' to recognise a unicast copy.
_RECENT_MAX: Final = 512
_ECHO_AGE_S: Final = 1.0  # loopback takes microseconds


class MulticastEchoes:
    """Sent datagrams, each to be ignored once when it comes back.

    They are counted: another daemon of this host that sends the same bytes is received as the second one.
    """

    def __init__(self) -> None:
        self._due: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def sent(self, frame: bytes, now_s: float) -> None:
        """Record that *frame* was sent once more."""
        count, sent_s = self._due.pop(frame, (0, now_s))
        fresh = now_s - sent_s <= _ECHO_AGE_S
        self._due[frame] = (count + 1 if fresh else 1, now_s)
        if len(self._due) > _RECENT_MAX:
            self._due.popitem(last=False)

    def is_echo(self, frame: bytes, now_s: float) -> bool:
        """Return True if *frame*, just received, is one of ours coming back; it is then expected once less."""
        count, sent_s = self._due.pop(frame, (0, now_s))
        if count == 0 or now_s - sent_s > _ECHO_AGE_S:
            return False
        if count > 1:
            self._due[frame] = (count - 1, sent_s)
        return True


class UdpPeers:
    """Addresses heard lately, and what they just sent: the same datagram again is its unicast copy."""

    def __init__(self) -> None:
        self._heard_s: OrderedDict[str, float] = OrderedDict()
        self._frames_s: OrderedDict[tuple[str, bytes], float] = OrderedDict()

    def heard(self, address: str, frame: bytes, now_s: float) -> bool:
        """Record that *address* sent the valid *frame*. Return False if it did so a moment ago: this is the other copy
        of it."""
        self._heard_s[address] = now_s
        self._heard_s.move_to_end(address)
        if len(self._heard_s) > 64:  # unicast copies; the peer silent for longest makes room
            self._heard_s.popitem(last=False)
        first_s = self._frames_s.get((address, frame))
        if first_s is not None and now_s - first_s <= limits.UDP_COPY_WINDOW_S:
            return False
        self._frames_s[address, frame] = now_s
        self._frames_s.move_to_end((address, frame))
        if len(self._frames_s) > _RECENT_MAX:
            self._frames_s.popitem(last=False)
        return True

    def knows(self, address: str) -> bool:
        """Return True if *address* was heard and not evicted since."""
        return address in self._heard_s

    def recent(self, now_s: float) -> tuple[str, ...]:
        """Return the addresses that get a copy of what is sent now; those silent for too long are removed."""
        while self._heard_s:
            address, heard_s = next(iter(self._heard_s.items()))
            if now_s - heard_s <= 300.0:
                break
            del self._heard_s[address]
        return tuple(self._heard_s)

    def forget(self, address: str) -> None:
        """Remove *address*, which cannot be reached, until it is heard again."""
        self._heard_s.pop(address, None)
