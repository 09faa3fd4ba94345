"""The original's database, given the same calls (vectors ``v2-db``)."""

import pytest

from tests.pzp.database.memory import MemoryPzpRows
from tests.pzp.database.messages import ALICE, BOB, CAROL, NONCE, need, public
from tests.pzp.messages.broken import breaking
from tests.pzp.messages.checked import deletable_and_erasable
from tests.pzp.messages.vectors import load
from tinyssb_node.errors import LocalError
from tinyssb_node.pzp.database.database import PzpAddOutcome, PzpDatabase
from tinyssb_node.pzp.messages.errors import PzpRule
from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.pzp.messages.versions import V2


def test_the_same_calls_write_the_same_messages() -> None:
    vectors = load("v2-db")
    database, group = PzpDatabase(MemoryPzpRows()), vectors["group"]
    added = database.create_identity(ALICE, NONCE, wall_us=1, version=V2)
    first = database.write(ALICE, {"text": "1"}, "post", group, wall_us=1)
    written = [
        added,
        first,
        database.add_key(ALICE, group, public(BOB), wall_us=1),
        database.write(ALICE, {"text": "2"}, "post", group, wall_us=1),
        database.write(BOB, {"text": "3"}, "post", group, wall_us=1),
        database.write(ALICE, {"v": 1}, "vote", group, tangles=[first], wall_us=1),
    ]
    for id_, step in zip(written, vectors["log"], strict=False):
        assert id_ == step["hash"]
        assert need(database.record(id_)).message() == step["msg"]
    tangle = database.tangle(vectors["feedId"])
    assert tangle.topological() == vectors["topoSortPost"][:-1]  # the last is by somebody who is in no group
    for id_ in tangle.topological():
        said = vectors["deletablesErasables"][id_]
        assert deletable_and_erasable(tangle, id_) == (said["deletables"], said["erasables"])
    nothing: list[tuple[Json, str]] = [({}, "p"), ([1], "post")]
    for payload, kind in nothing:
        with pytest.raises(LocalError, match="Nothing was published, because no node would accept it"):
            database.write(ALICE, payload, kind, group, wall_us=1)
    with pytest.raises(
        LocalError, match="Nothing was published, because no node would accept it"
    ):  # which the original writes, and no other peer takes
        database.write(CAROL, {"text": "x"}, "post", group, wall_us=1)
    database.erase(first)
    assert need(database.record(first)).message() == vectors["afterErase"]
    database.delete(written[-1])
    assert database.record(written[-1]) is None


def test_another_peer_takes_and_refuses_the_same() -> None:
    vectors = load("v2-db")
    database = PzpDatabase(MemoryPzpRows())
    root = vectors["allRecordsInLogOrder"][1]["msg"]
    group, one, add_bob, two, three = (step["msg"] for step in vectors["log"][:5])
    order = [root, group, group, root, three, two, one, add_bob, two, three]
    refused = {0: PzpRule.GROUP_UNKNOWN, 4: PzpRule.TIPS_UNKNOWN, 5: PzpRule.TIPS_UNKNOWN}
    for number, (said, step) in enumerate(zip(order, vectors["secondPeerAdds"], strict=True)):
        assert step["ok"] == (number not in refused)
        if number in refused:
            with breaking(refused[number]):
                database.add(said, wall_us=1)
            continue
        added = database.add(said, wall_us=1)
        assert added.id == step["hash"]
        assert added.outcome is (PzpAddOutcome.KNOWN if number == 2 else PzpAddOutcome.NEW)
