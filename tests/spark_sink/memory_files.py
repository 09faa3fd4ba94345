"""Logs in memory, behind the port through which logs are listed and read."""

from collections.abc import Sequence

import pyarrow as pa

from spark_sink.archive.index import ArchiveFile, ArchiveIndex
from spark_sink.segments import ARCHIVED, DAY, SEGMENT, Listing, Segment


class MemoryFiles:
    """Files by path: ``<folder>/<node>/<segment>``."""

    def __init__(self, data: dict[str, bytes] | None = None) -> None:
        self.data = {} if data is None else data
        self.reads = 0
        self.index = ArchiveIndex(self.read)

    def listing(self) -> Listing:
        found: dict[str, list[Segment]] = {}
        archived = []
        for path, data in self.data.items():
            folder, _, name = path.rpartition("/")
            if DAY.match(folder.rpartition("/")[2]) and ARCHIVED.match(name):
                archived.append(ArchiveFile(path, len(data), hash(data)))
                continue
            boot_and_first = SEGMENT.match(name)
            assert boot_and_first is not None
            segment = Segment(int(boot_and_first[1]), int(boot_and_first[2]), len(data), folder)
            found.setdefault(folder.rpartition("/")[2], []).append(segment)
        for node, segments in self.index.update(archived).items():
            found.setdefault(node, []).extend(segments)
        return {node: tuple(sorted(segments)) for node, segments in found.items()}

    def read(self, path: str, low: int, high: int) -> bytes:
        self.reads += 1
        try:
            return self.data[path][low:high]
        except KeyError as error:
            raise FileNotFoundError(path) from error

    def open(self, path: str) -> "pa.NativeFile":
        return pa.BufferReader(self.read(path, 0, len(self.data.get(path, b""))))

    def passed_over(self) -> Sequence[tuple[str, str]]:
        return self.index.passed_over()
