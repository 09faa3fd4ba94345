"""A peer that behaves like the pubs in the field, as far as a neighbour can tell from its packets.

It reads and writes the deployed dialect only. Its rhythm is a clock, not need: a claim of its whole set every 15 s, a
WANT and a CHNK every 4 s, three packets in answer to either. Numbers are written unsigned in the fewest bytes.
"""

from collections.abc import Iterator
from hashlib import sha256

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

Packets = list[bytes]

ROUND_US = 15_000_000
ASK_US = 4_000_000
ANSWER_MAX = 3
KEYS_MAX = 100
CLAIMS_MAX = 20
ASK_MAX = 1
HELP_MAX = 2

_VECTOR_MAX = 100
"""Bytes of numbers at which it stops adding to a vector."""


def _hash7(data: bytes) -> bytes:
    return sha256(data).digest()[:7]


GOSET = _hash7(b"tinySSB-0.1 GOset 1")


def _xor(keys: list[bytes]) -> bytes:
    total = 0
    for key in keys:
        total ^= int.from_bytes(key, "big")
    return total.to_bytes(32, "big")


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes((number & 127 | 128,))
        number >>= 7
    return out + bytes((number,))


def _number(number: int) -> bytes:
    size = max(1, (number.bit_length() + 7) // 8)
    return _varint(size << 3 | 2) + number.to_bytes(size, "little")


def _list(items: Packets) -> bytes:
    body = b"".join(items)
    return _varint(len(body) << 3 | 4) + body


def _read_varint(data: bytes) -> tuple[int, bytes]:
    number = shift = 0
    for index, byte in enumerate(data):
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, data[index + 1 :]
    raise ValueError("a varint that does not end")


def _read_list(data: bytes) -> Iterator[int | list[int]]:
    """The items of a list of numbers, or of lists of numbers."""
    tag, data = _read_varint(data)
    assert tag & 7 == 4
    data = data[: tag >> 3]
    while data:
        tag, data = _read_varint(data)
        body, data = data[: tag >> 3], data[tag >> 3 :]
        if tag & 7 == 2:
            yield int.from_bytes(body, "little")
        else:
            yield [item for item in _read_list(_varint(tag) + body) if isinstance(item, int)]


class Log:
    """A feed as a pub keeps it."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.entries: Packets = []
        self.chunks: dict[int, Packets] = {}
        self.pending: dict[int, tuple[bytes, int]] = {}
        """Side chains that are not whole: hash of the next chunk, and how many are missing."""
        self._prev = key[:20]

    @property
    def name(self) -> bytes:
        """Return the name that the next entry is signed with."""
        seq = len(self.entries) + 1
        return b"tinyssb-v0" + self.key + seq.to_bytes(4, "big") + self._prev

    def take_entry(self, packet: bytes) -> bool:
        """Append the next entry."""
        name = self.name
        try:
            VerifyKey(self.key).verify(name + packet[:56], packet[56:])
        except BadSignatureError:
            return False
        self.entries.append(packet)
        self._prev = sha256(name + packet).digest()[:20]
        seq = len(self.entries)
        self.chunks[seq] = []
        if packet[7] == 1:
            size, rest = _read_varint(packet[8:56])
            missing = size - (28 - (48 - len(rest)))
            if missing > 0:
                self.pending[seq] = (packet[36:56], -(-missing // 100))
        return True

    def take_chunk(self, packet: bytes, hash_: bytes) -> bool:
        """Append a chunk wherever it is the next one."""
        taken = False
        for seq, (wanted, missing) in list(self.pending.items()):
            if wanted == hash_:
                taken = True
                self.chunks[seq].append(packet)
                if missing == 1:
                    del self.pending[seq]
                else:
                    self.pending[seq] = (packet[100:], missing - 1)
        return taken


class SimplePub:
    """The peer."""

    def __init__(self) -> None:
        self.logs: dict[bytes, Log] = {}
        self.vetoed: Packets = []
        """Packets under an expected DMX that the feed did not sign."""
        self._claims: list[bytes] = []
        self._want_dmx = self._chnk_dmx = b""
        self._offset = 0
        self._next_round_us = 0
        self._next_ask_us = 0

    @property
    def keys(self) -> list[bytes]:
        """Its set, sorted."""
        return sorted(self.logs)

    def add(self, key: bytes) -> None:
        """Take a feed id into the set, while there is room."""
        if len(self.logs) < KEYS_MAX:
            self.logs.setdefault(key, Log(key))

    # --- saying

    def tick(self, now_us: int) -> Packets:
        """Return the packets that it sends unasked at this time."""
        said: Packets = []
        if now_us >= self._next_round_us:
            self._next_round_us = now_us + ROUND_US
            said += self._round()
        if now_us >= self._next_ask_us:
            self._next_ask_us = now_us + ASK_US
            said += self._ask()
        return said

    def round_for_another(self) -> None:
        """The turn of another connection comes: it gets the answers to whatever was asked."""
        self._round()

    def _claim(self, region: list[bytes]) -> bytes:
        return GOSET + b"c" + region[0] + region[-1] + _xor(region) + bytes((len(region),))

    def _round(self) -> Packets:
        """Its set's advert; only now does what it learned change the set's state."""
        keys = self.keys
        if not keys:
            return []
        state = _xor(keys)
        self._want_dmx = _hash7(b"tinyssb-v0want" + state)
        self._chnk_dmx = _hash7(b"tinyssb-v0blob" + state)
        said = [self._claim(keys)]
        heard, self._claims = sorted(self._claims, key=lambda claim: claim[104]), []
        asked = helped = 0
        for claim in heard:
            low, high, xor, count = claim[8:40], claim[40:72], claim[72:104], claim[104]
            region = [key for key in keys if low <= key <= high]
            if not region or _xor(region) == xor:
                continue
            if len(region) <= count and asked < ASK_MAX:
                asked += 1
                said.append(self._claim(region))
            elif len(region) >= count and helped < HELP_MAX:
                helped += 1
                said += self._help(region[1:-1])
            elif len(self._claims) < CLAIMS_MAX - 5:
                self._claims.append(claim)
        return said

    def _help(self, between: list[bytes]) -> Packets:
        if len(between) == 1:
            return [GOSET + b"n" + between[0]]
        if len(between) <= 3:
            return [self._claim(between)] if between else []
        half = len(between) // 2
        return [self._claim(between[:half]), self._claim(between[half:])]

    def _ask(self) -> Packets:
        if not self._want_dmx:
            return []
        keys = self.keys
        self._offset = (self._offset + 1) % len(keys)
        items = [_number(self._offset)]
        for turn in range(len(keys)):
            items.append(_number(len(self.logs[keys[(self._offset + turn) % len(keys)]].entries) + 1))
            if sum(map(len, items)) > _VECTOR_MAX:
                break
        said = [self._want_dmx + _list(items)]
        missing: Packets = []
        for index, key in enumerate(keys):
            log = self.logs[key]
            missing += [
                _list([_number(index), _number(seq), _number(len(log.chunks[seq]))]) for seq in log.pending
            ]
        if missing:
            said.append(self._chnk_dmx + _list(missing[: _VECTOR_MAX // 11]))
        return said

    # --- hearing

    def hear(self, packet: bytes) -> Packets:
        """Take a packet; what it says in answer."""
        dmx, hash_ = packet[:7], sha256(packet).digest()[:20]
        if dmx == GOSET:
            self._hear_set(packet)
            return []
        if dmx == self._want_dmx:
            return self._answer_want(packet)
        if dmx == self._chnk_dmx:
            return self._answer_chnk(packet)
        for log in self.logs.values():
            if dmx == _hash7(log.name):
                if not log.take_entry(packet):
                    self.vetoed.append(packet)
                return []
        for log in self.logs.values():
            log.take_chunk(packet, hash_)
        return []

    def _hear_set(self, packet: bytes) -> None:
        if packet[7:8] == b"n" and len(packet) == 40:
            self.add(packet[8:40])
        elif packet[7:8] == b"c" and len(packet) == 105:
            self.add(packet[8:40])
            self.add(packet[40:72])
            if packet not in self._claims and len(self._claims) < CLAIMS_MAX:
                self._claims.append(packet)

    def _answer_want(self, packet: bytes) -> Packets:
        keys = self.keys
        offset, *wanted = (item for item in _read_list(packet[7:]) if isinstance(item, int))
        answer: Packets = []
        for number, seq in enumerate(wanted):
            if seq >= 1:
                entries = self.logs[keys[(offset + number) % len(keys)]].entries
                answer += entries[seq - 1 :]
        return answer[:ANSWER_MAX]

    def _answer_chnk(self, packet: bytes) -> Packets:
        keys = self.keys
        answer: Packets = []
        for item in _read_list(packet[7:]):
            assert isinstance(item, list)
            index, seq, chunk = item
            if index < len(keys):
                answer += self.logs[keys[index]].chunks.get(seq, [])[chunk:]
        return answer[:ANSWER_MAX]
