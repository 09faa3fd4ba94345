"""Index of archived segments: the footers of Parquet files, each read once."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from spark_sink.archive.footer import KEY, Archived, Chains, FooterError, chain, parse_footer

Read: TypeAlias = Callable[[str, int, int], bytes]
"""Path, and from which byte up to before which; as `log_files.LogFiles.read`."""
_MAGIC = b"PAR1"
_END_SIZE = 8


class ArchiveFile(NamedTuple):
    """A Parquet file as it was when its folder was listed."""

    path: str
    size: int
    stamp: int
    """Time of its last change: with path and size it identifies the file whose footer is known."""


class ArchiveIndex:
    """Footers of archives' files, read when a file is new or has changed."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._known: dict[ArchiveFile, list[Archived] | str] = {}
        """The pieces of a file, or the reason why it is passed over."""
        self._chains: Chains = {}
        self._overlaps: list[tuple[str, str]] = []

    def update(self, files: Iterable[ArchiveFile]) -> Chains:
        """Return the archived segments by node, the same objects while nothing changes. Raises OSError."""
        there = set(files)
        if there != self._known.keys():
            self._known = {file: self._known.get(file) or self._look(file) for file in sorted(there)}
            pieces = [
                archived for known in self._known.values() if isinstance(known, list) for archived in known
            ]
            roots = {file.path: file.path.rsplit("/", 2)[0] for file in there}
            chains, self._overlaps = chain(pieces, roots)
            self._chains = {
                node: self._chains[node] if self._chains.get(node) == found else found
                for node, found in chains.items()
            }
        return self._chains

    def passed_over(self) -> Sequence[tuple[str, str]]:
        """Return the files of which nothing, or not all, is read, and why."""
        files = [(file.path, known) for file, known in self._known.items() if isinstance(known, str)]
        return [*files, *dict(self._overlaps).items()]

    def _look(self, file: ArchiveFile) -> list[Archived] | str:
        try:
            return parse_footer(*_footer(self._read, file))
        except FileNotFoundError:
            return []  # forgotten since it was listed
        except FooterError as error:
            return f"not a readable file of an archive: {error}"


def _footer(read: Read, file: ArchiveFile) -> tuple[bytes, str, int]:
    """Return our text in the footer of a Parquet file, its path and the rows it has. Raises FooterError; OSError."""
    end = read(file.path, max(0, file.size - _END_SIZE), file.size)
    size = int.from_bytes(end[:4], "little") + _END_SIZE
    # Of 250,000 pieces of one row each, a footer has 40 MB.
    if len(end) != _END_SIZE or end[4:] != _MAGIC or size > min(file.size, 64 * 2**20):
        raise FooterError("it is not Parquet, or incomplete")
    data = read(file.path, file.size - size, file.size)
    try:
        found = pq.read_metadata(pa.BufferReader(_MAGIC + data))
    except (pa.ArrowException, OSError) as error:
        raise FooterError("its footer is damaged") from error
    text = (found.metadata or {}).get(KEY)
    if text is None:
        raise FooterError("something else wrote it")
    return text, file.path, found.num_rows
