"""The disk, shared out as config.toml says."""

from pathlib import Path

from tinyssb_node.daemon.config import DiskTable
from tinyssb_node.daemon.disk_space import DiskRoom, DiskSpace
from tinyssb_node.store import limits

MIB = 2**20


class Disk:
    """A disk of 1,000 MiB."""

    def __init__(self) -> None:
        self.free = 900 * MIB

    def __call__(self, _path: Path) -> DiskRoom:
        return DiskRoom(1_000 * MIB, self.free)


def test_strangers_have_a_tenth_of_it_and_each_feed_a_hundredth() -> None:
    quota = DiskSpace(Path("/"), DiskTable(), Disk()).quota(1)
    assert quota.total_packets == 100 * MIB // limits.STORE_PACKET_BYTES
    assert quota.feed_packets == 10 * MIB // limits.STORE_PACKET_BYTES


def test_it_is_as_much_as_the_user_says_for_all_networks_together() -> None:
    table = DiskTable(others_percent=50, other_feed_percent=0.5)
    quota = DiskSpace(Path("/"), table, Disk()).quota(2)
    assert quota.total_packets == 250 * MIB // limits.STORE_PACKET_BYTES
    assert quota.feed_packets == 5 * MIB // 2 // limits.STORE_PACKET_BYTES


def test_near_the_end_of_the_disk_strangers_have_to_wait_until_there_is_somewhat_more() -> None:
    disk = Disk()
    space = DiskSpace(Path("/"), DiskTable(), disk)
    assert not space.look(0)
    disk.free = 99 * MIB
    assert not space.look(1 * MIB), "the store has a place for the next ones already"
    assert space.look(0)
    assert space.quota(1).closed
    disk.free = 101 * MIB
    assert not space.look(0)
    disk.free = 111 * MIB
    assert space.look(0)
    assert not space.quota(1).closed


def test_the_reserve_may_be_set() -> None:
    disk = Disk()
    space = DiskSpace(Path("/"), DiskTable(reserve_mib=950), disk)
    assert space.look(0)


def test_of_a_large_disk_no_more_is_kept_free_than_people_write() -> None:
    space = DiskSpace(Path("/"), DiskTable(), lambda _path: DiskRoom(10**12, 10**9))
    assert not space.look(0)


def test_the_event_log_has_a_tenth_at_most() -> None:
    assert DiskSpace(Path("/"), DiskTable(), Disk()).log_bytes == 100 * MIB
