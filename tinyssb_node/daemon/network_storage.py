"""The storage of one network: its own store and event log, so that networks never mix."""

from dataclasses import dataclass

from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.eventlog import EventLog
from tinyssb_node.errors import StoreFullError
from tinyssb_node.ids import NetworkName
from tinyssb_node.store.port import Store

_META_NETWORK = "network"
"""Name in the store of the network for which its entries are signed."""


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
