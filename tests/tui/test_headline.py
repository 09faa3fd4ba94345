"""The first line of the terminal screen."""

from msgspec.structs import replace

from tests.tui.node import NOW_US, STATUS
from tinyssb_node.control.rows import NetworkRow, RefusalRow
from tinyssb_node.tui.headline import head_line
from tinyssb_node.tui.screen_state import ScreenState


def test_feeds_that_are_kept_out_are_told_and_other_limits_are_not() -> None:
    network = NetworkRow(
        name="default",
        network=None,
        feeds=5,
        entries=431,
        arrivals=500,
        forked=0,
        refusals=[RefusalRow("ids", 27, STATUS.uptime_us), RefusalRow("queue", 3, STATUS.uptime_us)],
    )
    line = head_line(ScreenState(now_us=NOW_US, status=replace(STATUS, networks=[network])))
    assert line.startswith(" ! 27 ids of strangers' feeds were put off")
    assert "queue" not in line
