"""Numbers of the sync between gateways (docs/formats/feed-sync.md)."""

from typing import Final

VERSION: Final = 1
"""The version spoken, and the only one understood."""
NONCE_SIZE: Final = 16
"""Random bytes of each side, against replay of a proof, and against feeds made to have colliding short names."""
PROOF_SIZE: Final = 16
"""Bytes of the proof of knowing the network's key: 128 bits cannot be guessed."""
SHORT_SIZE: Final = 6
"""Bytes by which a feed is named, salted by both nonces. Of 4,096 feeds wanted and 4,096 stored, two different ones
collide once in 10⁷ connections, and then the data is refused."""
CHECK_SIZE: Final = 4
"""Bytes of a message id by which both sides compare an entry. Branches of a fork collide once in 2³², and then until
either grows."""

FEEDS_MAX: Final = 4_096
"""Feeds that each side may want over one connection: sixteen full sets. 2 MB of state."""
OFFERS_MAX: Final = 65_536
"""Feeds that are offered over one connection: a name of 6 bytes each, and a set's worth of gateways."""
CHAINS_MAX: Final = 64
"""Unfinished side chains that are requested of one feed, the oldest first; the others once these are whole."""
CHAINS_TOTAL_MAX: Final = 16_384
"""Unfinished side chains remembered for one peer, also of feeds not stored here, since they may come: 3 MB. A peer that
wants more requests them over the next connection."""
CHAIN_CHUNK_MAX: Final = 2**20
"""A number above that of any packet of a side chain."""

GIVE_PACKETS_MAX: Final = 128
"""Entries and chunks in one packet: 15 kB, stored at once; then it is another feed's turn."""
NAMES_MAX: Final = 256
"""Feeds named in one packet."""
PACKET_SIZE_MAX: Final = 262_144
"""Bytes of the largest packet that is read: names of 256 feeds with 64 side chains each have less."""
REPEATS_MAX: Final = 4_096
"""Repeated entries and chunks over one connection: some cross the report that they came from elsewhere."""
SHOWS_MAX: Final = 4_096
"""Entries that one side may request to be shown over one connection: 32 for each of 128 forked feeds."""
OUTBOX_MAX: Final = 2 * FEEDS_MAX
"""Replies that wait to be sent. The connection to a peer that requests more without reading (slow read) is closed."""
