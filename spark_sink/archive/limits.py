"""Every number of the archive, each with its source or its reason."""

from typing import Final

ARCHIVE_VERSION: Final = 1
"""Newest version of the archive's files that is understood (docs/formats/archive.md)."""
FOOTER_SIZE_MAX: Final = 64 * 2**20
"""Largest footer that is read: that of a file of 250,000 pieces of one row each has 40 MB."""
FILE_ROWS: Final = 125_000
"""Records in memory before the fullest day is written: about 150 MB, and files of some megabytes."""
PIECE_ROWS: Final = 100_000
"""Rows after which a segment is cut: what is read at a time cannot be smaller than a piece; 16 MiB have 80,000."""
PIECES_MAX: Final = 16
"""Times a segment is cut where the day changes: clocks are put right once or twice; more is a clock gone wrong."""
GROUP_ROWS: Final = 16_384
"""Rows of a row group: what is read at least. A hundred segments of an hour, which lie side by side in one task."""
COMPRESSION_LEVEL: Final = 3
"""Of Zstandard: its default; 9 takes twice the time of writing for 4 % less."""
OLDER_THAN_H: Final = 24.0
"""Hours that a segment must not have changed before it is archived, unless told otherwise: transfers take less."""
