"""Numbers of the sink that several places use, or tests change, each with its source or its reason."""

from typing import Final

# --- The event log (docs/formats/events.md)

EVENTS_VERSION: Final = 1
"""Newest version of the event log that is understood."""
LINE_SIZE_MAX: Final = 4_096
"""Most bytes of a record, its line feed included."""
NESTING_MAX: Final = 64
"""Most levels of lists and objects in a record: nodes write three. Readers of JSON differ in how many they take."""
RECORD_SIZE_MIN: Final = 64
"""Fewer bytes than any record has: the fields that all of them have take more, written as short as can be."""

BLOCK_SIZE: Final = 4 * 2**20
"""Bytes parsed at a time: 20,000 records, enough to make the fixed cost of a block vanish."""
SLOW_LINES: Final = 64
"""Blocks of so few lines are read line by line, as that costs no more than to start DuckDB; a block with a bad line is
halved until it has no more."""
BAD_LINES_LISTED: Final = 20
"""Bad lines of one file that are listed: enough to see what is wrong with it. Further ones are only counted:
each costs five times as much as a record, and a megabyte can hold a million of them."""
BATCH_SIZE: Final = 128 * 2**20
"""Default bytes per micro-batch: 450,000 records or more, whose partial tables fit into the driver with ease."""
SHARE_MIN: Final = 2**20
"""Bytes of one log read at a time when many are behind: forty segments of an hour, so that few have to be cut."""
OFFSET_VERSION: Final = 2
"""Version of the stream's offset, as the database keeps it. 1 read each log once from its beginning to its end."""
OFFSET_MAX: Final = 10**12
"""Offsets of records are smaller: the names of segments have twelve digits for them."""
OFFSET_JUMP_MAX: Final = 2**20
"""Records that may lack in a segment: at 5 a second, two days of a full disk. More is a number gone wrong."""
GAPS_PER_NODE_MAX: Final = 64
"""Gaps listed of one node, the latest: a wrong number in one file's name would make a hundred million missing boots."""
FOLDER_LOOK_NS: Final = 60 * 10**9
"""Time for which an unchanged folder is assumed to have the same files with the same sizes."""
LISTING_AGE_S: Final = 5.0
"""Time for which a listing of an object store is used: listings are paid for by the request, and take seconds."""
LISTING_SHARE: Final = 4
"""A listing is used for so many times as long as it took."""

# --- The serving database (docs/formats/serving.md)

STORE_VERSION: Final = 2
"""Version of the serving database that is written."""
DERIVED_VERSION: Final = 3
"""Version of the definitions of derived tables. Raise it with any change that makes other rows from the same logs:
the hours whose single packets are kept are then derived again."""
APPLICATION_ID: Final = 0x74535342
"""Mark of our files: "tSSB"."""
BAD_TEXT_MAX: Final = 200
"""Characters of a bad line that are kept: enough to see what it is."""
LINK_WINDOW_US: Final = 60_000_000
"""Longest time between sending and hearing one packet: the longest packet takes 7 s of airtime, and clocks differ."""
PACKETS_KEPT: Final = 2_000
"""Single packets kept for viewing: more than anybody scrolls through."""
LOG_KEPT: Final = 10_000
"""Batches and refreshes that are remembered: hours of a busy job, weeks of a quiet one, and below one megabyte."""
SUM_MAX: Final = 2**62
"""Upper limit of sums: hostile records can exceed a database's integers, honest ones never do."""
NAMES_KNOWN_MAX: Final = 1_000_000
"""Names whose numbers are cached, about 150 MB; then the cache is cleared."""
KEYS_AT_A_TIME: Final = 5_000
"""Keys in one query: SQLite allows 32,766 parameters, PostgreSQL 65,535."""
ROWS_AT_A_TIME: Final = 50_000
"""Rows of a large table that are tuples at a time, before they are columns: about 10 MB."""
ENTRIES_AT_A_TIME: Final = 200
"""Entries whose copies are processed together: 200,000 copies in a mesh of 1,000 nodes, 50 MB."""
KEEP_DAYS: Final = 60
"""Default days for which single packets are kept for matching: late logs arrive within weeks."""

