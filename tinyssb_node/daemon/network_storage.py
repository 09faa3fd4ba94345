"""Where one network is kept: a store and an event log of its own, so that nothing of one gets into another."""

from dataclasses import dataclass
from pathlib import Path

from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.eventlog import EventLog
from tinyssb_node.errors import ExitCode, StoreFullError
from tinyssb_node.ids import NetworkName
from tinyssb_node.problems import ProblemError
from tinyssb_node.store.port import Store

_META_NETWORK = "network"
"""Name in the store of the network its entries are signed for."""


class WrongNetworkError(ProblemError):
    """The key of a network was changed, and its store has entries that are signed for the old one."""

    exit_code = ExitCode.CONFIG

    def __init__(self, config: Path, network: NetworkName, folder: Path) -> None:
        super().__init__(
            f"{config} gives the network {network} another key than it had: what is stored in {folder} was signed for "
            "the old key, and would mean nothing to others under the new one. Nothing was changed.",
            "Put the old key back, or give the new key a network of its own under another name.",
        )
        self.network = network


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkStorage:
    """A network of the node, and what is kept of it."""

    name: NetworkName
    """What its user calls it."""
    network: Network
    """Its key."""
    store: Store
    """Its feeds."""
    events: EventLog
    """What happens in it."""


def bind_store(store: Store, network: Network, wall_us: int) -> bool:
    """Let *store* be of *network*, for good; on a full disk, from the next start on. False if it is of another one."""
    known, id_ = store.get_meta(_META_NETWORK), network.goset_dmx.hex()
    if known is None:
        store.put_meta(_META_NETWORK, id_)
        try:
            store.commit(wall_us)
        except StoreFullError:
            store.rollback()
    return known in {None, id_}
