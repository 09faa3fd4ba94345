"""The node's tasks for groups beside the rules: leaving, ending, costs, and its reports when it cannot write."""

import random
import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.groups.mesh import HOUR_US, MINUTE_US, begun
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import EntryAppended
from tinyssb_node.errors import LocalError
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.host import groups_of
from tinyssb_node.groups.manager import GroupLeftError, GroupManager, GroupWriteResult
from tinyssb_node.groups.messages import post
from tinyssb_node.groups.plan import GroupRefusalError
from tinyssb_node.groups.writer import GroupWriteCost, GroupWriterPort, PhoneDialectError
from tinyssb_node.ids import Dialect, MessageId
from tinyssb_node.node.node import Node
from tinyssb_node.store.memory import MemoryStore

SEED = bytes(range(32))
LONE = """
import random, sys
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.groups.host import groups_of
from tinyssb_node.node.node import Node
from tinyssb_node.store.memory import MemoryStore

groups = groups_of(bytes(32), random.randbytes)
node = Node(
    store=MemoryStore(), network=Network(), entropy=random.Random(1), key=SigningKey(bytes(32)), groups=groups
)
node.publish(b"hello", 0)
node.wake(0)
print(*sorted(name for name in sys.modules if name.startswith("tinyssb_node.groups")), node.next_wake_us())
"""


def lone(dialect: Dialect, store: MemoryStore | None = None) -> Node:
    """A node without any face."""
    return Node(
        store=store or MemoryStore(),
        network=Network(),
        entropy=random.Random(1),
        key=SigningKey(SEED),
        dialect=dialect,
        groups=groups_of(SEED, random.Random(2).randbytes),
    )


def check(cost: GroupWriteCost, written: Sequence[EntryAppended]) -> None:
    """Check that the cost was correct."""
    assert cost.messages == len(cost.steps) == len(written)
    assert cost.packets == sum(1 + entry.chunks for entry in written)
    assert cost.content_bytes == sum(entry.size for entry in written)


def test_costs_are_what_is_then_written() -> None:
    mesh, root = begun("abcd", "e")
    groups = mesh["a"]
    for cost, deed in (
        (
            lambda: groups.cost_of_adding(root, [mesh.id("e")], "hello"),
            lambda: mesh.add("a", root, "e", "hello"),
        ),
        (lambda: groups.cost_of_excluding(root, [mesh.id("b")]), lambda: mesh.exclude("a", root, "b")),
    ):
        check(cost(), deed().entries)
    # A person who never wrote has to announce their feeds first.
    mesh.settle()
    kind, body = post("x" * 300)
    for name in "ee":  # the second post finds the feed begun
        check(
            mesh[name].cost_of_posting(root, kind, body),
            mesh.do(name, lambda groups, pen, now: groups.post(pen, root, kind, body, now)).entries,
        )
    mesh.settle()
    check(mesh["d"].cost_of_excluding(root, [mesh.id("c")]), mesh.exclude("d", root, "c").entries)


@pytest.mark.parametrize("count", [0, 1, 3, 18])
@pytest.mark.parametrize("title", [None, "Hut crew", "x" * 200])
@pytest.mark.parametrize("erase_days", [None, 14])
def test_the_cost_of_a_new_group_is_what_creating_it_takes(
    count: int, title: str | None, erase_days: int | None
) -> None:
    mesh, _ = begun("a")
    people = [SigningKey(bytes(31) + bytes([number + 1])).feed_id for number in range(count)]
    cost = mesh["a"].cost_of_creating(title, people, erase_days)

    def create(groups: GroupManager, pen: GroupWriterPort, now: int) -> GroupWriteResult:
        made = groups.create(pen, title, now, erase_days)
        added = [groups.add(pen, made.root, people, None, now)] if people else []
        return GroupWriteResult(made.root, sum((one.entries for one in added), made.entries))

    check(cost, mesh.do("a", create).entries)


def test_the_cost_of_a_text_that_is_erased_includes_its_keys() -> None:
    mesh, root = begun("abcd", erase_days=2)
    kind, body = post("x" * 300)
    for name in "aab":  # the second text finds the chain begun
        check(
            mesh[name].cost_of_posting(root, kind, body),
            mesh.do(name, lambda groups, pen, now: groups.post(pen, root, kind, body, now)).entries,
        )
        mesh.settle()


def test_who_left_writes_and_fetches_nothing_until_he_returns() -> None:
    mesh, root = begun("abc")
    mesh.do("b", lambda groups, pen, now: groups.leave(pen, root, now))
    mesh.settle()
    assert mesh["b"].left(root)
    assert isinstance(
        mesh.refusal("b", lambda groups, pen, now: groups.post(pen, root, "post", b"", now)), GroupLeftError
    )
    mesh.say("a", root, "are you there?")
    mesh.settle()
    assert mesh.texts("b", root) == []
    mesh.do("b", lambda groups, _pen, now: groups.come_back(root, now))
    mesh.settle()
    assert mesh.texts("b", root) == ["are you there?"]
    mesh.say("b", root, "I am again")
    mesh.settle()
    assert mesh.texts("c", root) == ["are you there?", "I am again"]


