"""Every number of the product, each with its source.

"spec" is the tinySSB specification (draft); where it is silent or contradicts what is on the air, the decision
records in ``docs/decisions/`` say what was chosen. Numbers without a source are ours, and say why they are what they are.
"""

from typing import Final

# --- Packets (spec 3.1, 4.3) -------------------------------------------------------------------------------------

PACKET_SIZE: Final = 120
"""Bytes of an entry or a chunk, and the most any packet may have (spec 3.1)."""
PACKET_MIN_SIZE: Final = 8
"""Least bytes of a packet that can mean anything: a DMX and one more byte."""
DMX_SIZE: Final = 7
"""Bytes of the demultiplexing header (spec 4.2)."""
TYPE_SIZE: Final = 1
"""Bytes of an entry's type (spec 4.3.3)."""
CONTENT_SIZE: Final = 48
"""Bytes of an entry's content field (spec 4.3.1)."""
SIGNATURE_SIZE: Final = 64
"""Bytes of an ed25519 signature (RFC 8032 5.1.6)."""
FEED_ID_SIZE: Final = 32
"""Bytes of an ed25519 public key, which is what names a feed (spec 4.1)."""
MESSAGE_ID_SIZE: Final = 20
"""Bytes of a message id, and of every other truncated SHA-256 in the format (spec 4.2.4)."""
SEQ_SIZE: Final = 4
"""Bytes of a sequence number where it is hashed, big-endian (spec 4.2.2)."""
SEQ_MAX: Final = 2**32 - 1
"""Largest sequence number that SEQ_SIZE can say."""

assert DMX_SIZE + TYPE_SIZE + CONTENT_SIZE + SIGNATURE_SIZE == PACKET_SIZE

CHUNK_CONTENT_SIZE: Final = 100
"""Bytes of content in one side-chain packet (spec, message type 1)."""
assert CHUNK_CONTENT_SIZE + MESSAGE_ID_SIZE == PACKET_SIZE

INLINE_SIZE: Final = {"spec": CONTENT_SIZE, "deployed": CONTENT_SIZE - MESSAGE_ID_SIZE}
"""Most bytes of (length varint + content) that need no side chain, by dialect (decision 0001)."""
HEAD_SIZE: Final = CONTENT_SIZE - MESSAGE_ID_SIZE
"""Bytes of (length varint + content) carried in the entry itself when there is a side chain."""
assert HEAD_SIZE == 28

CLAIM_SIZE: Final = DMX_SIZE + 1 + 3 * FEED_ID_SIZE + 1
"""Bytes of a CLAIM. The spec's drawing says 103; its own fields add up to 105, which is what is sent."""
assert CLAIM_SIZE == 105
NOVELTY_SIZE: Final = DMX_SIZE + 1 + FEED_ID_SIZE
"""Bytes of a NOVELTY and of a ZAP."""
assert NOVELTY_SIZE == 40
PING_MAX_SIZE: Final = DMX_SIZE + 113
"""Most bytes of a ping or pong: ESP32 boards cut the text at 113."""
CRC_SIZE: Final = 4
"""Bytes of the CRC-32 (zlib, big-endian) behind a packet on UDP and LoRa."""

# --- Sets and vectors ----------------------------------------------------------------------------------------------

SET_MAX: Final = 255
"""Most feed ids in a set: a CLAIM counts in one byte (spec 3.6.1)."""
VECTOR_SIZE: Final = PACKET_SIZE - DMX_SIZE
"""Bytes of BIPF in a WANT or CHNK."""
VECTOR_ITEMS_MAX: Final = 56
"""Most items read from a WANT or CHNK vector: 113 bytes hold no more at two bytes each."""
CLAIMS_PENDING_MAX: Final = 20
"""Differing claims remembered per face; as many as deployed peers keep."""

# --- BIPF ----------------------------------------------------------------------------------------------------------

BIPF_DEPTH_MAX: Final = 32
"""Deepest nesting that is read; a packet of 48 bytes can nest 48 lists, nobody's content does."""
BIPF_INT_SIZE_MAX: Final = 8
"""Most bytes of an integer."""
BIPF_TAG_SIZE_MAX: Final = 5
"""Most bytes of a tag's varint: 35 bits, lengths to 2**32."""

# --- Content -------------------------------------------------------------------------------------------------------

CONTENT_PUBLISH_MAX: Final = 65_536
"""Most bytes of content we publish in one entry: 656 packets, about 2.2 minutes of air at SF7/125 kHz."""
CONTENT_FETCH_MAX: Final = 1_048_576
"""Most bytes of content whose side chain we ask for; an entry that declares more is kept, its side chain is not."""

# --- Node tables (each bounded; what overflows costs the sender) -----------------------------------------------------

ORPHANS_MAX: Final = 512
"""Packets kept that nothing expects yet (arrived before their predecessor): 60 kB."""
RECENT_MAX: Final = 2_048
"""Packet hashes remembered per face, to tell duplicates and to hold back what was just on the air."""
QUEUE_MAX: Final = 1_024
"""Packets waiting per face; a further one is refused and counted."""
SIDE_CHAINS_MAX: Final = 4_096
"""Side chains expected at a time; further ones wait in the store until some are whole."""
FACES_MAX: Final = 256
"""Faces at a time; a further one is refused."""
INBOX_MAX: Final = 4_096
"""Received frames waiting for the node; beyond it streams are paused and datagrams dropped."""
