"""Numbers of how sets of feeds come together and apart."""

from typing import Final

LEAVE_US: Final = 3_600_000_000
"""Quiet time after which a closed feed leaves the set: an hour, in which an entry crosses many hops of a mesh, and each
station in reach has asked for what it lacks several times."""
LEAVE_MAX_US: Final = 86_400_000_000
"""Longest quiet time, reached by doubling each time the feed comes back: a day, so that a feed that somebody cannot do
without costs a few packets a day."""
LEAVE_DOUBLINGS_MAX: Final = 5
"""Doublings after which it is longer than that."""
LEAVE_FOLLOW_US: Final = 900_000_000
"""Quiet time after which a feed leaves because it has left at a neighbour. So long at least passes between two changes
of mind: 15 minutes."""
LEAVE_ASKED_US: Final = 1_800_000_000
"""How long a feed stays that somebody in reach wants something of: half an hour, thrice the longest interval between
requests (256 packets at SF12)."""
LEAVE_CHECK_US: Final = 60_000_000
"""How often a feed whose time has come, and that somebody still wants, is looked at again."""

FORK_TELL_US: Final = 60_000_000
"""How soon the two entries that prove a fork are said again on a face, to somebody who asks for more of the feed: a
minute, in which whoever knows forks has heard it."""
FORK_TELL_MAX_US: Final = 3_600_000_000
"""The same, doubled each time: an hour, so that peers who know no forks and ask for ever cost two packets an hour."""
DOUBT_US: Final = 600_000_000
"""How long nothing of a feed fits, of which others have more, before a fork is looked for: ten minutes, longer than
most losses and queues last."""
DOUBT_MAX_US: Final = 86_400_000_000
"""After a search in vain the next one waits for this long, or less the first times: a day."""
DOUBT_WANTS: Final = 8
"""How often somebody says meanwhile that he has more, at least."""
SEARCH_PATIENCE: Final = 3
"""Requests for one number before an earlier one is asked for: the answer may be lost, or wait."""
SEARCH_WANTS_MAX: Final = 100
"""Requests of one search: three for each of 20 steps back, which is a million entries, and some for what follows."""

assert LEAVE_US << LEAVE_DOUBLINGS_MAX >= LEAVE_MAX_US
assert LEAVE_FOLLOW_US < LEAVE_US

# --- Ids that peers name (decision 0045)

SET_AT_ONCE: Final = 64
"""Places of a set that are taken as fast as ids are named: a newcomer is in a mesh of this size at once."""
SET_IDS_PER_HOUR: Final = 32
"""Ids of strangers that each face may bring an hour beyond that: a group's epochs need fewer, and junk takes hours to
fill a set, in which people notice."""
SET_IDS_BURST: Final = 8
"""And at once: two meshes that meet. Few, so that neighbours who get different junk agree again in between."""
SET_ASKED_BURST: Final = 64
"""Ids at once that we asked for on the air, since neighbours have them."""
SET_FACES: Final = 4
"""All faces together bring as many as so many faces: who connects again and again gets no more."""
SET_RESERVE: Final = 16
"""Places that strangers' ids do not take: for our own feeds, and whom our user follows."""
SET_CHILDREN_MAX: Final = 1_024
"""Feeds remembered as named by their parents, where only who is known is let in: 100 kB."""

# --- Naming ids again (setgossip) -------------------------------------------------------------------------------------

NAMES_AGAIN_US: Final = 120_000_000
"""After which time they are named once more to who shows a smaller set than ours: feeds may have left it since. Most
conversations about a set are over within seconds."""
NAMES_AGAIN_MAX_US: Final = 3_600_000_000
"""Longest such time: it grows fourfold until the sets are the same, which that of a peer who is full never is."""

# --- A fresh set (decision 0052) ------------------------------------------------------------------------------------

SET_KEY_MIN: Final = 8
"""Fewest bytes of a key that replaces a network's for its set: so that nobody has it by chance."""
SET_KEY_SIZE: Final = 16
"""Bytes of one that we draw: short enough to be read out."""

# --- The shelf (tinyssb_node.islands.shelf, decision 0048) --------------------------------------------------

SHELF_PACKET_BYTES: Final = 240
"""Bytes of disk that an entry or chunk takes there: measured 212, with all indexes; and what SQLite leaves free."""
SHELF_SHARE: Final = 4
"""One feed of the shelf takes no more than the budget by this: nobody's feed drives out all others."""
SHELF_PIECE: Final = 64
"""Packets that go from the shelf into the set at a time, while other packets wait: their signatures take some 10 ms."""

# --- Claims on the air (setgossip) ------------------------------------------------------------------------------------

CLAIMS_PERMILLE: Final = 500
"""Share of the airtime that the law allows which answers to claims take at most: half. Boards that know nothing but
claims, and a set of 80 that is half different, take as much."""
CLAIMS_FLOODED_PERMILLE: Final = 125
"""The same while ids are refused: an eighth. What differs among neighbours is told by sketches, which take less."""
FLOODED_US: Final = 600_000_000
"""How long after a refused id that is so: ten minutes, in which whoever makes ids up names one again."""
