"""Every number of the page's server, each with its reason."""

from typing import Final

from spark_sink import limits as sink

# --- Times ------------------------------------------------------------------------------------------------------------

SECOND_US: Final = 1_000_000
"""Microseconds."""
MINUTE_US: Final = 60 * SECOND_US
"""Microseconds."""
SLOT_US: Final = 10 * MINUTE_US
"""Length of a slot of airtime and groups (docs/formats/serving.md)."""
HOUR_US: Final = 60 * MINUTE_US
"""Microseconds."""
RANGE_US: Final = 24 * HOUR_US
"""What is looked at unless told otherwise: a day, since meshes have a daily rhythm."""
CLOCK_AHEAD_MAX_US: Final = sink.CLOCK_AHEAD_MAX_US
"""A record this much later than the job's own clock does not set "now", as in the refresh."""
TIME_MAX_US: Final = 2**53
"""Times beyond it, in the year 2255, are refused: JavaScript has no whole numbers above."""

# --- How much an answer may hold --------------------------------------------------------------------------------------

NODES_SHOWN_MAX: Final = 64
"""Columns of the heat map and rows of lists by node: beyond it nothing can be read; those farthest behind are shown."""
FEEDS_SHOWN_MAX: Final = 200
"""Rows of the heat map, by the same rule."""
LINKS_SHOWN_MAX: Final = 1_000
"""Links in the graph, those with most packets first: every pair of thirty nodes, both ways, and some."""
POINTS_MAX: Final = 240
"""Steps of a line over time: one every two pixels of a phone's width."""
STRETCHES_MAX: Final = 168
"""Columns of delays over time: a week by hours; longer ranges are told by longer stretches."""
RECENT_SHOWN_MAX: Final = 12
"""Rows in the list of latest entries: one screen."""
ALERTS_SHOWN_MAX: Final = 100
"""Alerts in the overview, open ones first."""
ROWS_MAX: Final = 200
"""Rows of any other list; the newest or the largest are shown."""
PACKETS_DEFAULT: Final = 200
"""Single packets in an answer unless told otherwise."""
PACKETS_MAX: Final = 2_000
"""Most single packets in an answer: as many as are kept."""
COUNTED_MAX: Final = 1_000
"""Bad lines, gaps and oddities are counted up to here: more says nothing new."""
BATCHES_SHOWN_MAX: Final = 300
"""Batches and refreshes on the page of the job: some minutes of a busy stream, hours of a quiet one."""
RATE_BATCHES: Final = 20
"""The rate of reading is taken over so many batches: it follows a change within seconds, and does not flicker."""
VALUES_PER_QUERY: Final = 500
"""Values in one list of a statement: SQLite takes 999 at least, and PostgreSQL more."""
NODES_PER_QUERY: Final = 100
"""Nodes in one statement that asks for each one's own range: three values a node, within the above."""
JOURNEY_HOURS_MAX: Final = 400
"""Hours of logs that are searched for one message's packets: 2 ms each, so a second at most; a mesh of 200 nodes."""
SHORT_ID_LENGTH: Final = 8
"""Hexadecimal digits that stand for an id on the page; the full one is in the hover text."""
CSV_TEXT_MAX: Final = 1_000
"""Characters of a text in a cell: names and reasons are shorter, unless somebody means harm."""

# --- The server -------------------------------------------------------------------------------------------------------

API_VERSION: Final = 2
"""`v` in every answer (docs/reference/dashboard.md)."""
TICK_S: Final = 0.1
"""Between two looks at the database: what is no later feels immediate, and a look that finds nothing costs 0.1 ms."""
HEARTBEAT_S: Final = 5.0
"""Between two signs of life to a page that has no news: it takes three missing ones for a lost connection."""
CLIENTS_MAX: Final = 64
"""Pages that may listen at one time: each holds a connection and nothing else."""
RETRY_MS: Final = 2_000
"""What a page waits before it connects again."""
WAITING_MAX: Final = 64
"""Questions that may wait for the database at one time; further ones are answered 503. Each takes some 10 ms."""
CACHE_SIZE: Final = 32 * 2**20
"""Bytes of answers kept; they are thrown away when the database changes."""
COMPRESS_SIZE: Final = 1_024
"""Answers above it are compressed if the browser takes that: below, a packet carries them anyway."""
COMPRESS_LEVEL: Final = 4
"""Four fifths of what level 9 saves, for a third of its time."""
TARGET_SIZE_MAX: Final = 2_048
"""Bytes of path and query: the longest that the page itself asks for has 300."""
TOKEN_SIZE_MIN: Final = 16
"""Characters of a token: 64 bits if it is hexadecimal digits, which nobody guesses over a network."""
TOKEN_SIZE_MAX: Final = 4_096
"""Bytes of a file with a token that are read: a larger one is some other file."""
COOKIE_AGE_S: Final = 30 * 86_400
"""How long a browser that has given the token once is let in: a page on a wall survives its restarts."""
CONNECTIONS_MAX: Final = 256
"""Connections at one time: 64 listening pages, each with some more while it loads."""
STATIC_AGE_S: Final = 31_536_000
"""How long a browser may keep a file named by its hash: a year, the most that RFC 9111 expects caches to take."""
SHUTDOWN_S: Final = 3
"""How long a connection may take to end when the server stops."""
PORT: Final = 8_765
"""Where the page is served unless told otherwise."""
