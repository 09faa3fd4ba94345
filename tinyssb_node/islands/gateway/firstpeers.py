"""Signed lists of first peers, by which a gateway finds its network (docs/formats/first-peers.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from tinyssb_node.codec.crypto import SigningKey, verify
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.locator.addresses import parse_hostport

FIRST_PEERS_FILE: Final = "first_peers"
"""Name in the home of the list that the gateway uses."""
SIZE_MAX: Final = 16_384
"""Most bytes of a list: 64 peers with names of 253 characters, which is the longest that DNS has, rounded."""
PEERS_MAX: Final = 64
"""Most peers of a list: one that answers is enough, and all are asked once after a start."""
_HEAD: Final = "tinyssb-first-peers 1"


class FirstPeersError(ProblemError):
    """A list that is malformed, or that its signer did not sign."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            problem, "Nothing was changed. Get the list from its signer again.", exit_code=ExitCode.DATA
        )


@dataclass(frozen=True, slots=True)
class FirstPeers:
    """A list whose signature is right."""

    signer: FeedId
    """The feed of the one that vouches for it."""
    written: date
    """When it was written."""
    until: date
    """The last day on which it is used."""
    peers: tuple[tuple[str, int], ...]
    """Address or name, and port."""


def sign_first_peers(key: SigningKey, peers: Sequence[tuple[str, int]], written: date, until: date) -> bytes:
    """Return a list of *peers*, signed with *key*. Raises FirstPeersError for one that nobody could read."""
    lines = [_HEAD, f"written {written.isoformat()}", f"until {until.isoformat()}"]
    lines += [f"peer {_text(host, port)}" for host, port in peers]
    body = "".join(f"{line}\n" for line in lines).encode("ascii", "replace")
    signed = body + f"signed {key.feed_id.hex()} {key.sign(body).hex()}\n".encode()
    parse_first_peers(signed)
    return signed


def parse_first_peers(data: bytes) -> FirstPeers:
    """Parse a list, and verify its signature. Raises FirstPeersError."""
    if len(data) > SIZE_MAX:
        raise FirstPeersError(f"The list has more than {SIZE_MAX} bytes.")
    try:
        return _parse(data)
    except (ValueError, IndexError) as error:
        raise FirstPeersError(f"This is no list of first peers: {error}.") from error


def _parse(data: bytes) -> FirstPeers:
    head, written, until, *rest = data.decode("ascii").split("\n")
    if head != _HEAD or not rest or rest.pop() or not rest:
        raise ValueError(f"it does not begin with `{_HEAD}`, or does not end after a line `signed`")
    word, feed, signature = rest.pop().split(" ")
    if word != "signed":
        raise ValueError("its last line is not `signed`")
    signer = FeedId.from_hex(feed)
    peers = tuple(parse_hostport(_after("peer", line)) for line in rest)
    if not 0 < len(peers) <= PEERS_MAX or len(set(peers)) < len(peers):
        raise ValueError(f"it has no peer, more than {PEERS_MAX}, or one twice")
    found = FirstPeers(
        signer,
        date.fromisoformat(_after("written", written)),
        date.fromisoformat(_after("until", until)),
        peers,
    )
    body = data[: data.rindex(b"\nsigned ") + 1]
    if not verify(signer, bytes.fromhex(signature), body):
        raise FirstPeersError(f"The list was changed, or {signer.hex()} did not sign it.")
    return found


def _after(word: str, line: str) -> str:
    known, _, value = line.partition(" ")
    if known != word:
        raise ValueError(f"a line begins with `{known[:20]}` in place of `{word}`")
    return value


def _text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def read_first_peers(path: Path) -> FirstPeers | None:
    """Return the list at *path*; None if there is none. Raises FirstPeersError, OSError."""
    try:
        with path.open("rb") as file:
            return parse_first_peers(file.read(SIZE_MAX + 1))
    except FileNotFoundError:
        return None
