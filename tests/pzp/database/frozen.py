"""Calls that make the frozen files in ``tests/vectors/pzp/store``."""

from pathlib import Path

from tests.pzp.database.messages import ALICE, BOB, NONCE, keep, public
from tinyssb_node.pzp.database.database import PzpDatabase

FOLDER = Path(__file__).parents[2] / "vectors" / "pzp" / "store"


def fill(database: PzpDatabase) -> None:
    """Something of all that version 1 can hold."""
    group = database.create_identity(ALICE, NONCE, wall_us=1_700_000_000_000_000)
    database.add_key(ALICE, group, public(BOB), wall_us=1_700_000_001_000_000)
    ids = [
        database.write(key, {"text": f"message {number}"}, "post", group, wall_us=1_700_000_002_000_000)
        for number, key in enumerate([ALICE, BOB] * 6)
    ]
    (feed,) = [one.root for one in database.tangles() if one.messages == 13]
    keep(database, feed, "newest-5")
    database.collect(0)
    reply = database.write(
        BOB, {"text": "a reply"}, "chat", group, tangles=[ids[-2]], wall_us=1_700_000_003_000_000
    )
    last = database.write(ALICE, {"text": "too much"}, "post", group, wall_us=1_700_000_004_000_000)
    database.delete(last)
    database.erase(reply)
    database.write(ALICE, {"text": "of Feed V1"}, "post", wall_us=1_700_000_005_000_000)
