"""The disk, shared out: so much for feeds that nobody here asked for, so much for the event log, the rest for what
somebody here wants (decision 0063)."""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tinyssb_node.codec.events import Effect
from tinyssb_node.daemon.config import DiskTable
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.node.node import Node
from tinyssb_node.replication.quota import QuotaLimits
from tinyssb_node.store import limits


class DiskRoom(NamedTuple):
    """The room of a disk."""

    total: int
    """Bytes of it."""
    free: int
    """Bytes that we may still write."""


FindRoom = Callable[[Path], DiskRoom]
"""Finds out the room of the disk that a path is on. Raises OSError."""


def find_room(path: Path) -> DiskRoom:
    """Ask the system."""
    usage = shutil.disk_usage(path)
    return DiskRoom(usage.total, usage.free)


class DiskSpace:
    """The disk that a home is on, and the shares that config.toml gives of it."""

    def __init__(self, home: Path, table: DiskTable, find: FindRoom = find_room) -> None:
        self._home = home
        self._table = table
        self._find = find
        self._total = find(home).total
        self._reserve = self._total // 10 if table.reserve_mib is None else table.reserve_mib * 2**20
        if table.reserve_mib is None:
            self._reserve = min(self._reserve, limits.RESERVE_MAX)
        self._closed = False

    @property
    def log_bytes(self) -> int:
        """Most bytes of an event log on a disk of this size."""
        return self._total // 10

    def quota(self, networks: int) -> QuotaLimits:
        """Return the room for feeds that nobody here asked for, in each of so many *networks*."""
        table = self._table
        share = self._total / 100 / networks / limits.STORE_PACKET_BYTES
        return QuotaLimits(
            feed_packets=int(share * table.other_feed_percent),
            total_packets=int(share * table.others_percent),
            closed=self._closed,
        )

    def look(self, unused: int) -> bool:
        """Find out what is free of the disk now; *unused* bytes of it are in our files already. Return True if feeds
        that nobody here asked for may have more from now on, or no more."""
        free = self._find(self._home).free + unused
        # Once there is too little, there has to be a tenth more, so that this does not change all the time.
        closed = free < (self._reserve * 11 // 10 if self._closed else self._reserve)
        changed, self._closed = closed != self._closed, closed
        return changed


class DiskWatch:
    """The daemon's view of its disk, each second."""

    def __init__(self, space: DiskSpace, places: Sequence[NetworkStorage]) -> None:
        self._space = space
        self._places = places

    def quota(self) -> QuotaLimits:
        """Return the room for feeds that nobody here asked for, in each network."""
        return self._space.quota(len(self._places))

    def tick(self, runtime: Runtime) -> None:
        """Hand changes to the nodes."""
        if runtime.read_only is None and self._space.look(
            sum(place.store.unused() for place in self._places)
        ):
            for place in self._places:
                runtime.do(partial(_set_quota, self.quota()), place.name)


def _set_quota(quota: QuotaLimits, node: Node, now_us: int) -> tuple[None, list[Effect]]:
    return None, node.set_quota(quota, now_us)
