"""Rows about private groups that need no timeline."""

from tests.groups.world import person
from tinyssb_node.daemon.groupviews import broken_row, step_row
from tinyssb_node.groups.messages import FeedRole
from tinyssb_node.groups.plan import AddStep, BeginEpochStep, ExcludeStep, Step
from tinyssb_node.groups.reader_events import FeedAssignment, GroupEntryFault, InvalidGroupEntry
from tinyssb_node.ids import MessageId


def test_what_opened_and_is_no_message_is_a_line_of_the_audit() -> None:
    broken = InvalidGroupEntry(
        MessageId(bytes(20)), person("feed"), 3, person("b"), GroupEntryFault.BODY, "was changed"
    )
    row = broken_row(broken, person("a"), FeedAssignment(person("b"), FeedRole.ADDITIONS), 5)
    assert (row.kind, row.rule, row.flaw, row.role, row.own) == (
        "broken",
        "body",
        "was changed",
        "additions",
        False,
    )
    assert broken_row(broken, person("b"), None, None).own


def test_steps_are_told() -> None:
    id_ = MessageId(b"\x01" * 20)
    steps: list[Step] = [
        ExcludeStep(id_, (person("b"),)),
        BeginEpochStep((id_,)),
        AddStep(None, (person("a"),)),
        AddStep(id_, (person("a"),)),
    ]
    assert [(row.step, row.epoch, len(row.people)) for row in map(step_row, steps)] == [
        ("exclude", id_.hex(), 1),
        ("begin", None, 0),
        ("add", None, 1),
        ("add", id_.hex(), 1),
    ]
