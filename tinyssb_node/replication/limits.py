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

assert LEAVE_US << LEAVE_DOUBLINGS_MAX >= LEAVE_MAX_US
assert LEAVE_FOLLOW_US < LEAVE_US
