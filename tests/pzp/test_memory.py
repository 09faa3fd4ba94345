import pytest

from tests.pzp.contract import DatabaseContract
from tinyssb_node.pzp.database import Database
from tinyssb_node.pzp.memory import MemoryRows


class TestMemory(DatabaseContract):
    @pytest.fixture
    def database(self) -> Database:
        return Database(MemoryRows())
