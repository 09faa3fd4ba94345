"""Limits of groups, each with its source. Those that the node shares are in ``tinyssb_node.limits``."""

from typing import Final

from tinyssb_node.content.limits import SEAL_TAG_SIZE
from tinyssb_node.limits import (
    BIPF_DEPTH_MAX,
    EPOCH_KEY_SIZE,
    FEED_ID_SIZE,
    GROUP_ADD_MAX,
    MESSAGE_ID_SIZE,
)

# --- Envelopes (docs/formats/envelope.md) ----------------------------------------------------------------------------

SECRET_SIZE: Final = 32
"""Bytes of every key: of epochs, of oneself, of direct messages, of a message (envelope-spec)."""
assert SECRET_SIZE == EPOCH_KEY_SIZE
OFFSET_SIZE: Final = 2
"""Bytes of the body's offset, little-endian (envelope-spec)."""
HEADER_SIZE: Final = 16
"""Bytes of a header before it is boxed: offset, flags, room for extensions (envelope-spec)."""
HEADER_BOX_SIZE: Final = HEADER_SIZE + SEAL_TAG_SIZE
"""Bytes of a boxed header: the first slot follows."""
SLOT_SIZE: Final = SECRET_SIZE
"""Bytes of a slot (envelope-spec)."""
SLOTS_MAX: Final = 16
"""Most slots of an envelope (private-group-spec), and most that one key is tried on."""
assert SLOTS_MAX == 1 + GROUP_ADD_MAX
BODY_BOX_MIN_SIZE: Final = SEAL_TAG_SIZE + 1
"""Least bytes of a boxed body: an envelope is never empty (envelope-js)."""
ENVELOPE_HEAD_SIZE: Final = HEADER_BOX_SIZE + SLOT_SIZE
"""Bytes that show whether an envelope is for a group."""
ENVELOPE_MIN_SIZE: Final = HEADER_BOX_SIZE + SLOT_SIZE + BODY_BOX_MIN_SIZE
"""Least bytes of an envelope."""
assert ENVELOPE_MIN_SIZE == 81
assert HEADER_BOX_SIZE + SLOTS_MAX * SLOT_SIZE < 2 ** (8 * OFFSET_SIZE)
ENVELOPE_KEYS_MAX: Final = 256
"""Most keys that are tried on one envelope. Strangers can add us to any number of groups, and must not make every entry
cost more than some milliseconds."""
SLP_ITEM_MAX: Final = 2**16 - 1
"""Most bytes of an item of an SLP list (envelope-spec)."""
EXPAND_MAX: Final = 255 * 32
"""Most bytes that one expansion yields (RFC 5869 2.3)."""
HASH_BLOCK_SIZE: Final = 64
"""Bytes of SHA-256's block, to which HMAC pads a key (RFC 2104)."""

# --- Messages in their short form (docs/formats/group-messages.md) ----------------------------------------------------

OWNER_SIZE: Final = 8
"""Bytes of a main feed id before an epoch feed's first message. To announce another's feed as their own, a person would
need an id that begins like the other's: 2**64 attempts."""
SHORT_NAME_SIZE: Final = 8
"""Bytes of a feed id that name a member: 15 of 32 bytes would take four packets more."""
SHORT_CHECK_SIZE: Final = 12
"""Bytes of the hash over all people that short names mean. With a name they make 20, as many as an entry's id has. They
are not a multiple of 8, so a list of names never has the length of a list of ids."""
assert SHORT_NAME_SIZE + SHORT_CHECK_SIZE == MESSAGE_ID_SIZE
assert FEED_ID_SIZE % SHORT_NAME_SIZE == 0 != SHORT_CHECK_SIZE % SHORT_NAME_SIZE
SHORT_TRIES_MAX: Final = 64
"""Combinations of people that names are tried with. To make two feed ids that begin alike takes 2**32 attempts."""
PLAIN_MAX: Final = 32_768
"""Most bytes of a message: the most people that one may name fit, and it is four times what classic feeds allow."""
BODY_DEPTH_MAX: Final = 16
"""Most levels of nested fields of a message: fewer than BIPF allows, as they are in a list already."""
assert BODY_DEPTH_MAX < BIPF_DEPTH_MAX

