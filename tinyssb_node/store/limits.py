"""Limits of stores, secrets and homes, beside those in ``tinyssb_node.limits``, each with its source."""

from typing import Final

# --- Sealed secrets (docs/formats/identity.md, decision 0040) --------------------------------------------------------

SEAL_OPS: Final = 3
"""Passes of Argon2id over its memory: RFC 9106, section 4, second recommended option."""
SEAL_MEMORY: Final = 64 * 1024 * 1024
"""Bytes that Argon2id fills: the same option's, for where memory is scarce. A Raspberry Pi Zero has 512 MiB."""
SEAL_OPS_MAX: Final = 16
"""Most passes that are made for a file that asks for them: a damaged one must not keep a node from ending."""
SEAL_MEMORY_MIN: Final = 8_192
"""Least memory that libsodium takes (crypto_pwhash_argon2id_MEMLIMIT_MIN)."""
SEAL_MEMORY_MAX: Final = 1024 * 1024 * 1024
"""Most memory that is filled for a file that asks for it: libsodium's own "sensitive" level."""
SEAL_SALT_SIZE: Final = 16
"""Bytes of a salt (crypto_pwhash_argon2id_SALTBYTES)."""
SEAL_NONCE_SIZE: Final = 24
"""Bytes of a nonce (crypto_secretbox_NONCEBYTES)."""
SEAL_TAG_SIZE: Final = 16
"""Bytes of a tag (crypto_secretbox_MACBYTES)."""
PASSPHRASE_MAX: Final = 1_024
"""Most bytes of a passphrase: a user who names the wrong file should get an error."""

# --- Further identities of a home (docs/formats/identity.md, decision 0053) -------------------------------------------

IDENTITIES_MAX: Final = 8
"""Most further identities: each takes one of the 255 places in the set, in every network."""

# --- Backups in words (BIP-39) ---------------------------------------------------------------------------------------

WORDS: Final = 24
"""Words of a seed: 256 bits and 8 of checksum, 11 a word."""
WORD_BITS: Final = 11
"""Bits of a word: there are 2,048."""
WORD_LETTERS: Final = 4
"""Letters that no two words of the list begin with alike."""

# --- Being certain of the end of our own feed (docs/formats/tip.md, decision 0041) -----------------------------------

LISTEN_ADVERTS: Final = 2
"""Longest intervals between advertisements for which a face is listened to: in each of them, a neighbour advertises its
entries."""
LISTEN_MAX_US: Final = 600_000_000
"""Longest time that a face is listened to; the slowest radios would take an hour."""
CLAIM_PATIENCE: Final = 4
"""Factor on the time for which claimed entries are waited for, by a node that has another reason to be uncertain."""
CLAIM_WAIT_US: Final = 60_000_000
"""Time for which they are waited for, if the claim is the only reason: entries that exist come within seconds, as they
are requested at once."""
CLAIM_EVERY_US: Final = 86_400_000_000
"""Least time between two such waits, also over restarts: a stranger can cause a minute of silence a day (decision
0064)."""

# --- Room on the disk (decision 0063) --------------------------------------------------------------------------------

STORE_PACKET_BYTES: Final = 256
"""Bytes of disk for an entry or chunk in the store: measured 231 with all indexes, and a commit each; the rest is
SQLite's free space."""
RESERVE_MAX: Final = 512 * 1024 * 1024
"""Most bytes of a disk that are kept free by default: years of what people write."""
LOG_PAGES_MAX: Final = 4_096
"""Pages of 4 KiB in the write-ahead log from which on they are moved to the store: 16 MiB, some ten full commits."""
LOG_PAGES_MIN: Final = 64
"""The same on the smallest disks."""
LOG_DISK_PART: Final = 64
"""The part of a disk from which on they are, between the two."""
