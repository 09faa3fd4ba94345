"""Numbers of the terminal screen, each with its reason (docs/decisions/0029)."""

from typing import Final

MESSAGES_MAX: Final = 200
"""Messages of a conversation at hand: ten screens; further ones are read when one scrolls there."""
PEOPLE_MAX: Final = 500
"""People, feeds and conversations listed at most: nobody scrolls further, and a set has 255 feeds in most meshes."""
EVENTS_MAX: Final = 500
"""Latest lines of the event log at hand: a minute or so of a busy node."""
MESSAGE_LINES: Final = 12
"""Lines of one message in a conversation: half a screen of 24, so that nobody fills one alone."""
NAME_CELLS: Final = 16
"""Cells of a name: a fifth of a line."""
ROOM_MIN: Final = 12
"""Cells for which a row is drawn at least: before a list has its size, and where a window is hardly open."""
WIDE: Final = 76
"""Columns from which on names and conversations have all the room they want: the 80 of old terminals, less borders."""
ID_DIGITS: Final = 8
"""Digits of an id shown where there is a name too: 32 bits tell any two apart that nobody made alike."""
FEW_DIGITS: Final = 4
"""Digits behind a name where there is little room and nothing is decided: where one writes privately, all are shown."""
IDS_MAX: Final = 12
"""Ids listed in a row: what a message follows may be a thousand."""
TODAY_US: Final = 20 * 3_600_000_000
"""Greatest age shown by time of day. Older is shown by date: a time of day would be taken for today's."""
LOOK_S: Final = 1.0
"""Seconds between two looks at the node: bars move as one watches, and a Pi Zero has time left."""
LOOKS_PER_RECEIPT: Final = 5
"""Looks until it is asked again who has what: that changes with what is heard, in minutes."""
LOG_S: Final = 0.5
"""Seconds until the event log is read again where there was nothing new."""
TIMEOUT_S: Final = 5.0
"""Seconds until a daemon that says nothing counts as away."""
END_S: Final = 1.0
"""Seconds that both threads have to end while the screen is still there."""
PASTE_MAX: Final = 65_536
"""Characters taken at once from the clipboard: what one entry holds at most."""
