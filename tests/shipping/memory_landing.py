"""A place in memory where segments land, which can crash, lose everything, and be full."""

from collections.abc import Sequence

from spark_sink.collect.messages import HaveRow, Log, SegmentId


class MemoryLanding:
    """As ``spark_sink.collect.landing.LandingFolder`` is. After a crash files may have more than counts."""

    def __init__(self, room: int = 10**9) -> None:
        self.room = room
        self.files: dict[tuple[Log, SegmentId], bytearray] = {}
        self._have: dict[tuple[Log, SegmentId], int] = {}
        self._synced: dict[tuple[Log, SegmentId], int] = {}

    def sync(self) -> None:
        self._synced = dict(self._have)

    def crash(self) -> None:
        self._have = dict(self._synced)

    def lose(self) -> None:
        """The disk is gone."""
        self.files, self._have, self._synced = {}, {}, {}

    def have(self, log: Log, segment: SegmentId) -> int:
        return self._have.get((log, segment), 0)

    def rows(self, log: Log, since: SegmentId, most: int) -> Sequence[HaveRow]:
        here = sorted((name, have) for (one, name), have in self._have.items() if one == log and have)
        return [HaveRow(name, have) for name, have in here if name >= since][:most]

    def read(self, log: Log, segment: SegmentId, at: int, size: int) -> bytes | None:
        file = self.files.get((log, segment))
        return None if file is None else bytes(file[at : at + size])

    def write(self, log: Log, segment: SegmentId, at: int, content: bytes) -> bool:
        if sum(map(len, self.files.values())) + len(content) > self.room:
            return False
        file = self.files.setdefault((log, segment), bytearray())
        assert at == self.have(log, segment)
        assert at <= len(file), "no hole"
        file[at : at + len(content)] = content
        self._have[log, segment] = at + len(content)
        return True

    def forget(self, log: Log, segment: SegmentId) -> None:
        self._have[log, segment] = 0
