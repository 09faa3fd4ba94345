"""Threads as a tree and in words."""

from tests.catalog.fake import ANA, BOB, EVE, make_message, make_person
from tinyssb_node.screens.gaps import MessageGap
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.threads import ThreadMessage, thread_lines, tree

NAMES = DisplayNames(
    [make_person(ANA, "Ana"), make_person(BOB, "Bob"), make_person(EVE, "Eve", blocked=True)]
)
FIRST = make_message("first", ANA, 1, "Lunch?")
YES = make_message("yes", BOB, 1, "Yes\nwith soup", "first")
EVIL = make_message("evil", EVE, 1, "Buy my soup", "yes")


def test_a_tree_has_each_answer_below_what_it_answers() -> None:
    bread = make_message("bread", BOB, 2, "Bread?", "first")
    answers = {FIRST.id: [YES, bread], YES.id: [EVIL]}
    assert list(tree(FIRST, answers)) == [(FIRST, 0), (YES, 1), (EVIL, 2), (bread, 1)]


def test_lines_show_who_answers_what_and_hide_blocked_people() -> None:
    thread = [
        ThreadMessage(FIRST, 0),
        ThreadMessage(YES, 1, adjacent=True, gap=MessageGap(2, None)),
        ThreadMessage(EVIL, 2),
    ]
    first, gap, yes, more, evil = thread_lines(thread, NAMES)
    assert first.endswith(": Lunch?")
    assert gap == "  ... 2 messages missing ..."
    assert yes.startswith("  ↳ Bob")
    assert yes.endswith(" [right below it in the chat, perhaps no answer]: Yes")
    assert more == "    with soup"
    assert evil.startswith("    ↳ Eve")
    assert evil.endswith(": (blocked)")
