"""Numbers of groups, each with its source. What they share with the node is in ``tinyssb_node.limits``."""

from typing import Final

from tinyssb_node.content.limits import SEAL_TAG_SIZE
from tinyssb_node.limits import EPOCH_KEY_SIZE, GROUP_ADD_MAX

# --- Envelopes (docs/formats/envelope.md) ----------------------------------------------------------------------------

SECRET_SIZE: Final = 32
"""Bytes of every key: of epochs, of oneself, of direct messages, of a message (envelope-spec)."""
assert SECRET_SIZE == EPOCH_KEY_SIZE
OFFSET_SIZE: Final = 2
"""Bytes of the body's offset, little-endian (envelope-spec)."""
HEADER_SIZE: Final = 16
"""Bytes of a header before it is boxed: offset, flags, room for extensions (envelope-spec)."""
HEADER_BOX_SIZE: Final = HEADER_SIZE + SEAL_TAG_SIZE
"""Bytes of a boxed header: the first slot stands behind them."""
SLOT_SIZE: Final = SECRET_SIZE
"""Bytes of a slot (envelope-spec)."""
SLOTS_MAX: Final = 16
"""Most slots of an envelope (private-group-spec), and most that one key is tried on."""
assert SLOTS_MAX == 1 + GROUP_ADD_MAX
BODY_BOX_MIN_SIZE: Final = SEAL_TAG_SIZE + 1
"""Least bytes of a boxed body: no envelope says nothing (envelope-js)."""
ENVELOPE_MIN_SIZE: Final = HEADER_BOX_SIZE + SLOT_SIZE + BODY_BOX_MIN_SIZE
"""Least bytes of an envelope."""
assert ENVELOPE_MIN_SIZE == 81
assert HEADER_BOX_SIZE + SLOTS_MAX * SLOT_SIZE < 2 ** (8 * OFFSET_SIZE)
ENVELOPE_KEYS_MAX: Final = 256
"""Most keys that are tried on one envelope: strangers may add us to any number of groups, and shall not make every
entry cost more than some milliseconds."""
SLP_ITEM_MAX: Final = 2**16 - 1
"""Most bytes of an item of an SLP list (envelope-spec)."""
EXPAND_MAX: Final = 255 * 32
"""Most bytes that one expansion yields (RFC 5869 2.3)."""
HASH_BLOCK_SIZE: Final = 64
"""Bytes of SHA-256's block, to which HMAC fills up a key (RFC 2104)."""
