"""The storage of one network: its own store and event log, so that networks never mix."""

from dataclasses import dataclass
from pathlib import Path

from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.eventlog import EventLog
from tinyssb_node.errors import ExitCode, ProblemError, StoreFullError
from tinyssb_node.ids import NetworkName
from tinyssb_node.store.port import Store

_META_NETWORK = "network"
"""Name in the store of the network for which its entries are signed."""


class WrongNetworkError(ProblemError):
    """The key of a network was changed, but its store has entries that are signed for the old one."""

    exit_code = ExitCode.CONFIG

    def __init__(self, config: Path, network: NetworkName, folder: Path) -> None:
        super().__init__(
            f"{config} gives the network {network} another key than it had: the entries in {folder} are signed for "
            "the old key, and are invalid for other nodes under the new one. Nothing was changed.",
            "Put the old key back, or give the new key its own network under another name.",
        )
        self.network = network


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkStorage:
    """A network of the node, with its store and event log."""

    name: NetworkName
    """The name that the user gave it."""
    network: Network
    """Its key."""
    store: Store
    """Its feeds."""
    events: EventLog
    """Its event log."""


def bind_store(store: Store, network: Network, wall_us: int) -> bool:
    """Bind *store* to *network* for good; on a full disk, at the next start. Returns False if bound to another."""
    known, id_ = store.get_meta(_META_NETWORK), network.goset_dmx.hex()
    if known is None:
        store.put_meta(_META_NETWORK, id_)
        try:
            store.commit(wall_us)
        except StoreFullError:
            store.rollback()
    return known in {None, id_}
