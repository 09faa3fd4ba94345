"""Calls that make the frozen files in ``tests/vectors/pzp/store``."""

from pathlib import Path

from tests.pzp.database.messages import ALICE, BOB, NONCE, keep, public
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.messages.versions import V2, write_consent

FOLDER = Path(__file__).parents[2] / "vectors" / "pzp" / "store"


def fill(database: PzpDatabase) -> None:
    """Something of all that version 1 of the file can hold."""
    group = database.create_identity(ALICE, NONCE, wall_us=1_700_000_000_000_000, version=V2)
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


def fill_v4(database: PzpDatabase) -> None:
    """Add content that needs version 2 of the file: an account of Msg V4, a feed, a reply."""
    at_us = 1_700_000_010_000_000
    account = database.create_identity(ALICE, NONCE, wall_us=at_us)
    consent = write_consent(BOB, account)
    database.add_key(ALICE, account, public(BOB), consent=consent, powers=("add",), wall_us=at_us)
    first = database.write(ALICE, {"text": "of Msg V4"}, "post", account, wall_us=at_us)
    database.write(BOB, {"text": "a reply"}, "chat", account, tangles=[first], wall_us=at_us)
