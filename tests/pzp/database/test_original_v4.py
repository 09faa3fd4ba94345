"""The database of the published package, given the same calls (vectors ``v4-db``)."""

import random
from typing import Any

import pytest

from tests.pzp.database.memory import MemoryPzpRows
from tests.pzp.database.messages import ALICE, BOB, CAROL, need, public
from tests.pzp.messages.vectors import load
from tinyssb_node.errors import LocalError
from tinyssb_node.pzp.database.database import PzpAddOutcome, PzpDatabase
from tinyssb_node.pzp.database.dependencies import missing_dependencies
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.versions import V2, write_consent


def empty() -> PzpDatabase:
    return PzpDatabase(MemoryPzpRows())


def test_the_same_calls_write_the_same_messages() -> None:
    vectors, database = load("v4-db"), empty()
    account = database.create_identity(ALICE, "MYNONCE", wall_us=1)

    def post(key: Any, text: str) -> str:
        return database.write(key, {"text": text}, "post", account, wall_us=1)

    def add(key: Any, *powers: str) -> str:
        return database.add_key(
            ALICE, account, public(key), consent=write_consent(key, account), powers=powers, wall_us=1
        )

    written = [
        account,
        post(ALICE, "1"),
        add(BOB),
        post(BOB, "2"),
        add(CAROL, "add", "del"),
        post(CAROL, "3"),
    ]
    for id_, step in zip(written, vectors["steps"], strict=False):
        assert (id_, need(database.record(id_)).message()) == (step["id"], step["msg"]), step["step"]
    removal = vectors["steps"][6]
    assert database.add(removal["msg"], wall_us=1).outcome is PzpAddOutcome.NEW
    assert post(ALICE, "4") == vectors["steps"][7]["id"]
    with pytest.raises(LocalError, match="Nothing was published, because no node would accept it"):
        post(BOB, "5")  # which the package writes, and no other peer takes
    database.erase(written[1])
    assert need(database.record(written[1])).message() == vectors["afterErase"]


def offers(vectors: Any) -> list[tuple[str, Any, str | None]]:
    """Return the messages that the other peer was offered: name, message and tangle."""
    account, post = vectors["account"], vectors["post"]
    found = []
    for record in vectors["records"]:
        tangles = record["msg"]["metadata"]["tangles"]
        root = (
            account
            if account in tangles
            else next((one for one in (post, vectors["vote"]) if one in tangles), None)
        )
        found.append((record["id"], record["msg"], root))
    for extra in vectors["extra"]:
        own = extra["msg"]["metadata"]["account"] == "self"
        found.append((extra["name"], extra["msg"], account if own else post))
    return found


def test_in_compat_another_peer_takes_what_one_of_the_package_takes() -> None:
    vectors, database = load("v4-db"), empty()
    for (name, said, root), step in zip(offers(vectors), vectors["secondPeerAdds"], strict=True):
        taken = True
        try:
            database.add(said, root, wall_us=1, strict=False)
        except MessageError:
            taken = False
        assert taken == step["ok"], name


def test_strictly_strangers_change_nothing() -> None:
    vectors, database = load("v4-db"), empty()
    refused: dict[str, PzpRule] = {}
    for name, said, root in offers(vectors):
        try:
            database.add(said, root, wall_us=1)
        except MessageError as error:
            refused[name] = error.rule
    ids = [step.get("id") for step in vectors["steps"]]
    assert refused == {
        ids[8]: PzpRule.NOT_MEMBER,
        ids[11]: PzpRule.PREV_UNKNOWN,  # it follows the one before
        "bob, tips the removal": PzpRule.NOT_MEMBER,
        "alice, tips unknown": PzpRule.TIPS_UNKNOWN,
        "dave, a stranger": PzpRule.NOT_MEMBER,
        "account.add(dave) by bob, who has no power": PzpRule.NOT_ALLOWED,
        "account.add(dave) by carol, without consent": PzpRule.CONSENT,
        "account.del(alice) by dave, a stranger": PzpRule.NOT_MEMBER,
    }
    assert database.tangle(vectors["post"]).topological()[0] == vectors["post"]


@pytest.mark.parametrize("seed", range(8))
def test_in_any_order_the_verdicts_are_the_same(seed: int) -> None:
    """Messages that lack something wait for it, as the import of a file lets them."""
    vectors, chance = load("v4-db"), random.Random(seed)
    database, waiting = empty(), [said for _, said, _ in offers(vectors)]
    chance.shuffle(waiting)
    moved = True
    while moved:
        moved = False
        for said in list(waiting):
            try:
                database.add(said, wall_us=1)
            except MessageError as error:
                missing_dependencies(database, said, error)
                continue
            waiting.remove(said)
            moved = True
    taken = {record.id for record in database.records(0, 100)}
    steps = [step.get("id") for step in vectors["steps"]]
    backdated = vectors["extra"][0]["id"]
    last = vectors["extra"][-1]["id"]
    every = {record["id"] for record in vectors["records"]}
    assert taken == every - {steps[8], steps[11]} | {backdated, last} - {steps[11]}


def test_a_message_waits_for_the_tips_that_it_names() -> None:
    vectors, database = load("v4-db"), empty()
    messages = {record["id"]: record["msg"] for record in vectors["records"]}
    account, moot = vectors["account"], messages[vectors["post"]]
    by_bob = vectors["steps"][3]
    for said in (messages[account], moot, vectors["steps"][1]["msg"]):
        database.add(said, wall_us=1)
    with pytest.raises(MessageError) as caught:
        database.add(by_bob["msg"], wall_us=1)
    assert caught.value.rule is PzpRule.TIPS_UNKNOWN
    (lack,) = missing_dependencies(database, by_bob["msg"], caught.value)
    assert (lack.root, lack.id) == (account, vectors["steps"][2]["id"])
    database.add(vectors["steps"][2]["msg"], wall_us=1)
    assert database.add(by_bob["msg"], wall_us=1).outcome is PzpAddOutcome.NEW


def test_both_versions_live_in_one_database() -> None:
    database = empty()
    old = database.create_identity(ALICE, "MYNONCE", wall_us=1, version=V2)
    new = database.create_identity(ALICE, "MYNONCE", wall_us=1)
    said = [database.write(ALICE, {"text": "x"}, "post", owner, wall_us=1) for owner in (old, new, old, new)]
    assert [need(database.record(one)).version for one in said] == [2, 4, 2, 4]
    assert [summary.messages for summary in database.tangles()].count(3) == 2
    with pytest.raises(LocalError, match="no node would accept it"):
        database.write(ALICE, {"text": "x"}, "post", new, tangles=[said[0]], wall_us=1)
    assert [record.id for record in database.records(owner=new)] == [
        record.id for record in database.records(0, 100) if record.version == 4 and record.owner == new
    ]