# --- What a reader keeps in mind (docs/reference/groups.md) -----------------------------------------------------------

KEYS_BY_ONE_MAX: Final = ENVELOPE_KEYS_MAX
"""Most keys brought by one person whose epochs are unknown: each is tried on all unread additions. Further ones are put
off until the first messages of their epochs arrive."""
KEYS_PUT_OFF_MAX: Final = 4_096
"""Most keys by one person that are put off, 100 bytes each: eight groups with all the epochs that one member may begin.
"""
FEEDS_OF_ONE_MAX: Final = 16
"""Most feeds that one member has in one epoch: a new one is begun if the one before was ended too early."""
HIDDEN_MAX: Final = 1_024
"""Most entries of one main feed that may announce a feed: as many as a member of 85 groups with 12 epochs writes; 250
bytes each."""
UNREAD_MAX: Final = 8_192
"""Most additions that no key opens yet, of all feeds together: 255 feeds with 32 each; 500 bytes each. Beyond that the
first one of the feed with the most is evicted."""
TRIES_AT_ONCE: Final = 1_024
"""Entries that new keys are tried on in one turn of the node: 10 ms on a notebook. One addition may bring 256 keys,
each to be tried on all unopened additions."""
TRIES_OF_ENTRY: Final = 64
"""The same for an entry just read, of which there are 200: usually there is no more to try."""
WAITING_MAX: Final = 4_096
"""Most messages that wait for a name or for their group's first message: only their addresses, 200 bytes each."""
BROKEN_MAX: Final = 256
"""Most malformed entries of a group shown in its audit."""

# --- What members do by themselves (docs/reference/groups.md, decision 0033) ------------------------------------------

