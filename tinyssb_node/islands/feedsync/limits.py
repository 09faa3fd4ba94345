"""Numbers of the sync between gateways (docs/formats/feed-sync.md)."""

from typing import Final

VERSION: Final = 1
"""The version spoken, and the only one understood."""
NONCE_SIZE: Final = 16
"""Random bytes of each side: nobody repeats an earlier proof, or makes up feeds whose short names are alike."""
PROOF_SIZE: Final = 16
"""Bytes that show that one knows the network's key: nobody guesses 128 bits."""
SHORT_SIZE: Final = 6
"""Bytes by which a feed is named, salted by both nonces. Of 4,096 feeds wanted and 4,096 held two different ones are
alike once in 10⁷ connections, and then what is given is refused."""
CHECK_SIZE: Final = 4
"""Bytes of a message id that tell whether both sides hold the same entry. Branches of a fork look alike once in 2³²,
and then until either grows."""

FEEDS_MAX: Final = 4_096
"""Feeds that each side may want over one connection: sixteen full sets. 2 MB of state."""
OFFERS_MAX: Final = 65_536
"""Feeds that are offered over one connection: a name of 6 bytes each, and a set's worth of gateways."""
CHAINS_MAX: Final = 64
"""Unfinished side chains that are asked for of one feed, the oldest: the others when these are whole."""
CHAINS_TOTAL_MAX: Final = 16_384
"""Unfinished side chains that are remembered for one peer, also of feeds not here, since they may come: 3 MB.
Who wants more asks again over the next connection."""
CHAIN_CHUNK_MAX: Final = 2**20
"""A number above that of any packet of a side chain that anybody fetches."""

GIVE_PACKETS_MAX: Final = 128
"""Entries and chunks in one packet: 15 kB, which is taken in at a time, and then it is another feed's turn."""
NAMES_MAX: Final = 256
"""Feeds named in one packet."""
PACKET_SIZE_MAX: Final = 262_144
"""Bytes of the largest packet that is read: names of 256 feeds with 64 side chains each have less."""
REPEATS_MAX: Final = 4_096
"""Entries and chunks given again over one connection: some cross on their way the news that they came elsewhere."""
SHOWS_MAX: Final = 4_096
"""Entries that one side may have shown to it over one connection: 32 for each of 128 forked feeds."""
OUTBOX_MAX: Final = 2 * FEEDS_MAX
"""Answers that wait to be sent; who asks for more without taking them is hung up on."""
LINK_QUEUE: Final = 4
"""Packets read ahead of what was taken in: 60 kB. More wait at the sender."""
