"""Numbers of PZP's sync (docs/formats/pzp-sync.md), each with its reason."""

from typing import Final

from tinyssb_node.pzp.messages.limits import HASH_SIZE, INTEGER_MAX, TEXT_MAX

NONCE_SIZE: Final = 8
"""Bytes that tell one exchange from others of the same tangle. They make its filters others, too: nobody can write
messages that are always taken for known."""
DIGEST_SIZE: Final = HASH_SIZE
"""Bytes of a digest of what is held."""
DEPTH_MAX: Final = INTEGER_MAX
"""Largest depth that a message can have."""

FILTER_BITS_EACH: Final = 24
"""Bits of a filter for each id: with eight of them set, 1 of 24,000 that is not there looks as if it were."""
FILTER_BITS_MORE: Final = 1_024
"""Bits on top, with which small filters, and those are most, err once in a billion."""

WINDOW_IDS_MAX: Final = 8_192
"""Messages that one exchange compares, some 50 ms of work; of a depth that has more, the first so many."""
IDENTITY_IDS_MAX: Final = 512
"""Messages of one identity that go along: keys of people and their devices. Of a larger one the first."""
GROUPS_MAX: Final = 64
"""Identities that go along with one window."""
FILTER_SIZE_MAX: Final = (
    FILTER_BITS_EACH * (2 * WINDOW_IDS_MAX + IDENTITY_IDS_MAX + 1) + FILTER_BITS_MORE
) // 8
"""Bytes of the largest filter, 51 kB: a window, as many messages that were deleted, an identity, the root."""
WINDOWS_MAX: Final = 256
"""Windows of one tangle in a row, 2 million messages, whatever depths the other side claims to have."""
ROUNDS_MIN: Final = 2
"""Rounds of each window: what the first filter hid, the second shows but once in 10**9."""
ROUNDS_MAX: Final = 4
"""Rounds of each window, even if something still moves."""
assert ROUNDS_MIN <= ROUNDS_MAX

WAYS_MAX: Final = 2 * WINDOW_IDS_MAX
"""Messages of a window and on their ways to the root that are given; a way of lipmaa links has some 30."""
GIVEN_MAX: Final = 2 * WAYS_MAX + GROUPS_MAX * IDENTITY_IDS_MAX
"""Messages that are taken of what goes one way in a round: those and their identities, and a last way."""
GIVEN_SIZE_MAX: Final = 64 * 2**20
"""Bytes of JSON that go one way in a round; the rest goes in the next, or in the next sync."""
BATCH_SIZE: Final = 131_072
"""Bytes of JSON in one packet, unless one message has more: what is committed at a time."""
PACKET_SIZE_MAX: Final = TEXT_MAX + 2 * BATCH_SIZE
"""Bytes of the largest packet: one message of any size behind others, and the lengths of all of them."""
assert FILTER_SIZE_MAX + 1_024 <= PACKET_SIZE_MAX
ASIDE_SIZE_MAX: Final = 4 * 2**20
"""Bytes of messages of identities that wait for a message that needs them: 10,000 keys."""

EXCHANGES_MAX: Final = 16
"""Exchanges at a time with one peer that it began: 2 MB of ids. Others begin when one of them ended."""
BEGUN_A_MINUTE_MAX: Final = 1_200
"""Exchanges that a peer may begin in a minute, each further window that is compared for one counted as well: more than
are filled in that time, and 20 ms of work each."""
WAITING_MAX: Final = 4_096
"""Tangles that wait for their turn to be synced with one peer."""
OUTBOX_MAX: Final = 64
"""Answers that wait to be sent; who asks for more without taking them is hung up on."""
STALL_US: Final = 60_000_000
"""An exchange in which nothing came or went for so long is given up: a minute, as a phone's link may be away."""