REPAIR_WAIT_US: Final = (60_000_000, 1_800_000_000)
"""Shortest and longest random wait before a member adds people whom others left out: an entry takes minutes on the air.
"""
RESOLVE_WAIT_US: Final = (60_000_000, 1_800_000_000)
"""The same before a member begins the epoch that joins two forks (4.6). ssb-tribes2 waits 10 to 120 s, over the
Internet."""
COMPLETE_WAIT_US: Final = (3_600_000_000, 7_200_000_000)
"""The same before a member completes an operation of another, who may still be writing: an exclusion is 16 packets on
the air."""
GUESS_WAIT_US: Final = (43_200_000_000, 86_400_000_000)
"""The same before a member adds people whom an epoch seems to lack while a message that its creator knew is missing: an
exclusion may be on its way over slow air. The wait ends even if that message is lost for good."""
SETTLE_MAX: Final = 4
"""Operations that a post may bring with it, so that no excluded person reads it: finishing our own, completing another
member's, joining forks, and one more for people who were missing."""
LATE_US: Final = 7 * 86_400_000_000
"""How long after somebody's exclusion their own exclusions may arrive and still be joined by themselves: a week, in
which two people out of reach may quarrel. Later ones wait for a person (decision 0071)."""
LATE_DEPTH: Final = 128
"""The same in messages that others wrote after the exclusion, for a node that got all of it at once: four members with
five posts a day for a week."""
LATE_SHARE: Final = 2
"""An excluded person's exclusions take at most one in so many members out of an epoch by themselves: two people who
exclude each other take one of two."""
END_WAIT_US: Final = 3_600_000_000
"""How long a feed of a superseded epoch stays open. Its author writes there no more, unless the successor turns out not
to count when parts of the group meet again."""
UNASKED_PACKETS_A_DAY: Final = 96
"""Packets that a node writes for a group by itself within 24 hours. In histories full of forks (`tests/groups/live.py`)
the busiest of 21 members wrote 52. At SF7 these are 20 s of airtime, a fortieth of what 1 % allows; at SF12 half of it.
"""
SPENDING_US: Final = 86_400_000_000
"""The time over which these packets are counted: a day that the node runs."""
SPENDING_STEP_US: Final = 600_000_000
"""Packets within so long are counted as one charge: at most 144 are kept for a group."""
INVITED_FEEDS_OF_ONE: Final = 32
"""Feeds that are requested of a group that the user has not accepted, and to which only strangers added them: enough to
read what it is about."""
INVITED_FEEDS_MAX: Final = 256
"""The same of all such groups together: strangers can add the user to any number of groups."""
FRIENDS_FEEDS_OF_ONE: Final = 1_024
"""Feeds that are requested of a group that the user has not accepted, and to which a person whom they follow added
them: 64 epochs of 16 members. It may take all of them to judge the addition."""
EARLY_GROUPS_MAX: Final = 16
"""Most groups of which posts are shown before their history is here (decision 0083)."""
EARLY_EPOCHS_MAX: Final = 8
"""Most epochs of such a group that are read: usually it is the one that the user was added to."""
EARLY_PEOPLE_MAX: Final = 255
"""Most people who are taken for members of such an epoch: as many as a set has feeds."""
EARLY_POSTS_MAX: Final = 64
"""Most posts of such a group that are kept in memory and shown."""
EARLY_LOOK_BACK: Final = 256
"""Most entries of a feed that are read for them after a start: some 20 ms."""
EARLY_LAST_US: Final = 7_200_000_000
"""How long posts are still shown early once the group was judged, while they wait for the last entries before them: in
EU868 that took up to 50 minutes."""
HISTORY_WAIT_US: Final = 600_000_000
"""On the air, the wait after an addition before earlier feeds of the group are requested, and between two such
requests."""
HISTORY_FEEDS: Final = 4
"""Feeds that are requested at a time then: about 40 packets of the 190 that EU868 allows a node in an hour."""
WAITS_SAVE_US: Final = 600_000_000
"""How often waits are stored while nothing else is: the most that a restart adds to a wait."""
RETRY_US: Final = 3_600_000_000
"""The wait before failed work for a group is tried again: the set or a feed was full, or this program has an error."""
UNREAD_FEEDS_MAX: Final = 256
"""Most feeds that are read again because this program failed to read an entry of them; all of them are read again after
a restart."""
RECEIPTS_LOOK_BACK: Final = 1_024
"""Entries of a member's main feed that are read for acknowledgements when a screen first asks: some milliseconds. A
later acknowledgement covers all earlier entries of the feed that it names, so few older ones matter."""
RECEIPTS_MAX: Final = 512
"""Acknowledgements of one person that are kept in memory: nine to an entry, two entries an hour, a day of them."""
RECEIPTS_OF_MAX: Final = 1_024
"""People whose acknowledgements are kept in memory."""
TIPS_POST_MAX: Final = 4
"""Predecessors that a message to a group names, 20 bytes each; the rest stay tips until a further message."""
TIPS_MAX: Final = 32
"""Predecessors that a change of members or epochs names: those from which its author knew of other changes have to be
among them."""
EPOCHS_BY_ONE_MAX: Final = 512
"""Epochs by one member that count: an exclusion a week by the same person for ten years. They are judged in 0.15 s on a
notebook, and the time grows with their square; so a member who searches for small keys does not keep others busy."""
EPOCHS_UNASKED_MAX: Final = 384
"""Epochs that a member has begun when their node stops to begin any by itself: others can make it do so, and must not
use up what the person needs for exclusions of their own."""
assert EPOCHS_UNASKED_MAX < EPOCHS_BY_ONE_MAX

# --- Texts that are erased (docs/formats/group-secrecy.md, decision 0075)

STEP_US: Final = 86_400_000_000
"""The time of a step: a day."""
STEP_MAX: Final = 4_095
"""The last step of a chain: eleven years of days. A member who writes on it makes others begin another chain, and
compute 4,095 hashes once, some milliseconds."""
CHAINS_MAX: Final = 16
"""Most chains of a group that are kept, 80 bytes each: usually there is one for an epoch."""
PREKEYS_MAX: Final = 8
"""Most prekeys of a group that are kept: usually the published one, and those that were used lately."""
PREKEYS_A_DAY: Final = 3
"""Most prekeys that a node publishes in a group a day, 3 packets each. A member who delivers keys to all, again and
again, must not make all of them write."""
ANSWERS_A_DAY: Final = 32
"""Most requests that a node answers in a group a day, one packet each at least."""
TEXT_KEYS_MAX: Final = 256
"""Most keys of texts that are kept in memory while messages are read."""