# --- The nodes' clocks (docs/reference/analytics.md)

CLOCK_JUMP_US: Final = 1_000_000
"""A wall clock that moved by more than this against the monotonic one is another clock, as in the log's ``clock``."""
CLOCK_AHEAD_MAX_US: Final = 60_000_000
"""A record this much later than the job's own clock comes from a clock that is wrong: it does not set "now"."""
DRIFT_MAX_PPM: Final = 200
"""Fastest or slowest a clock may run: twice the worst quartz sold for clocks, 100 ppm, for heat and age."""
MATCH_TOLERANCE_US: Final = 20_000
"""Distance from the line that two sightings of one transmission may have: USB, scheduling and a busy Pi cost
milliseconds."""
MATCHES_MIN: Final = 5
"""Fewest shared transmissions that relate two clocks: a line goes through any two, and by chance near a third."""
REPEATS_MAX: Final = 8
"""A packet that one clock saw more often is a poor time mark; pairs of sightings grow with the square of it."""
HOLDERS_MAX: Final = 64
"""A packet that more clocks saw went around the mesh; who shares it is then counted among so many at a time."""
PAIRS_AT_A_TIME: Final = 2_000_000
"""Pairs of clocks that saw the same packet that are counted at a time: 150 MB, however large the mesh is."""
PACKETS_MAX: Final = 256
"""Packets used for each clock, and for it at its partners: hundreds of matches, and noise averages out."""
PARTNERS_MAX: Final = 4
"""With how many others a clock is compared first: enough to outvote a wrong one; each more costs a search."""
LOOK_BACK_US: Final = 3_600_000_000
"""Time before a packet in which its cause is searched: figures of an hour need the hour before, and no more."""
HEARD_WITHIN_US: Final = 2_000_000
"""Longest time, by corrected clocks, between the records of a packet's sending and hearing: a loaded node is a
second late."""
CLOCK_MOVED_US: Final = 10_000
"""A correction that changed by more than this causes its hours to be derived again."""
HUBER: Final = 1.345
"""Standard deviations beyond which weight falls off: 95 % efficient (Huber 1981, Holland and Welsch 1977)."""
TUKEY: Final = 4.685
"""Standard deviations beyond which the weight is zero: 95 % efficient (Holland and Welsch 1977)."""

# --- Partial tables (spark_sink/partials)

REDUCE_ROWS: Final = 100_000
"""Records made into partial rows at a time: more than a task has, unless its lines are short; about 100 MB."""

# --- Spark

ALONE_S: Final = 20.0
"""Time without a worker after which the user is informed: starting one takes five seconds."""
QUERY_STARTS_MAX: Final = 3
"""Times that the stream is started in a row without a batch between. Spark gives up if a Python worker needs more than
ten seconds to start, which happens on a busy machine; the next start usually succeeds."""

TASK_SIZE: Final = 16 * 2**20
"""Most bytes of a task: a second's work, so that the cost of starting it vanishes and cores share evenly."""

# --- Reading logs (docs/reference/sink.md)

SMALL_BATCH: Final = 2**20
"""Bytes of a batch that one task reads, in some 50 ms. The engine ``local`` reads so much in the job's own process: it
is not worth the way to another one."""
LOOK_S: Final = 0.05
"""Time between two looks at logs that do not change."""
LOOK_SHARE: Final = 4
"""And it is so many times as long as a look takes: a fifth of a core at most, where listing the logs takes long."""
REST_SHARE: Final = 2
"""After a small batch there is a rest, of this part of the time that it took: a third of the time is left to others.
While the job rests, records wait."""
REST_MAX_S: Final = 0.5
"""Longest such rest."""
LOCAL_IDLE_S: Final = 60.0
"""Time without work after which a process of the engine ``local`` is ended: starting one takes half a second."""

# --- The refresh (docs/reference/sink.md)

