"""Which epoch people prefer agrees with the vectors, each scenario played by messages."""

import json
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.groups.world import GROUP, key_of, message_id, person, said
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.groups.epochs import Epoch, EpochGraph
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludedMember,
    ExcludeMember,
    GroupInit,
    OpenedGroupMessage,
)
from tinyssb_node.groups.replication import EpochFeed, replication, writing_epoch
from tinyssb_node.ids import EpochKey, FeedId, MessageId

FOLDER = Path(__file__).parent.parent / "vectors" / "groups" / "epochs"


def load(name: str) -> Any:
    """A file of vectors."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def people(names: Any) -> frozenset[FeedId]:
    """The people of these names."""
    return frozenset(person(name) for name in names)


SCENARIOS = load("scenarios")["cases"]


class Play:
    """The messages of a scenario, as its members would have written them."""

    def __init__(self, case: Any) -> None:
        self.epochs = {epoch["name"]: epoch for epoch in case["epochs"]}
        self.messages: dict[str, list[OpenedGroupMessage]] = {name: [] for name in self.epochs}
        self._ends: dict[str, list[MessageId]] = {}
        """Tips in the group tangle of those who know an epoch and what led to it."""
        self._members_end: dict[str, MessageId] = {}
        for epoch in case["epochs"]:
            self._play(epoch)
        everybody = [set(epoch["members"]) for epoch in case["epochs"]]
        adder = min(set.intersection(*everybody) or everybody[0])
        for epoch in case["epochs"]:
            if epoch["members_added_later"]:
                by = adder if adder in epoch["members"] else epoch["by"]
                self._write_add(epoch, by, epoch["members_added_later"], self._ends[epoch["name"]])

    def key(self, name: str) -> EpochKey:
        """Key of an epoch."""
        return EpochKey.from_hex(self.epochs[name]["key"])

    def _write(self, epoch: str, what: str, by: str, message: Any, key: EpochKey | None = None) -> MessageId:
        id_ = message_id(f"{epoch}/{what}")
        self.messages[epoch].append(said(id_, person(by), message, key))
        return id_

    def _play(self, epoch: Any) -> None:
        name, by = epoch["name"], epoch["by"]
        secret = self.key(name)
        init = message_id(f"{name}/init")
        if epoch["previous"] is None:
            self._write(name, "init", by, GroupInit(secret, FIRST, FIRST, FIRST))
            self.root = init
        else:
            base = epoch["previous"][0]
            known = [id_ for one in epoch["previous"] for id_ in self._ends[one]]
            place = TangleData(message_id(f"{base}/init"), (self._members_end[base],))
            gone = tuple(ExcludedMember(person(one)) for one in epoch["excluding"])
            message = ExcludeMember(GROUP, gone, TangleData(self.root, tuple(known)), place)
            exclusion = self._write(base, f"exclude for {name}", by, message, self.key(base))
            previous = tuple(message_id(f"{one}/init") for one in epoch["previous"])
            begins = GroupInit(
                secret,
                TangleData(self.root, (exclusion,)),
                TangleData(self.root, previous),
                FIRST,
                GROUP,
                person(by),
            )
            self._write(name, "init", by, begins)
        self._members_end[name] = init
        now = [one for one in epoch["members"] if one not in epoch["members_added_later"]]
        self._ends[name] = [init]
        self._write_add(epoch, by, now, [init])

    def _write_add(self, epoch: Any, by: str, names: list[str], behind: list[MessageId]) -> None:
        name = epoch["name"]
        id_ = message_id(f"{name}/add {names}")
        message = AddMember(
            secret=self.key(name),
            group=GROUP,
            root=self.root,
            creator=person(next(iter(self.epochs.values()))["by"]),
            people=tuple(person(one) for one in names),
            group_tangle=TangleData(self.root, tuple(behind)),
            members_tangle=TangleData(message_id(f"{name}/init"), (self._members_end[name],)),
        )
        self.messages[name].append(said(id_, person(by), message))
        self._ends[name] = [id_]
        self._members_end[name] = id_

    def group(self, known: Any) -> Group:
        """Return the graph of these epochs."""
        group = Group(GROUP, self.root)
        for name in known:
            for each in reversed(self.messages[name]):
                group.add(each)
        return group

    def init(self, name: str) -> MessageId:
        """Id of an epoch."""
        return message_id(f"{name}/init")

    def inits(self, names: Any) -> set[MessageId]:
        """Ids of epochs."""
        return {self.init(name) for name in names}


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: str(case["id"]))
def test_epochs_members_and_forks_are_those_of_the_vectors(case: Any) -> None:
    play = Play(case)
    group = play.group(play.epochs)
    view = group.view
    assert [line for line in group.audit() if line.flaw is not None] == []
    assert view.epochs.keys() == play.inits(play.epochs)
    expected = case["expected"]
    correct = expected.get("recommended_correct_membership", expected["correct_membership"])
    for name, epoch in play.epochs.items():
        found = view[play.init(name)]
        assert found.members == people(epoch["members"])
        assert found.correct == people(correct[name])
        if correct is expected["correct_membership"]:
            assert found.missing == people(expected["missing_members"][name])
    forks = {
        frozenset(fork.epochs): (fork.relation.value, fork.nearest, fork.witnesses, fork.winner)
        for fork in view.forks()
    }
    assert forks == {
        frozenset(play.inits(fork["epochs"])): (
            fork["relation"],
            frozenset(play.inits(fork["nearest_common_predecessor"])),
            people(fork["fork_witnesses"]),
            play.init(fork["tie_break_winner"]),
        )
        for fork in expected["forks"]
    }


PEERS = [(case, peer) for case in SCENARIOS for peer in case["expected"]["per_peer"]]


@pytest.mark.parametrize(
    ("case", "peer"), PEERS, ids=lambda value: value if isinstance(value, str) else value["id"]
)
def test_everybody_prefers_what_the_vectors_say(case: Any, peer: str) -> None:
    play = Play(case)
    expected = case["expected"]["per_peer"][peer]
    found = play.group(case["peer_knows"][peer]).view.preference(person(peer))
    assert set(found.tips) == play.inits(expected["tips"])
    if "recommended_instead" in expected:
        assert found.epoch == play.init(expected["recommended_instead"]["preferred"])
        assert found.resolution is None
        return
    assert found.epoch == play.init(expected["preferred"])
    assert [rule.value for rule in found.rules] == expected["rules"]
    assert found.interim == expected["interim"]
    assert found.excluded == expected["excluded_from_preferred"]
    follow_up = expected["follow_up"]
    if follow_up["action"] == "none":
        assert found.resolution is None
        return
    assert found.resolution is not None
    assert found.resolution.base == play.init(follow_up["on_epoch"])
    assert found.resolution.others == play.inits(follow_up["others"])
    assert found.resolution.exclude == people(follow_up["exclude_by_text"])
    assert found.resolution.members == people(follow_up["new_epoch_members_by_text"])
    assert set(found.resolution.previous) == play.inits(follow_up["new_epoch_tangle_previous"])


REPLICATED = [(case, peer) for case in SCENARIOS for peer in case["expected"].get("replication", {})]


@pytest.mark.parametrize(
    ("case", "peer"), REPLICATED, ids=lambda value: value if isinstance(value, str) else value["id"]
)
def test_feeds_are_fetched_and_served_as_the_vectors_say(case: Any, peer: str) -> None:
    play = Play(case)
    expected = case["expected"]["replication"][peer]

    def feeds(names: list[str]) -> set[EpochFeed]:
        return {
            EpochFeed(play.init(name[: name.index("/")]), person(name[name.index("/") + 1 :]))
            for name in names
        }

    group = play.group(case["peer_knows"][peer])
    found = replication(group, person(peer))
    assert found.fetch == feeds(expected["fetch"])
    assert found.cease.keys() == feeds(expected["cease_fetch"])
    assert found.fetch | found.cease.keys() == feeds(expected["serve"])
    assert writing_epoch(group.view, person(peer)) == group.view.preference(person(peer)).epoch


@pytest.mark.parametrize("case", load("tie_break")["cases"], ids=lambda case: str(case["id"]))
def test_ties_are_broken_by_unsigned_bytes(case: Any) -> None:
    keys = [EpochKey.from_hex(text) for text in case["keys_hex"]]
    epochs = [Epoch(message_id(at), key, person("a"), (), people("a")) for at, key in enumerate(keys)]
    view = EpochGraph(epochs)
    assert view[view.winner(list(view.epochs))].key.hex() == case["winner_hex"]
    ordered = sorted(view.epochs.values(), key=lambda epoch: epoch.rank)
    assert [epoch.key.hex() for epoch in ordered] == case["order_hex"]


@given(st.lists(st.frozensets(st.sampled_from("bcdef")), min_size=1, max_size=6), st.randoms())
def test_what_needs_no_new_epoch_comes_out_the_same_in_any_order_of_pairs(
    crowds: list[frozenset[str]], chance: Random
) -> None:
    """By the letter of 4.8: pairs of forks, in whatever order, until 4.4 and 4.5 apply to none."""
    zero = Epoch(message_id("zero"), key_of("zero"), person("a"), (), people("abcdef"))
    forks = [
        Epoch(message_id(at), key_of(at), person("a"), (zero.init,), people({"a", *crowd}))
        for at, crowd in enumerate(crowds)
    ]
    chance.shuffle(forks)
    view = EpochGraph([zero, *forks])
    left = [epoch.init for epoch in forks]
    while True:
        pairs = [
            (one, other)
            for one, other in permutations(left, 2)
            if view[one].members < view[other].members
            or (view[one].members == view[other].members and view.winner((one, other)) == one)
        ]
        if not pairs:
            break
        left.remove(chance.choice(pairs)[1])
    found = view.preference(person("a"))
    assert found.epoch == view.winner(left)
    assert found.interim == (len(left) > 1)
    if found.resolution is not None:
        assert {found.resolution.base, *found.resolution.others} == set(left)
