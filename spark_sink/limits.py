"""Every number of the sink, each with its source or its reason."""

from typing import Final

# --- The event log (docs/formats/events.md)

EVENTS_VERSION: Final = 1
"""Newest version of the event log that is understood."""
LINE_SIZE_MAX: Final = 4_096
"""Most bytes of a record, its line feed included."""

BLOCK_SIZE: Final = 4 * 2**20
"""Bytes parsed at a time: 20,000 records, enough to make the fixed cost of a block vanish."""
SLOW_LINES: Final = 64
"""A block with a bad line is halved until it has no more lines than this, then read line by line."""
TAIL_SIZE: Final = 65_536
"""Bytes read at a time when the last line feed of a growing segment is looked for."""
FOLDER_DEPTH_MAX: Final = 5
"""How deep under the logs folder a node's folder may lie: <home>/<somebody>/.tinyssb/events/<node>."""
TASK_SIZE: Final = 16 * 2**20
"""Bytes per Spark task: a second's work, so that a core's start-up cost vanishes and cores share evenly."""
BATCH_SIZE: Final = 32 * 2**20
"""Bytes per micro-batch unless told otherwise: 160,000 records, whose rows fit into the driver with ease."""

# --- The serving database (docs/formats/serving.md)

SERVING_VERSION: Final = 1
"""Version of the serving database that is written."""
APPLICATION_ID: Final = 0x74535342
"""What marks the file as ours: "tSSB"."""
BAD_TEXT_MAX: Final = 200
"""Characters of a bad line that are kept: enough to see what it is."""
LINK_WINDOW_US: Final = 60_000_000
"""Farthest apart sending and hearing of one packet may be: the longest takes 7 s of air, and clocks differ."""
SIGHTINGS_MAX: Final = 500_000
"""Most single packets kept: about 150 MB, a day of ten busy LoRa nodes."""
BUSY_TIMEOUT_S: Final = 10.0
"""How long a statement waits for another connection's lock; a batch's transaction takes under one second."""

# --- Spark

MEMORY_MIN_MB: Final = 512
"""Least heap: Spark itself refuses less than 450 MiB."""
JOBS_AT_A_TIME: Final = 4
"""Transforms that run side by side: planning one overlaps with running another; more do not help two cores."""
JAVA_WORDS_MAX: Final = 500
"""Characters shown of what Java says when it does not start: its last lines name the reason."""
