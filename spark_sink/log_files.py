"""Where logs lie: the small port through which they are listed and read, whatever they lie on."""

import re
from typing import Final, Protocol

from spark_sink.segments import Listing

NODE: Final = re.compile(r"[0-9a-f]{16}\Z")
"""Name of a node's folder."""
SEGMENT: Final = re.compile(r"([0-9]{8})-([0-9]{12})\.jsonl\Z")
"""Name of a segment: its boot and the offset of its first record."""
NETWORKS: Final = "networks"
"""Where a home has the logs of its further networks, one mesh each: not to be mixed with this one."""


class LogFiles(Protocol):
    """All nodes' logs below one place.

    A node's folder is any folder named by 16 hexadecimal digits, so the place given may be a node's own events folder,
    a home with ``events/<node>`` in it, or a folder of many such. Further networks of a home are left out.
    """

    def listing(self) -> Listing:
        """What is there now. Raises NoLogsFolderError; OSError if something may not be read."""
        ...

    def read(self, path: str, low: int, high: int) -> bytes:
        """Bytes *low* to *high* of a file, fewer at its end. Raises FileNotFoundError; OSError."""
        ...