def test_a_departure_outlives_a_restart_and_ends_the_feed() -> None:
    mesh, root = begun("ab")
    mesh.say("b", root, "hello")
    mesh.do("b", lambda groups, pen, now: groups.leave(pen, root, now))
    mesh.settle()
    mesh.world.crash("b", MINUTE_US)
    mesh.settle(2 * MINUTE_US)
    assert mesh["b"].left(root)
    feed = mesh["b"].reader.feed_of(mesh.id("b"), mesh.group("b", root).view[root].key)
    mesh.settle(group_limits.END_WAIT_US + 3 * HOUR_US)
    node = mesh.world.inhabitants["a"].node
    assert isinstance(node, Node)
    assert next(record for record in node.feeds() if record.feed == feed).retired


def test_a_feed_of_an_epoch_that_is_over_ends_after_its_time() -> None:
    mesh, root = begun("abc")
    mesh.say("b", root, "early")
    mesh.settle()
    mesh.exclude("a", root, "c")
    mesh.settle()
    old = mesh["b"].reader.feed_of(mesh.id("b"), mesh.group("b", root).view[root].key)
    assert old is not None

    def last() -> int:
        entry = mesh.world.inhabitants["b"].store.entries(old, 1, 100)[-1]
        return entry.packet[limits.DMX_SIZE]

    mesh.settle(group_limits.END_WAIT_US - 10 * MINUTE_US)
    assert last() == 1
    mesh.settle(30 * MINUTE_US)
    assert last() == 5  # contdas
    mesh.say("b", root, "late")
    mesh.settle()
    assert mesh.texts("a", root) == ["early", "late"]


def test_a_feed_for_phones_takes_no_part_in_groups() -> None:
    node = lone(Dialect.DEPLOYED)
    with pytest.raises(PhoneDialectError):
        node.in_groups(lambda groups, pen: groups.create(pen, "hikers", 0), 0)
    assert [(record.seq, record.own) for record in node.feeds()] == [(0, True)]


def test_an_unknown_group_is_refused() -> None:
    node = lone(Dialect.SPEC)
    with pytest.raises(LocalError, match="no group here begins with"):
        node.in_groups(
            lambda groups, pen: groups.post(pen, MessageId(bytes(MessageId.SIZE)), "post", b"", 0), 0
        )


def test_nothing_is_written_that_the_rules_refuse() -> None:
    mesh, root = begun("ab")
    before = [record.seq for record in mesh.world.inhabitants["a"].node.feeds()]
    error = mesh.refusal("a", lambda groups, pen, now: groups.exclude(pen, root, [mesh.id("a")], now))
    assert isinstance(error, GroupRefusalError)
    assert [record.seq for record in mesh.world.inhabitants["a"].node.feeds()] == before


def test_what_cannot_be_written_is_told_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh, root = begun("abc")
    mesh.say("a", root, "first")  # b has the feed of a, and none of their own yet
    mesh.settle()

    def refuse(*_: object, **__: object) -> None:
        raise PhoneDialectError(mesh.id("a"))

    with monkeypatch.context() as context:
        context.setattr("tinyssb_node.groups.writer.GroupWriter.end", refuse)
        mesh.exclude("b", root, "c")
        mesh.settle(group_limits.END_WAIT_US + MINUTE_US)
        assert isinstance(mesh["a"].problems[root], PhoneDialectError)
    mesh.settle(group_limits.RETRY_US + MINUTE_US)
    assert mesh["a"].problems == {}


def test_groups_are_found_again_in_the_store() -> None:
    store = MemoryStore()
    node = lone(Dialect.SPEC, store)
    written, _ = node.in_groups(lambda groups, pen: groups.create(pen, "hikers", 0), 0)
    store.commit(0)
    again = lone(Dialect.SPEC, store)
    due_us = again.next_wake_us()
    while due_us is not None and not (again.groups and again.groups.read_all):
        again.wake(due_us)
        due_us = again.next_wake_us()
    assert again.groups is not None
    assert again.groups.reader.groups[written.root].name == "hikers"


def test_who_is_in_no_group_loads_nothing_of_groups() -> None:
    run = subprocess.run([sys.executable, "-c", LONE], capture_output=True, text=True, check=True)
    loaded = ["groups", "groups.host", "groups.limits", "groups.spending", "groups.waits"]
    assert run.stdout.split() == [*(f"tinyssb_node.{name}" for name in loaded), "None"]


@pytest.mark.parametrize("muted", [True, False])
def test_a_muted_group_stays_muted_after_a_restart(muted: bool) -> None:
    mesh, root = begun("ab")
    mesh.do("a", lambda groups, _, now: groups.mute(root, now, muted=True))
    mesh.do("a", lambda groups, _, now: groups.mute(root, now, muted=muted))
    mesh.crash("a")
    mesh.settle(MINUTE_US)
    assert (mesh["a"].muted(root), mesh["b"].muted(root)) == (muted, False)
