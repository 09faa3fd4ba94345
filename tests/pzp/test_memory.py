import pytest

from tests.pzp.contract import DatabaseContract
from tests.pzp.contract_taking_away import TakingAwayContract
from tinyssb_node.pzp.database import Database
from tinyssb_node.pzp.memory import MemoryRows


class TestMemory(DatabaseContract, TakingAwayContract):
    @pytest.fixture
    def database(self) -> Database:
        return Database(MemoryRows())
