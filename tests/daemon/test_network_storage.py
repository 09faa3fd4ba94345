"""A store is of one network, for good."""

from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.network_storage import bind_store
from tinyssb_node.store.memory import MemoryStore


def test_a_store_belongs_to_the_network_it_was_first_opened_for() -> None:
    store = MemoryStore()
    assert bind_store(store, Network(b"ours"), 1)
    assert bind_store(store, Network(b"ours"), 2)
    assert not bind_store(store, Network(b"theirs"), 3)
    assert not bind_store(store, Network(), 4)
    store.rollback()
    assert bind_store(store, Network(b"ours"), 5), "it was committed"
