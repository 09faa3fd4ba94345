"""Numbers of what people see in a terminal, each with its reason. What formats say is in ``tinyssb_node.limits``."""

from typing import Final

# --- Texts and names of strangers (safetext, people) ------------------------------------------------------------------

SAFETEXT_MARKS_MAX: Final = 4
"""Marks on one letter that are shown: Hebrew and Tibetan need three or four, piles of marks need a hundred."""
NAME_MAX: Final = 256
"""Characters of a name in which another one is looked for that reads alike."""
NAME_CELLS: Final = 20
"""Cells of a name in a line: a quarter of a narrow terminal."""
NAMES_TOLD_MAX: Final = 5
"""People named where several may be meant."""

# --- Messages in lines (chatlines, thread) ----------------------------------------------------------------------------

IDS_TOLD_MAX: Final = 3
"""Ids named in a line where a message follows, or waits for, many."""
CLOCKS_APART_US: Final = 3_600_000_000
"""An author's time is told where it is further than this from when the message came: an hour, the usual error of clocks
that were set by hand in another time zone or season."""
TEXT_CELLS_MIN: Final = 24
"""A text that would have less room beside name and time goes below them."""
MESSAGE_LINES_MAX: Final = 40
"""Lines of one message: nobody else's may be scrolled away by one; `tinyssb show` has all of it."""
NOTE_LINES_MAX: Final = 3
"""Lines of what stands behind a message: who has it, what it waits for."""
SPEC_SHOWN: Final = 60
"""Characters of a face's spec in `status`: one with files and fingerprints would leave no room for what is wrong."""
SCREEN_CELLS: Final = 80
"""Width of a terminal that does not say it."""
SCREEN_CELLS_MIN: Final = 20
"""Narrowest width: a narrower screen is treated as this wide, since a name does not fit otherwise."""
CHAT_LAST: Final = 30
"""Messages shown unless told otherwise: what fits on a screen, with some that wrap."""
CHAT_LAST_MAX: Final = 100_000
"""Most messages asked for at a time: they are in memory together."""
WAITING_SHOWN_MAX: Final = 10
"""Messages shown that wait for what they follow: the latest."""
CHAT_TICK_S: Final = 0.25
"""Seconds between two looks for news with `--follow`: a person does not see them, and each takes 2 ms."""
GROUP_TICK_S: Final = 1.0
"""Seconds between two questions for news of a group with `--follow`: it is the daemon that is asked."""
THREAD_LAST: Final = 40
"""Messages of a thread shown unless told otherwise: a screen and a half."""
THREAD_CONTEXT: Final = 1_000
"""Messages before those shown whose lanes are followed: what was answered later than that is told in words."""
LANES_MAX: Final = 12
"""Lanes of a drawn tangle: 23 cells, where a terminal has three times as many; busier ones say the rest in words."""
PROGRESS_FROM: Final = 5_000
"""Packets to read for the index from which on a person is told how far it is: they take a second or more."""
TEXT_GIVEN_MAX: Final = 65_000
"""Bytes of a text taken from standard input: what one entry holds, with the list around it."""
RECEIPTS_LAST: Final = 256
"""Own entries, the newest, of which the chat asks who has them: more than fit on any screen."""

# --- Files (attach, fetch) --------------------------------------------------------------------------------------------

FILE_NAME_CELLS: Final = 40
"""Cells of a file's name or type in a line: half of a narrow terminal."""
FETCH_LOOK_S: Final = 0.5
"""Seconds between two looks for new packets of a file: at SF7 two or three come meanwhile."""
FETCH_SILENT_S: Final = 30.0
"""Seconds without a packet after which a person is told so: on a busy channel others have their turn for as long."""
FETCH_BAR_CELLS: Final = 20
"""Cells of the bar: five percent each."""

# --- Boards -----------------------------------------------------------------------------------------------------------

TITLE_CELLS: Final = 30
"""Cells of a board's name in a listing: beside id, counts and time it stays on one line."""
CHANGE_CELLS: Final = 120
"""Cells of what was done, in a line of a history."""
LINE_CELLS: Final = 200
"""Cells of a line where other programs read: a title is never cut there, an attack is."""

# --- PZP --------------------------------------------------------------------------------------------------------------

PZP_NAME_MAX: Final = 60
"""Characters of a name that nothing has, in the sentence that says so."""
PZP_BATCH_SIZE: Final = 1_048_576
"""Bytes of a file that are taken in one transaction: 0.5 s, in which nobody else can write."""
PZP_WAITING_SIZE: Final = 16 * 2**20
"""Bytes of lines that wait for what comes later in the file; what is beyond is refused."""
PZP_PROGRESS_S: Final = 0.2
"""Seconds between two drawings of a progress bar."""
PZP_BAR_CELLS: Final = 30
"""Cells of the bar."""
PZP_SAID_CELLS: Final = 100
"""Cells of what a message says, in a listing."""
PZP_FEED_LAST: Final = 40
"""Messages of a feed shown unless told otherwise: a screen and a half."""
PZP_NONCE_SIZE: Final = 16
"""Random bytes of a nonce that nobody named: no two identities of a key are the same."""

LEFTOVER_S: Final = 86_400
"""Age from which on a file that was begun and not finished is nobody's any more: none takes a day to write."""

# --- Entries by hand (carry) ------------------------------------------------------------------------------------------

CARRY_FILES_MAX: Final = 10_000
"""Files read in a folder: a node leaves one when it has news, so this is one a day from thirty nodes for a year."""
CARRY_NODE_DIGITS: Final = 12
"""Digits of a node's feed id in the names of the files it leaves, as many as listings show."""
CARRY_PASSES_MAX: Final = 16
"""How often files are read for what they have behind what other files brought: once or twice is usual, as they are read
by name, and more only where somebody renamed them. The next time it goes on."""
CARRY_TOLD_MAX: Final = 20
"""Lines of a kind that a person is told of what files are wrong in: as many as fit on a screen."""
CARRY_PROGRESS_FROM: Final = 20
"""Files from which on a person is told how far it is."""
