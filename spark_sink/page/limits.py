"""Numbers of the page's server that several places use, or tests change, each with its reason."""

from typing import Final

# --- Times ------------------------------------------------------------------------------------------------------------

SECOND_US: Final = 1_000_000
"""Microseconds."""
MINUTE_US: Final = 60 * SECOND_US
"""Microseconds."""
SLOT_US: Final = 10 * MINUTE_US
"""Length of a slot of airtime and groups (docs/formats/serving.md)."""
HOUR_US: Final = 60 * MINUTE_US
"""Microseconds."""
TIME_MAX_US: Final = 2**53
"""Times beyond it, in the year 2255, are refused: JavaScript has no whole numbers above."""

# --- How much an answer may hold --------------------------------------------------------------------------------------

NODES_SHOWN_MAX: Final = 64
"""Columns of the heat map and rows of lists by node: beyond it nothing can be read; those farthest behind are shown."""
LINKS_SHOWN_MAX: Final = NODES_SHOWN_MAX * (NODES_SHOWN_MAX - 1)
"""Links of the topology: every pair of shown nodes, both ways."""
METRIC_NODES_MAX: Final = 1_000
"""Nodes with metrics of their own: always the first that were seen, as a series that comes and goes can't be read."""
FEEDS_SHOWN_MAX: Final = 200
"""Rows of the heat map, by the same rule."""
POINTS_MAX: Final = 240
"""Steps of a line over time: one every two pixels of a phone's width."""
STRETCHES_MAX: Final = 168
"""Columns of delays over time: a week by hours; longer ranges have longer periods."""
ROWS_MAX: Final = 200
"""Rows of any other list; the newest or the largest are shown."""
PIECES_MAX: Final = 32
"""Pieces of a range between days that are summed up: each is a part of the statements of most views."""
PACKETS_MAX: Final = 2_000
"""Most single packets in an answer: as many as are kept."""
BATCHES_SHOWN_MAX: Final = 300
"""Batches and refreshes on the page of the job: some minutes of a busy stream, hours of a quiet one."""
NODES_PER_QUERY: Final = 100
"""Nodes in one statement that asks for each one's own range: three values a node, within the above."""
ALERTS_SEARCHED_MAX: Final = 20_000
"""Alerts that a search looks at, a tenth of a second's work; the newest, if there are more."""
FIND_SIZE_MAX: Final = 256
"""Characters of a search: three ids of feeds."""
SHORT_ID_LENGTH: Final = 8
"""Hexadecimal digits that stand for an id on the page; the full one is in the hover text."""
CSV_TEXT_MAX: Final = 1_000
"""Characters of a text in a cell: honest names and reasons are shorter."""

# --- The server -------------------------------------------------------------------------------------------------------

API_VERSION: Final = 2
"""`v` in every answer (docs/reference/dashboard.md)."""
CLIENTS_MAX: Final = 64
"""Pages that may listen at one time: each holds a connection and nothing else."""
CONNECTIONS_WAITING_MAX: Final = 128
"""Connections that have sent no whole request: twenty browsers hold as many between requests. An address has no limit
of its own: in a cluster all viewers come from that of the ingress."""
REQUEST_S: Final = 10.0
"""Seconds that a request may take to come: mobile networks need one or two."""
WAITING_MAX: Final = 64
"""Requests that may wait for the database at one time; further ones are answered 503. Each takes about 10 ms."""
TARGET_SIZE_MAX: Final = 2_048
"""Bytes of path and query: the longest that the page itself asks for has 300."""
TOKEN_SIZE_MIN: Final = 16
"""Characters of a token: 64 bits if it is hexadecimal digits, which cannot be guessed over a network."""
TOKEN_SIZE_MAX: Final = 4_096
"""Bytes of a file with a token that are read: a larger one is some other file."""
STATIC_AGE_S: Final = 31_536_000
"""Time for which a browser may keep a file named by its hash: a year, the most that RFC 9111 expects caches to use."""
