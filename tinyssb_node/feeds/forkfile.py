"""A proof of a fork as a text that can be mailed, printed and checked by anyone (docs/formats/fork-proof.md).

It holds no network key. Names of entries contain that key, so only people who have it can check a proof from a network
with a key. The file names the network by the seven bytes that its nodes send in the open anyway.
"""

from dataclasses import dataclass
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.errors import ForkProofFormatError
from tinyssb_node.feeds.fork import ForkProof, possible_predecessors
from tinyssb_node.ids import Dialect, FeedId, MessageId

FORK_FILE_MAX: Final = 1_024
"""Most bytes of such a file: the longest has 698, line ends of other systems included."""
TITLE: Final = "tinyssb fork proof 1"
"""First line: the kind of file, and its version."""
OPEN: Final = "open"
"""Stands for the network without a key."""
_SIZES: Final = {
    "feed": limits.FEED_ID_SIZE,
    "prev": limits.MESSAGE_ID_SIZE,
    "held": limits.PACKET_SIZE,
    "other": limits.PACKET_SIZE,
}
"""Fields of bytes, and how many each has."""
_FIELDS: Final = ("network", "feed", "dialect", "entry", "prev", "held", "other")


@dataclass(frozen=True, slots=True)
class ForkFile:
    """The content of a fork file."""

    proof: ForkProof
    """Both entries. ``verify_proof`` checks that they prove a fork."""
    network: bytes | None
    """Which network it is of (``Network.goset_dmx``, 7 bytes); None: the open one."""

    def is_of(self, network: Network) -> bool:
        """Return True if the file is about *network*, as far as seven bytes tell."""
        return self.network == network_tag(network)


def network_tag(network: Network) -> bytes | None:
    """Return the tag of *network*; None for the open one."""
    return bytes(network.goset_dmx) if network.key else None


def serialize_fork_file(fork: ForkFile) -> bytes:
    """Write the file: ASCII, at most 1,000 bytes."""
    proof = fork.proof
    values = {
        "network": OPEN if fork.network is None else fork.network.hex(),
        "feed": proof.feed.hex(),
        "dialect": proof.dialect.value,
        "entry": str(proof.seq),
        "prev": proof.prev.hex(),
        "held": proof.held.hex(),
        "other": proof.other.hex(),
    }
    return "".join(f"{line}\n" for line in [TITLE, *(f"{name} {values[name]}" for name in _FIELDS)]).encode()


def parse_fork_file(data: bytes) -> ForkFile:
    """Read a file. There is one way to write a proof; line ends of other systems are taken, as mail changes them.

    Raises ForkProofFormatError.
    """
    if len(data) > FORK_FILE_MAX:
        raise ForkProofFormatError(f"more than {FORK_FILE_MAX} bytes")
    try:
        title, *lines = data.decode("ascii").replace("\r\n", "\n").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ForkProofFormatError("no ASCII text") from error
    if title != TITLE:
        raise ForkProofFormatError(f"it does not begin with `{TITLE}`: another kind or version")
    if [line.partition(" ")[0] for line in lines] != [*_FIELDS]:
        raise ForkProofFormatError("its lines are not " + ", ".join(_FIELDS))
    values = dict(zip(_FIELDS, (line.partition(" ")[2] for line in lines), strict=True))
    octets = {name: _octets(name, values[name], size) for name, size in _SIZES.items()}
    feed, prev, seq = FeedId(octets["feed"]), MessageId(octets["prev"]), _seq(values["entry"])
    if prev not in possible_predecessors(feed, seq, prev):
        raise ForkProofFormatError("what stands before entry 1 is of neither dialect")
    network = values["network"]
    proof = ForkProof(feed, seq, _dialect(values["dialect"]), prev, octets["held"], octets["other"])
    return ForkFile(proof, None if network == OPEN else _octets("network", network, limits.DMX_SIZE))


def _octets(name: str, digits: str, size: int) -> bytes:
    if len(digits) != 2 * size or set(digits) - set("0123456789abcdef"):
        raise ForkProofFormatError(f"{name} is not {2 * size} hexadecimal digits")
    return bytes.fromhex(digits)


def _seq(digits: str) -> int:
    # A number may have as many digits as the largest there is: anything longer is not even read.
    if len(digits) <= len(str(limits.SEQ_MAX)) and digits.isdigit() and digits == digits.lstrip("0"):
        seq = int(digits)
        if seq <= limits.SEQ_MAX:
            return seq
    raise ForkProofFormatError(f"entry is no number from 1 to {limits.SEQ_MAX}")


def _dialect(word: str) -> Dialect:
    try:
        return Dialect(word)
    except ValueError as error:
        raise ForkProofFormatError("dialect is neither spec nor deployed") from error
