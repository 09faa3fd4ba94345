"""Numbers of PZP, each with its source: docs/formats/pzp.md, unless another is named."""

from typing import Final

HASH_SIZE: Final = 16
"""Bytes of an id: the first of BLAKE3's 32."""
TYPE_MIN: Final = 3
"""Fewest characters of a type."""
TYPE_MAX: Final = 100
"""Most characters of a type."""
INTEGER_MAX: Final = 2**53 - 1
"""Largest integer that a double tells from its neighbours; JavaScript takes none beyond for depth or size."""
TEXT_MAX: Final = 2**20
"""Most bytes of JSON that are read as one message. V3 says 65,535, V2 nothing; ours, to bound a stranger's line."""
NESTING_MAX: Final = 128
"""Levels of lists and objects within each other. Ours: a message needs five, and Python's stack ends near 1,000."""
SHOWN_MAX: Final = 80
"""Characters of a wrong value that an error shows. Ours: one line."""
BASE58_MAX: Final = 128
"""Most characters that are decoded: a signature has 88, and the work grows with the square."""
ANCESTORS_SEARCHED_MAX: Final = 4_096
"""Predecessors looked at to tell whether one message precedes another, when a message is checked. Ours: 2 ms."""
DECODED_MAX: Final = 4_096
"""Ids and keys whose bytes are remembered: 1 MB. Ours: each message of a feed names the same group and key."""
