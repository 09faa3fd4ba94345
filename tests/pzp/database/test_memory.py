import pytest

from tests.pzp.database.contract import DatabaseContract
from tests.pzp.database.contract_taking_away import TakingAwayContract
from tinyssb_node.pzp.database.database import Database
from tinyssb_node.pzp.database.memory import MemoryRows


class TestMemory(DatabaseContract, TakingAwayContract):
    @pytest.fixture
    def database(self) -> Database:
        return Database(MemoryRows())
