"""Every number of the dashboard, each with its reason."""

from typing import Final

# --- What one look at the database may bring --------------------------------------------------------------------------

NODES_SHOWN_MAX: Final = 64
"""Nodes on the page: beyond it no heat map can be read; those farthest behind are shown."""
FEEDS_SHOWN_MAX: Final = 64
"""Feeds on the page, by the same rule."""
LINKS_SHOWN_MAX: Final = 400
"""Links on the page, those with most packets first: every pair of twenty nodes, both ways, and some."""
RECENT_SHOWN_MAX: Final = 12
"""Rows in the list of latest entries: one screen."""
RECENT_PER_FEED_MAX: Final = 40
"""Entries of one feed that are looked at for that list and for the delays."""
DELAY_ENTRIES_MAX: Final = 50
"""Latest entries the delays are taken over: enough for a 95th percentile, few enough to stay current."""
CONVERGENCE_WINDOW_US: Final = 3_600_000_000
"""The convergence line goes back so far: a partition of an afternoon's test with its repair."""
CONVERGENCE_POINTS_MAX: Final = 240
"""Steps of the convergence line: one every two pixels of a phone's width."""
TRAFFIC_WINDOW_US: Final = 600_000_000
"""Packets and airtime are summed over so long: ten rows per node, kind and face of the table by minutes."""
CLOCK_AHEAD_MAX_US: Final = 60_000_000
"""A record this much later than the job's own clock comes from a clock that is wrong: it does not set "now"."""
BAD_LINES_COUNTED_MAX: Final = 1_000
"""Bad lines are counted up to here: more says nothing new."""
SHORT_ID_LENGTH: Final = 8
"""Hexadecimal digits that stand for an id on the page; the full one is in the hover text."""

# --- The server -------------------------------------------------------------------------------------------------------

SNAPSHOT_VERSION: Final = 1
"""Version of the JSON of ``/api/snapshot`` (docs/reference/dashboard.md)."""
TICK_S: Final = 0.25
"""Between two looks at the database: below what an eye calls delayed, and a look at an unchanged file costs nothing."""
HEARTBEAT_S: Final = 5.0
"""Between two signs of life to a page that has no news: it takes three missing ones for a lost connection."""
CLIENTS_MAX: Final = 64
"""Pages that may listen at one time: each holds a connection and nothing else."""
RETRY_MS: Final = 2_000
"""What a page waits before it connects again."""
SHUTDOWN_S: Final = 3
"""How long a connection may take to end when the server stops."""
PORT: Final = 8765
"""Where the page is served unless told otherwise."""
