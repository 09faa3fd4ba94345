"""Numbers of content, each with its source. What they share with the node is in ``tinyssb_node.limits``."""

from typing import Final

from tinyssb_node.limits import CONTENT_PUBLISH_MAX, SET_MAX, TANGLE_PREVIOUS_MAX

# --- Tangles (docs/formats/tangles.md) -------------------------------------------------------------------------------

TANGLES_MAX: Final = 8
"""Most tangles that one message is in: a group's epoch begins in three at once, and nobody's message in more."""
TANGLE_NAME_MAX: Final = 32
"""Most bytes of a tangle's name: a word that people read."""
TANGLE_WAITING_MAX: Final = 16_384
"""Messages of one tangle that wait in memory for what they follow: some 8 MB."""
REDUCE_REGISTERS_MAX: Final = 8_192
"""Fields of one tangle that several messages wrote: 1 kB for each of its branches at a time."""
REDUCE_PARTS_MAX: Final = 1_024
"""Fields that one message changes: it has 64 kB."""

# --- Messages of the phone app (docs/formats/messages.md) ------------------------------------------------------------

MESSAGE_NAMES_MAX: Final = 64
"""Most people or arguments that a message of the app names: it lets a user pick seven of the one, and needs three of
the other."""
TIPS_WRITTEN_MAX: Final = 8
"""Predecessors that we name as the app does, in 30 bytes each; more tips than that are merged by a few messages."""
assert TIPS_WRITTEN_MAX <= TANGLE_PREVIOUS_MAX
SAID_S_MAX: Final = 253_402_300_799
"""Last second of the year 9999: a clock beyond it says nothing, and Python's dates end there."""
CIRCLE_MAX: Final = 7
"""Most people who can read a private message, its author among them: the app tries no more (SSBid.kt)."""
SEAL_NONCE_SIZE: Final = 24
"""Bytes of a secretbox's nonce (NaCl)."""
SEAL_KEY_SIZE: Final = 32
"""Bytes of a curve25519 or data key."""
SEAL_TAG_SIZE: Final = 16
"""Bytes that a secretbox adds to what it seals."""
SEAL_SLOT_SIZE: Final = 1 + SEAL_KEY_SIZE + SEAL_TAG_SIZE
"""Bytes of a private message for each reader: how many there are and the data key, sealed."""
SEAL_HEAD_SIZE: Final = SEAL_NONCE_SIZE + SEAL_KEY_SIZE
"""Bytes in front of the first reader's slot."""
SEAL_ENTROPY_SIZE: Final = SEAL_NONCE_SIZE + 2 * SEAL_KEY_SIZE
"""Random bytes that sealing takes: nonce, passing key, data key."""
BOARD_PEOPLE_MAX: Final = SET_MAX
"""Most people on a card, or invited to a board: as many as a set has feeds."""
BOARD_NAME_SHOWN: Final = 60
"""Characters of a name in a line of a board's history: enough to know it by."""

# --- Files (docs/formats/files.md) -----------------------------------------------------------------------------------

FILE_NAME_MAX: Final = 64
"""Most bytes of a file's name: with its type it fits into the entry and the first chunk, so that both are known early."""
FILE_TYPE_MAX: Final = 40
"""Most bytes of a file's type: `application/vnd.oasis.opendocument.text` has 39."""
FILE_HEAD_MAX: Final = 121
"""Most bytes in front of a file's own: tags of 3, 1, 2, 1 and 4 bytes, a word of 3, a name and a type."""
assert FILE_HEAD_MAX >= 3 + 1 + 3 + 2 + FILE_NAME_MAX + 1 + FILE_TYPE_MAX + 3
FILE_MAX: Final = CONTENT_PUBLISH_MAX - FILE_HEAD_MAX
"""Bytes of a file that we can always attach, whatever its name."""
