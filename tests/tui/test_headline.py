"""The first line of the terminal screen."""

from msgspec.structs import replace

from tests.tui.node import NOW_US, STATUS
from tinyssb_node.control.rows import DiskUseRow, NetworkRow, PhonesRow, RefusalRow
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


def test_a_share_of_the_disk_that_is_used_up_is_told() -> None:
    use = DiskUseRow(
        own=0, followed=0, groups=0, others=950_000, others_max=1_000_000, biggest=[], evicted=0, closed=False
    )
    network = NetworkRow(name="default", network=None, feeds=5, entries=431, arrivals=500, forked=0, disk=use)
    line = head_line(ScreenState(now_us=NOW_US, status=replace(STATUS, networks=[network])))
    assert line.startswith(" ! feeds that nobody here follows take 950 kB")


def test_a_set_that_phones_near_do_not_survive_is_told() -> None:
    phones = PhonesRow(["udp"], 40, "beyond")
    network = NetworkRow(
        name="default", network=None, feeds=40, entries=9, arrivals=9, forked=0, phones=phones
    )
    line = head_line(ScreenState(now_us=NOW_US, status=replace(STATUS, networks=[network])))
    assert line.startswith(" ! boards or phones are near (udp), and the set has 40 feeds: with so many")