SIGHTS_AT_A_TIME: Final = 400_000
"""Single packets and arrivals that are joined at a time: about 150 MB, and half a second."""
SIGHTS_IN_MEMORY: Final = 3_000_000
"""Up to so many are unpacked once for the two looks that clocks take at them: 170 MB. More are unpacked twice."""
HOURS_BEFORE_US: Final = 2 * 60_000_000
"""Time before a record in which it may change derived figures: a packet and its sending are closer than this."""
HOURS_AFTER_US: Final = 62 * 60_000_000
"""Time after it: an hour and a minute in which a sending or a contact counts, and a margin."""
THREAD_SWITCH_S: Final = 0.000_5
"""Time after which Python lets another thread run. By default it is ten times as long, and the thread that reads, which
looks at a file of each node, waits for it at each of them while the refresh computes."""
DAY_REST_US: Final = 10 * 60_000_000
"""Time after which a day whose hours were not derived again is summed up: a second's work in a mesh of 1,000 nodes."""
REFRESH_SHARE: Final = 0.25
"""Largest share of the time for the refresh, so that reading continues."""

# --- The report (docs/reference/sink.md)

REPORT_NODES_MAX: Final = 12
"""Nodes that the table of entries behind has a column for: so many names fit side by side."""

# --- Collecting logs over MQTT (docs/formats/log-shipping.md)

SHIPPING_VERSION: Final = 1
"""Version of the format that is spoken."""
BATCH_BYTES: Final = 131_072
"""Bytes of log in a batch at most, by the format."""
BATCH_WIRE_MAX: Final = 135_168
"""Largest batch in bytes, by the format; the broker is asked to refuse larger messages."""
SEGMENT_BYTES_MAX: Final = 2**31
"""Bytes of a segment at most, by the format."""
PRINT_BYTES: Final = 128
"""Bytes at the beginning of a segment and before a batch that are compared, by the format."""
ROWS_MAX: Final = 1_000
"""Rows in an answer at most, by the format."""
NETWORKS_PER_NODE_MAX: Final = 8
"""Networks of one node: as many as a node takes part in. A hostile node would make a folder each for millions."""
SEGMENTS_PER_NODE_MAX: Final = 200_000
"""Segments of one node: 20 years of one an hour. Each costs a file, and a row of 60 bytes in the index."""
NODES_MAX: Final = 20_000
"""Nodes whose logs are accepted: the size of one broker, and a limit if it has no access list."""
COLLECT_BATCHES: Final = 32
"""Batches landed together, by one sync of each file and one of the index; the broker sends no more ahead: 4 MB."""
SPACE_LOOK_S: Final = 5.0
"""Time for which a measurement of free disk space is used: some hundred batches."""

# --- Contact groups (docs/reference/analytics.md, "Contact groups")

SLOT_US: Final = 600_000_000
"""Length of a slot in which the mesh's groups are computed: ten minutes, six rows an hour."""
LEAST_SLOTS: Final = 3
"""A contact counts for this many slots after its own: 30 minutes. Idle radios at SF7 advertise every 52 s at most
(`air_profile` of the node: 256 full packets), wires every 15 s, so that is 34 missing adverts."""
MOST_SLOTS: Final = 6
"""The same for the slowest radios: an hour. At SF12 the longest interval is half an hour; more hours would have to be
loaded for each one that is derived again."""
HOLD_SLOTS: Final = 2
"""Slots in a row that must show a change before it is reported: one packet heard by chance is not a link."""

# --- The bronze (docs/formats/bronze.md)

BRONZE_VERSION: Final = 1
"""Version of bronze files and manifests."""
BRONZE_RATIO: Final = 16
"""Bytes of log in a byte of bronze, about: with it batches of both have about as many records."""
BRONZE_LOOK_S: Final = 5
"""Time between two looks at a bronze: Spark lists all of its files, and new ones come every ten minutes."""
MANIFESTS_KEPT: Final = 20
"""Manifests that are kept, to look at; only the last one is read."""
LAND_EVERY_S: Final = 600
"""Default time between two batches of landing: 144 files a day for a mesh of any size that keeps up."""
PIECES_MAX: Final = 17
"""Pieces of a segment by day: clocks are set once or twice; more days mean a faulty clock, and stay together."""
