"""Which members' nodes are known to store a message: those who only read acknowledge it."""

import pytest

from tests.groups.mesh import HOUR_US, Mesh
from tinyssb_node.content.acks import ACK_TYPE, ack_of, serialize_acks
from tinyssb_node.daemon.group_timeline import Timeline
from tinyssb_node.daemon.groupviews import said_row
from tinyssb_node.groups.messages import OpenedGroupMessage
from tinyssb_node.ids import MessageId


def last_said(mesh: Mesh, name: str, root: MessageId) -> OpenedGroupMessage:
    """Return the last message of a group on a person's node."""
    group = mesh.group(name, root)
    return group.said(group.tangle.order()[-1])


def known(mesh: Mesh, name: str, root: MessageId, said: OpenedGroupMessage) -> str:
    """Return the people who are shown to have a message, as its author's screens are told."""
    timeline = Timeline(mesh.group(name, root), stored_by=mesh[name].stored_by)
    timeline.refresh()
    row = said_row(timeline, said, mesh.id(name), lambda _: None)
    return "".join(each for each in mesh.world.inhabitants if mesh.id(each).hex() in row.holders)


def test_a_member_who_only_reads_is_known_to_have_what_their_node_acknowledged() -> None:
    mesh = Mesh("abcd", acknowledge_permille=100)
    root = mesh.create("a")
    mesh.add("a", root, "bcd")
    mesh.settle()
    mesh.join("ab", "d")
    mesh.say("a", root, "Who has this?")
    mesh.settle(10_000_000)
    said = last_said(mesh, "a", root)
    assert known(mesh, "a", root, said) == "", "b's node has it, and did not say so yet"
    mesh.settle(2 * HOUR_US)
    assert known(mesh, "a", root, said) == "b", "c and d were out of reach"
    mesh.say("a", root, "And this?")
    mesh.settle(10_000_000)
    assert known(mesh, "a", root, last_said(mesh, "a", root)) == ""
    mesh.crash("a")
    mesh.settle(10_000_000)
    assert known(mesh, "a", root, said) == "b", "it is in the store"
    mesh.join("abcd")
    mesh.settle(2 * HOUR_US)
    assert known(mesh, "a", root, said) == "bcd"
    assert known(mesh, "b", root, said) == "", "only authors are told"


def test_members_who_write_no_acknowledgements_are_known_once_they_write() -> None:
    mesh = Mesh("abc")
    root = mesh.create("a")
    mesh.add("a", root, "bc")
    mesh.settle()
    mesh.say("a", root, "Who has this?")
    said = last_said(mesh, "a", root)
    mesh.settle(2 * HOUR_US)
    assert known(mesh, "a", root, said) == ""
    mesh.say("b", root, "I")
    mesh.settle()
    assert known(mesh, "a", root, said) == "b"


@pytest.mark.parametrize(
    ("seq", "prefix", "holders"),
    [(0, True, "b"), (1, True, ""), (-1, True, ""), (0, False, "")],
    ids=[
        "of the entry",
        "of none that is here",
        "of the one before",
        "of an entry with that number elsewhere",
    ],
)
def test_an_acknowledgement_counts_for_the_entry_that_it_names_and_those_before(
    seq: int, holders: str, *, prefix: bool
) -> None:
    mesh = Mesh("ab")
    root = mesh.create("a")
    mesh.add("a", root, "b")
    mesh.say("a", root, "one")
    mesh.say("a", root, "two")
    mesh.settle()
    said = last_said(mesh, "a", root)
    feed = mesh["a"].reader.feed_of(mesh.id("a"), said.key)
    assert feed is not None
    entry = mesh.world.inhabitants["a"].store.entry(feed, max(1, said.seq + min(seq, 0)))
    assert entry is not None
    id_ = entry.id if prefix else MessageId(bytes(MessageId.SIZE))
    publish(mesh, "b", serialize_acks([ack_of(said.seq + seq, id_)])[0])
    mesh.settle()
    assert known(mesh, "a", root, said) == holders


def test_acknowledgements_of_another_form_and_too_many_do_no_harm() -> None:
    mesh = Mesh("ab")
    root = mesh.create("a")
    mesh.add("a", root, "b")
    mesh.say("a", root, "one")
    mesh.settle()
    said = last_said(mesh, "a", root)
    publish(mesh, "b", b"\x02".ljust(48, b"x"))
    for number in range(1, 100):
        acks = [ack_of(9 * number + each, MessageId(bytes(MessageId.SIZE))) for each in range(9)]
        publish(mesh, "b", serialize_acks(acks)[0])
    assert known(mesh, "a", root, said) == ""
    mesh.settle(HOUR_US)
    assert known(mesh, "a", root, said) == ""
    feed = mesh["a"].reader.feed_of(mesh.id("a"), said.key)
    assert feed is not None
    publish(mesh, "b", serialize_acks([ack_of(said.seq, said.id)])[0])
    mesh.settle()
    assert known(mesh, "a", root, said) == "b"


def publish(mesh: Mesh, name: str, content: bytes) -> None:
    """Let a person's node write an acknowledgement."""
    mesh.do(name, lambda _groups, pen, _now_us: pen.write(pen.main, content, ACK_TYPE))
