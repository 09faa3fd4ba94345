"""The locator's peers, kept from one start to the next. Format: ``docs/formats/locator-peers.md``."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from tinyssb_node.ids import NetworkName
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.locator.addresses import Peer, parse_hostport, peer_of
from tinyssb_node.store.durable import in_the_place_of

PEERS_FILE: Final = "locator.json"
"""Its name in the home."""
PEERS_VERSION: Final = 1
"""The format written, and the newest read."""


@dataclass(frozen=True, slots=True)
class KnownPeers:
    """Peers of one network's locator."""

    historic: tuple[Peer, ...] = ()
    """Those of all ages, the last one added first."""
    recent: tuple[Peer, ...] = ()
    """Those that answered lately."""


class _Peers(msgspec.Struct):
    historic: list[str]
    recent: list[str]


class _File(msgspec.Struct):
    v: int
    written_us: int
    networks: dict[str, _Peers]


def read_peers(path: Path) -> Mapping[NetworkName, KnownPeers]:
    """Return the peers in the file, by network. Raises OSError.

    Nothing if the file is missing or cannot be understood: peers are found anew.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(limits.PEERS_FILE_MAX)
    except FileNotFoundError:
        return {}
    try:
        found = msgspec.json.decode(raw, type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    if found.v > PEERS_VERSION:
        return {}
    return {
        NetworkName(name): KnownPeers(_peers(peers.historic), _peers(peers.recent))
        for name, peers in found.networks.items()
    }


def write_peers(path: Path, known: Mapping[NetworkName, KnownPeers], wall_us: int) -> None:
    """Put *known* in the place of what is at *path*, in one step; durable on return. Raises OSError."""
    record = _File(
        v=PEERS_VERSION,
        written_us=wall_us,
        networks={
            name: _Peers(list(map(str, peers.historic)), list(map(str, peers.recent)))
            for name, peers in known.items()
        },
    )
    with in_the_place_of(path) as file:
        file.write(msgspec.json.encode(record) + b"\n")


def _peers(texts: Iterable[str]) -> tuple[Peer, ...]:
    """Those of *texts* that are addresses."""
    peers = []
    for text in texts:
        with suppress(ValueError):
            peers.append(peer_of(*parse_hostport(text)))
    return tuple(peers)
