"""Numbers of the terminal screen, each with its reason (docs/decisions/0029)."""

from typing import Final

MESSAGES_MAX: Final = 200
"""Messages of a conversation at hand: ten screens; further ones are read when one scrolls there."""
EVENTS_MAX: Final = 500
"""Latest lines of the event log at hand: a minute or so of a busy node."""
MESSAGE_LINES: Final = 12
"""Lines of one message in a conversation: half a screen of 24, so that nobody fills one alone."""
ID_DIGITS: Final = 8
"""Digits of an id shown where there is a name too: 32 bits tell any two apart that nobody made alike."""
PASTE_MAX: Final = 65_536
"""Characters taken at once from the clipboard: what one entry holds at most. A longer text is refused."""
COST_PAUSE_S: Final = 0.6
"""Seconds without typing before the cost of a message is requested, as on the web page."""
