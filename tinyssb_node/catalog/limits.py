"""Limits of the catalog, each with its reason."""

from typing import Final

CATALOG_TEXT_MAX: Final = 16_384
"""Characters of a message that are stored for screens and search: some pages; the whole is in the store."""
CATALOG_BATCH: Final = 2_000
"""Appends that are read in one transaction: a fifth of a second on a PC, for which another process may have to wait."""
CATALOG_PAGE: Final = 200
"""Messages of a thread that are in memory at a time: 3 MB if all are as long as may be."""
CATALOG_CONVERSATIONS_MAX: Final = 256
"""Most conversations that are listed, ours first: anybody can begin one with us, and name anybody in it."""
CATALOG_BOARDS_MAX: Final = 256
"""Most boards that are listed, ours first: others are found by their ids."""
CIRCLE_NAME_DIGITS: Final = 16
"""Hexadecimal digits of a private conversation's name: 64 bits, so that no two of a user's conversations share one."""
CATALOG_DATA_EACH: Final = 200
"""Entries with data that are read of each author: as many points as a chart has room for."""
CATALOG_DATA_MAX: Final = 4_000
"""Entries with data that are read in all."""
CATALOG_TELEMETRY_MAX: Final = 1_000
"""People of whom the latest position is read: more than a set has feeds."""
CATALOG_TELEMETRY_EACH: Final = 200
"""Records of one feed that are read of each kind: twice as many as a node sends a day by itself."""
