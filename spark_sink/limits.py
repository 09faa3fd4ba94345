"""Every number of the sink, each with its source or its reason."""

from typing import Final

# --- The event log (docs/formats/events.md) --------------------------------------------------------------------------

EVENTS_VERSION: Final = 1
"""Newest version of the event log that is understood."""
LINE_SIZE_MAX: Final = 4_096
"""Most bytes of a record, its line feed included."""

# --- The serving database (docs/formats/serving.md) --------------------------------------------------------------------

SERVING_VERSION: Final = 1
"""Version of the serving database that is written."""
APPLICATION_ID: Final = 0x74535342
"""What marks the file as ours: "tSSB"."""
BAD_TEXT_MAX: Final = 200
"""Characters of a bad line that are kept: enough to see what it is."""
LINK_WINDOW_US: Final = 60_000_000
"""Farthest apart a sending and a hearing of one packet may be: the longest packet takes 7 s of air, clocks differ."""
SIGHTING_AGE_US: Final = 900_000_000
"""Single packets are kept until all running nodes are this far past them: a log that is shipped late still matches."""
SILENT_AGE_US: Final = 86_400_000_000
"""A node that is this far behind the newest record no longer holds back the forgetting of single packets."""
SIGHTINGS_MAX: Final = 1_000_000
"""Most single packets kept: about 150 MB."""
BUSY_TIMEOUT_S: Final = 10.0
"""How long a statement waits for another connection's lock; a batch's transaction takes well under one second."""
