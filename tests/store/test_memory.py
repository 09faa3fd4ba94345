import pytest

from tests.store.contract import ANA, StoreContract, feed_record, put_entry
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import Store


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()

    def test_a_chunk_put_twice_is_our_own_mistake(self, filled):
        with pytest.raises(AssertionError, match="chunk 1 of entry 2 is there"):
            filled.append_chunk(ANA, 2, 1, bytes(120), "peer", None)

    def test_what_was_not_committed_is_lost_when_it_closes(self):
        store = MemoryStore()
        store.put_feed(feed_record(ANA))
        put_entry(store, ANA, 1)
        store.commit(1)
        put_entry(store, ANA, 2)
        store.close()
        assert store.last_arrival() == 1
