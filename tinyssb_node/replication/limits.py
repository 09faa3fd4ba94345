"""Limits of sets of feeds: admission, retirement, reconciliation, and forks."""

from typing import Final

LEAVE_US: Final = 3_600_000_000
"""Quiet time after which a closed feed leaves the set: an hour, in which an entry crosses many hops of a mesh, and each
neighbour has requested what it lacks several times."""
LEAVE_MAX_US: Final = 86_400_000_000
"""Longest quiet time, reached by doubling each time the feed comes back: a day, so that a feed that some node keeps
naming costs a few packets a day."""
LEAVE_DOUBLINGS_MAX: Final = 5
"""Doublings after which it is longer than that."""
LEAVE_FOLLOW_US: Final = 900_000_000
"""Quiet time after which a feed leaves because it has left at a neighbour. So long at least passes between two changes
of mind: 15 minutes."""
LEAVE_ASKED_US: Final = 1_800_000_000
"""Time for which a feed stays after a neighbour requested entries of it: half an hour, three times the longest interval
between requests (256 packets at SF12)."""
LEAVE_CHECK_US: Final = 60_000_000
"""Time between two checks of a feed that is due to leave, but still requested."""

FORK_TELL_US: Final = 60_000_000
"""Least time between two replies on a face with the two entries that prove a fork: a minute, in which every node that
knows forks has received them."""
FORK_TELL_MAX_US: Final = 3_600_000_000
"""The same after doubling each time: an hour, so that peers that know no forks and request for ever cost two packets an
hour."""
SEARCH_PATIENCE: Final = 3
"""Requests for one number before an earlier one is asked for: the answer may be lost, or wait."""

assert LEAVE_US << LEAVE_DOUBLINGS_MAX >= LEAVE_MAX_US
assert LEAVE_FOLLOW_US < LEAVE_US

# --- Ids without an entry (decision 0070)

EXPIRE_US: Final = 1_800_000_000
"""Time after which an id of which no entry came leaves the set: half an hour, and up to half of that more, so that
nothing is kept out by made-up ids for an hour."""
EXPIRE_PACKETS: Final = 8_192
"""The same in packets of a radio, if that is longer: 28 min at SF7, where entries of 255 feeds take a minute of air."""
EXPIRE_FOLLOW_SHARE: Final = 6
"""Part of this time after which an id may leave because it has left at a neighbour: five minutes."""
REFUSED_US: Final = 60_000_000
"""Time after which neighbours that lack an id, and heard it often enough, refuse it: a minute."""
EXPIRE_ABOVE: Final = 16
"""Ids without an entry that may stay in a set: those of people who have not written yet. They take nobody's place."""
EXPIRE_FEW: Final = 8
"""Such ids that a node with fewer takes in any case, and does not let go because a neighbour lacks them."""
EXPIRED_US: Final = 3_600_000_000
"""Time for which an id that left is refused: an hour, twice as long each time, up to a day."""
EXPIRED_MAX: Final = 1_024
"""Ids that left and are remembered: 100 kB."""
PROOF_AGAIN_US: Final = 20_000_000
"""Time after the first entry of a feed was sent as a proof until it is sent again, twice as long each time."""
PROOF_AGAIN_MAX_US: Final = 1_800_000_000
"""Longest such time: a neighbour that comes later takes it within half an hour."""
PROOF_PERMILLE: Final = 125
"""Share of the airtime that the law allows which proofs take: an eighth, ten proofs an hour at SF7 in EU868."""
GIVEN_PERMILLE: Final = 300
"""The same of first entries before their ids, while ids need them: three tenths, 50 of them."""
PROOF_AFTER_US: Final = 120_000_000
"""Time after which a neighbour that lacks an id still is taken to refuse it, where no flood of ids is heard."""
CLAIMS_AT_ONCE: Final = 8
"""Claims at once in answer to claims, where ids are refused; then one in the longest interval of adverts."""
FLOOD_US: Final = 600_000_000
"""Time after an id was refused on a face for which a flood of made-up ids is taken to go on there."""
PUT_OFF_MAX: Final = 64
"""Ids that radios named in this time and that were put off, beyond which they are taken to be made up. Meshes of 130
feeds each meet without that."""
PROVEN_US: Final = 3_600_000_000
"""Time after that for which ids enter the set only with their first entry, where a radio is flooded: an hour.
Neighbours that trust at different times would have different sets."""

# --- Sets that never become the same (decision 0070)

SETTLE_TRIES: Final = 4
"""Comparisons with a set of as many ids on a wire that change nothing, until they pause for a day."""
SETTLE_TRIES_ON_AIR: Final = 16
"""The same on the air, where packets are lost: as many shortest intervals of adverts, 27 s at SF7."""
SETTLE_PAUSE_MAX_US: Final = 3_600_000_000
"""Longest time until it is tried again on the air; the first pause is the longest interval of adverts."""

# --- Ids that are named in reply to requests on the air (decision 0078)

NAMES_EXPECTED: Final = 2
"""Times that an id is named to all neighbours within an hour without a lie: hardly one of ten misses it so often when
every third packet is lost. A few more are free."""
NAME_WAIT_MAX_PACKETS: Final = 256
"""Longest time, in packets of 120 bytes, until an id is named again that was named more often: 50 s at SF7."""

ANSWERS_AT_ONCE: Final = 8
"""Claims that a node sends at once on the air in answer to claims."""
ANSWER_PACKETS: Final = 32
"""Time, in packets of 120 bytes, until it may send one more: 6 s at SF7."""

# --- Ids that peers name (decision 0045)

SET_AT_ONCE: Final = 64
"""Feeds of a set without an entry that are admitted as fast as ids are named. Those with entries are not counted."""
DEPLOYED_IDS_MAX: Final = 32
"""Ids without an entry that deployed peers claim on the air, and that are kept beside the set."""
SET_IDS_PER_HOUR: Final = 32
"""Ids of strangers that each face may add an hour beyond that: a group's epochs need fewer, and junk takes hours to
fill a set, time for people to notice."""
SET_IDS_BURST: Final = 8
"""Ids of strangers that a face may add at once: two meshes that meet. Few, so that neighbours with different junk agree
again in between."""
SET_FACES: Final = 4
"""Limit for all faces together, in faces: reconnecting again and again gains nothing."""

# --- Ids that the claim of a deployed peer shows to be missing (reconcile)

MISSING_MAX: Final = 4
"""Ids that are named at once in answer to a claim: two claims name them, as many as halve a region."""
MISSING_TRIED_MAX: Final = 512
"""Sets of all but one of them that are tried to find those: two of any number of ids, three of 32, four of 15. A claim
comes as often as a radio receives, and a small Pi is slow."""

# --- Room on the disk (decision 0063)

EVICTION_PIECE: Final = 256
"""Packets of an evicted feed that are deleted at a time, while other packets wait: 1 ms on a PC."""

# --- Naming ids again (setgossip) -------------------------------------------------------------------------------------

NAMES_AGAIN_US: Final = 120_000_000
"""Time after which they are named again to a node with a smaller set than ours: feeds may have left it since. Most
exchanges about a set are over within seconds."""

# --- The shelf (tinyssb_node.islands.shelf, decision 0048) --------------------------------------------------

SHELF_PACKET_BYTES: Final = 240
"""Bytes of disk for an entry or chunk on the shelf: measured 212, with all indexes; the rest is SQLite's free space."""
SHELF_PIECE: Final = 64
"""Packets that go from the shelf into the set at a time, while other packets wait: their signatures take some 10 ms."""
