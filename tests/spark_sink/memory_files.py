"""Logs in memory, behind the port through which logs are listed and read."""

from collections.abc import Sequence

from spark_sink.segments import SEGMENT, Listing, Segment


class MemoryFiles:
    """Files by path: ``<folder>/<node>/<segment>``."""

    def __init__(self, data: dict[str, bytes] | None = None) -> None:
        self.data = {} if data is None else data
        self.reads = 0

    def listing(self) -> Listing:
        found: dict[str, list[Segment]] = {}
        for path, data in self.data.items():
            folder, _, name = path.rpartition("/")
            boot_and_first = SEGMENT.match(name)
            assert boot_and_first is not None
            segment = Segment(int(boot_and_first[1]), int(boot_and_first[2]), len(data), folder)
            found.setdefault(folder.rpartition("/")[2], []).append(segment)
        return {node: tuple(sorted(segments)) for node, segments in found.items()}

    def read(self, path: str, low: int, high: int) -> bytes:
        self.reads += 1
        try:
            return self.data[path][low:high]
        except KeyError as error:
            raise FileNotFoundError(path) from error

    def passed_over(self) -> Sequence[tuple[str, str]]:
        return ()
