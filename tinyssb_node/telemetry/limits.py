"""Limits of telemetry, each with its reason."""

from typing import Final

AIR_PERMILLE: Final = 50
"""Share of the legal airtime that the automatic records of a mesh may take, if each is sent once by every node: half of
that of acknowledgements."""
ACTIVE_US: Final = 30 * 86_400_000_000
"""People of whom an entry came within this time count as nodes that may share, too: a month, as for receipts."""
DAY_US: Final = 86_400_000_000
"""The span in which a node's automatic records are counted."""
GROUP_PACKETS: Final = 3
"""Packets of a record for a group."""
LOOK_S: Final = 15.0
"""How often the process looks whether a record is due: a position is a few seconds old when it is shared."""
SOURCE_TIMEOUT_S: Final = 10.0
"""Time for a source to answer: a GPS receiver reports once a second."""
SOURCE_BYTES_MAX: Final = 65_536
"""Most bytes that are read of a source: a report of gpsd has 500, its list of satellites 5,000."""
SUPPLIES_MAX: Final = 16
"""Most power supplies, and most sensors of the kernel, that are looked at."""
VALID_FACTOR: Final = 4
"""An automatic record is valid for so many intervals: three in a row may be late."""
"""A position that did not change is renewed when three quarters of its validity are over."""
VALID_MIN_MINUTES: Final = 60
"""Least validity of an automatic record: on the air it may take that long to arrive."""
