"""Where logs lie: the small port through which they are listed and read, whatever they lie on."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from spark_sink.segments import Listing

if TYPE_CHECKING:
    import pyarrow as pa

NODE: Final = re.compile(r"[0-9a-f]{16}\Z")
"""Name of a node's folder."""
SEGMENT: Final = re.compile(r"([0-9]{8})-([0-9]{12})\.jsonl\Z")
"""Name of a segment: its boot and the offset of its first record."""
NETWORKS: Final = "networks"
"""Where a home has the logs of its further networks, one mesh each: not to be mixed with this one."""
DAY: Final = re.compile(r"day=[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
"""Name of a folder of an archive."""
ARCHIVED: Final = re.compile(r"[^.].*\.parquet\Z")
"""Name of an archive's file in such a folder."""


class LogFiles(Protocol):
    """All nodes' logs below one place.

    A node's folder is any folder named by 16 hexadecimal digits, so the place given may be a node's own events folder,
    a home with ``events/<node>`` in it, or a folder of many such. Further networks of a home are left out.
    What archives (docs/formats/archive.md) below the place have is listed as segments, too.
    """

    def listing(self) -> Listing:
        """What is there now. Raises NoLogsFolderError; OSError if something may not be read."""
        ...

    def read(self, path: str, low: int, high: int) -> bytes:
        """Bytes *low* to *high* of a file, fewer at its end. Raises FileNotFoundError; OSError."""
        ...

    def open(self, path: str) -> "pa.NativeFile":
        """A file for reading here and there. Raises FileNotFoundError; OSError."""
        ...

    def passed_over(self) -> Sequence[tuple[str, str]]:
        """Files of archives that could not be listed, and folders of no node; why, as of the last listing."""
        ...
