"""Limits that were reached, in words."""

from tinyssb_node.control.rows import RefusalRow
from tinyssb_node.screens.limit_words import recent, what_to_do, what_was_refused

HOUR_US = 3_600_000_000


def test_only_what_was_refused_in_the_last_hour_counts() -> None:
    old, new = RefusalRow("queue", 3, 0), RefusalRow("ids", 1_200, HOUR_US)
    assert recent([new, old], HOUR_US + 1) == [new]


def test_it_says_what_and_what_to_do() -> None:
    row = RefusalRow("ids", 1_200, 0)
    assert what_was_refused(row).startswith("1,200 ids of strangers' feeds were put off")
    assert "set.ids_per_hour" in what_to_do(row)


def test_a_rule_of_a_newer_daemon_is_named() -> None:
    row = RefusalRow("tides", 2, 0)
    assert what_was_refused(row) == "2 refusals by the rule 'tides'"
    assert "events.md" in what_to_do(row)
