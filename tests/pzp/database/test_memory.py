import pytest

from tests.pzp.database.contract import DatabaseContract
from tests.pzp.database.contract_taking_away import TakingAwayContract
from tests.pzp.database.memory import MemoryPzpRows
from tinyssb_node.pzp.database.database import PzpDatabase


class TestMemory(DatabaseContract, TakingAwayContract):
    @pytest.fixture
    def database(self) -> PzpDatabase:
        return PzpDatabase(MemoryPzpRows())
