"""Numbers of what people see in a terminal, each with its reason. What formats say is in ``tinyssb_node.limits``."""

from typing import Final

# --- Texts and names of strangers (safetext, people) ------------------------------------------------------------------

SAFETEXT_MARKS_MAX: Final = 4
"""Marks on one letter that are shown: Hebrew and Tibetan need three or four, piles of marks need a hundred."""
NAME_CELLS: Final = 20
"""Cells of a name in a line: a quarter of a narrow terminal."""
NAMES_TOLD_MAX: Final = 5
"""People named where several may be meant."""

# --- Messages in lines (chatlines, thread) ----------------------------------------------------------------------------

WAITING_MAX: Final = 20
"""Messages of a conversation that are shown although they wait for others, the latest ones: a page has hardly more."""
THREAD_PATH_MAX: Final = 50
"""Messages above one in its thread, each answered by the next: some screens of a phone."""
THREAD_ANSWERS_MAX: Final = 100
"""Answers to a message that its thread shows, direct and indirect, and as many to the messages above it."""
THREAD_PAGE: Final = 1_000
"""Messages of a conversation that are looked through at a time for answers: 0.2 MB."""
THREAD_LOOKED_MAX: Final = 20_000
"""Messages that are looked through for answers to one, and as many for answers to those above it: 0.2 s on a desktop.
So a flood of messages does not keep a page busy that shows an old thread."""
READ_MARKS_MAX: Final = 1_024
"""Conversations with a read mark: four times as many as are listed."""
READ_FILE_MAX: Final = 131_072
"""Most bytes of read marks: 1,024 with names of 40 digits and numbers of 20 have 66 kB."""
UNREAD_MAX: Final = 10_000
"""Unread messages of a conversation are counted up to this: more is a number that nobody reads."""
HOOK_EVERY_S: Final = 10
"""Least seconds between two runs of the user's command for new messages: a backlog that arrives is one run."""
HOOK_LINES_MAX: Final = 100
"""Most messages that a run gets, 2 MB; of more the oldest are left out."""
HOOK_TIMEOUT_S: Final = 60
"""Seconds after which a run is ended."""
ARRIVED_APART_US: Final = 600_000_000
"""The time of arrival is shown where it differs by more than this from that of writing: ten minutes, which packets need
on a busy mesh, and by which clocks without a network differ."""
MESSAGE_LINES_MAX: Final = 40
"""Lines of one message: nobody else's may be scrolled away by one; `tinyssb show` has all of it."""
NOTE_LINES_MAX: Final = 3
"""Lines of what stands behind a message: who has it, what it waits for."""
SCREEN_CELLS_MIN: Final = 20
"""Narrowest width: a narrower screen is treated as this wide, since a name does not fit otherwise."""
CHAT_LAST: Final = 30
"""Messages shown unless told otherwise: what fits on a screen, with some that wrap."""
CHAT_LAST_MAX: Final = 100_000
"""Most messages asked for at a time: they are in memory together."""
LANES_MAX: Final = 12
"""Lanes of a drawn tangle: 23 cells, where a terminal has three times as many; busier ones say the rest in words."""
PROGRESS_FROM: Final = 5_000
"""Packets to read for the index from which on a person is told how far it is: they take a second or more."""

# --- Files (attach, fetch) --------------------------------------------------------------------------------------------

FILE_NAME_CELLS: Final = 40
"""Cells of a file's name or type in a line: half of a narrow terminal."""
FETCH_LOOK_S: Final = 0.5
"""Seconds between two looks for new packets of a file: at SF7 two or three come meanwhile."""
FETCH_SILENT_S: Final = 30.0
"""Seconds without a packet after which a person is told so: on a busy channel others have their turn for as long."""
FETCH_BAR_CELLS: Final = 20
"""Cells of the bar: five percent each."""

# --- Posts ---

POST_PACKETS_MAX: Final = 20
"""Packets of a post that is published without asking: 4 s of airtime at SF7, 92 s at SF12, where the law allows 36 s an
hour. A text of 2,000 letters has as many."""

# --- Boards -----------------------------------------------------------------------------------------------------------

TITLE_CELLS: Final = 30
"""Cells of a board's name in a listing: beside id, counts and time it stays on one line."""
CHANGE_CELLS: Final = 120
"""Cells of what was done, in a line of a history."""

# --- PZP --------------------------------------------------------------------------------------------------------------

PZP_NAME_MAX: Final = 60
"""Characters of a name that nothing has, in the sentence that says so."""
PZP_BATCH_SIZE: Final = 1_048_576
"""Bytes of a file that are taken in one transaction: 0.5 s, in which nobody else can write."""
PZP_WAITING_SIZE: Final = 16 * 2**20
"""Bytes of lines that wait for what comes later in the file; what is beyond is refused."""

LEFTOVER_S: Final = 86_400
"""Age from which on a file that was begun and not finished is nobody's any more: none takes a day to write."""

# --- Entries by hand (carry) ------------------------------------------------------------------------------------------

CARRY_TOLD_MAX: Final = 20
"""Lines of a kind that a person is told of what files are wrong in: as many as fit on a screen."""

# --- Charts of readings -----------------------------------------------------------------------------------------------

SERIES_MAX: Final = 24
"""Charts on a page."""
SERIES_EACH_MAX: Final = 6
"""Charts of one author."""
SERIES_POINTS_MAX: Final = 200
"""Values in a chart: as many as can be told apart on a phone."""

# --- Plugins ----------------------------------------------------------------------------------------------------------

PLUGIN_TEXT_MAX: Final = 2_000
"""Characters that a plugin may make of an entry: more than a screen."""
