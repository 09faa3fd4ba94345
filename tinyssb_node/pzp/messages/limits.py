"""Numbers of PZP, each with its source: docs/formats/pzp.md, unless another is named."""

from typing import Final

from tinyssb_node.limits import CONTENT_PUBLISH_MAX, FEED_ID_SIZE, SIGNATURE_SIZE

HASH_SIZE: Final = 16
"""Bytes of an id in V1 and V2: the first of BLAKE3's 32."""
ID_SIZES: Final = frozenset({HASH_SIZE, 32})
"""Bytes of an id of any version: in V4 the first 32 of SHA-512's 64."""
V4_SIZE_MAX: Final = 65_535
"""Most bytes of a V4 message as JSON, by its text."""
TYPE_MIN: Final = 3
"""Fewest characters of a type."""
TYPE_MAX: Final = 100
"""Most characters of a type."""
INTEGER_MAX: Final = 2**53 - 1
"""Largest integer that a double tells from its neighbours; JavaScript takes none beyond for depth or size."""
TEXT_MAX: Final = 2**20
"""Most bytes of JSON that are read as one message. V4 says 65,535, V2 nothing; ours, to bound a stranger's line."""
NESTING_MAX: Final = 128
"""Levels of lists and objects within each other. Ours: a message needs five, and Python's stack ends near 1,000."""
SHOWN_MAX: Final = 80
"""Characters of a wrong value that an error shows. Ours: one line."""
BASE58_MAX: Final = 128
"""Most characters that are decoded: a signature has 88, and the work grows with the square. A power of two, in which
``base58`` joins digits."""

# --- Over the air (docs/formats/pzp-air.md) --------------------------------------------------------------------------

AIR_MAX: Final = CONTENT_PUBLISH_MAX
"""Most bytes of a message as it is carried: as many as an entry is published with."""
AIR_RAW_SIZES: Final = frozenset({HASH_SIZE, FEED_ID_SIZE, SIGNATURE_SIZE})
"""Text that is the base58 of so many bytes is carried as those: ids, keys and signatures."""
AIR_IDS_MAX: Final = 2_048
"""Most ids that a head names; with more a message is carried as text. A byte may be an id, and 47 bytes of JSON; any
other byte is six at most: so what was carried is never too much to be read as JSON."""
assert 47 * AIR_IDS_MAX + 6 * AIR_MAX <= TEXT_MAX
AIR_NUMBER_SIZE_MAX: Final = 8
"""Most bytes of a number in a head."""
assert INTEGER_MAX.bit_length() <= 7 * AIR_NUMBER_SIZE_MAX
