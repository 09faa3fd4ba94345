"""Numbers of the web page, each with its reason. What the daemon needs too is in ``tinyssb_node.limits``."""

from typing import Final

from tinyssb_node.content.limits import FILE_NAME_MAX, FILE_TYPE_MAX
from tinyssb_node.limits import COMPANION_END_S, GROUP_FILE_MAX, IMPORT_PACKETS_MAX, PACKET_SIZE

EACH_MAX: Final = 12
"""Connections from one address at a time, a quarter of all: browsers open six, and a phone may have two of them."""
WAITING_MAX: Final = 32
"""Connections that have sent no whole request: a browser holds six between requests, and opens them in milliseconds."""
REQUEST_S: Final = 30.0
"""Seconds that a request may take to come, counted from when the connection was there or the last answer gone: on a
link that loses 30 % of the packets with 2 s of round trip, 10 s cut off requests, and with them the page."""
LISTENERS_MAX: Final = 16
"""Pages that listen at a time; further ones are told so, and ask again."""
TARGET_MAX: Final = 512
"""Bytes of path and query: the longest that the page asks for has 120."""
BODY_MAX: Final = 45_056
"""Bytes of a request's body: a file of a group in base64, with its name and type, each character of six bytes as JSON
may write it."""
assert GROUP_FILE_MAX * 4 // 3 + (FILE_NAME_MAX + FILE_TYPE_MAX) * 6 + 1_024 < BODY_MAX
VOICE_S_MAX: Final = 30
"""Seconds of a recording: 5,250 bytes as it is sent, 54 packets and 11 s of air at SF7."""
VOICE_BODY_MAX: Final = VOICE_S_MAX * 16_000 * 4 // 3 + 1_024
"""Bytes of a request that has one, as the microphone gives it."""
VOICE_SIZE_MAX: Final = 16_384
"""Bytes of voice in a message that the page plays: 94 s of what phones record, 1.5 MB when played."""
CODEC_S: Final = 20.0
"""Seconds that a program may take to convert a recording: on a Pi Zero it is done in one."""
TEXT_MAX: Final = 4_000
"""Characters of a message: 41 packets and more, 8 s of air at SF7; who has more to say attaches a file."""
assert TEXT_MAX * 6 < BODY_MAX
WORDS_MAX: Final = 200
"""Characters of a search: some words."""
TITLE_MAX: Final = 200
"""Characters of the name of a board, a list or a card."""
BOARD_SHOWN_MAX: Final = 64
"""Lists of a board, cards of a list and people of a card that the page shows: some screens of a phone."""
ROWS: Final = 50
"""Messages that the page asks for at a time: some screens of a phone."""
NAME_MAX: Final = 128
"""Characters of a name in an answer, which has it in every row: the page shows 40 at most, and drops piles of marks
before that. What somebody calls itself may have a million."""
PRECISION_M_MAX: Final = 100_000
"""Metres of the grid on which a position is published: beyond it, it names a country."""
PATIENCE_S: Final = 3.0
"""Seconds that a page's question waits while a store is gone through for the first time, before it is told so."""
CHECK_S: Final = 10.0
"""Seconds for which a check of the node is shown to all pages: it reads the list of feeds, and asks the daemon."""
HISTORY_SLICE_S: Final = 0.25
"""Seconds that one question about the last week may read the event log: a page asks again each second, so a core has
three quarters of the time for all else."""
SIGN_S: Final = 5.0
"""Seconds between signs of life to a page without news; it takes three missing ones for a lost connection."""
CALL_S: Final = 10.0
"""Seconds that a page's question waits for the daemon: beyond it a person thinks it has failed, too."""
SHUTDOWN_S: Final = 2
"""Seconds that an answer under way has to end when the server stops."""
assert SHUTDOWN_S < COMPANION_END_S
REST_S: Final = 3_600.0
"""Seconds without a request or an open connection after which the page gives its memory back: all quotas that it counts
in memory are for an hour."""
ANSWERS_MAX: Final = 256
"""Answers that are kept for pages that lost theirs: the 50 messages that may wait on each of five phones."""
PHONES_MAX: Final = 64
"""Phones of guests: each may write a feed, which takes one of 255 places in everybody's set."""
PHONES_PER_HOUR: Final = 20
"""Phones that may come in an hour: more than a hut's door sees, fewer than fill the list in an evening."""
PHONE_AGE_S: Final = 180 * 86_400
"""Lifetime of a phone's cookie: a season on the hill, like that of the page."""
PHONE_PACKETS: Final = 120
"""Packets that the node takes of one phone in an hour: some sixty messages, 25 s of air at SF7."""
GUEST_PACKETS: Final = 480
"""Packets that it takes of all phones in an hour: 98 s of air at SF7, so that 64 phones do not fill the hour."""
SEALED_ROWS: Final = 32
"""Private messages in an answer to a guest's phone, which tries to open each."""
SEALED_SIZE_MAX: Final = 4_200
"""Bytes of one of them: TEXT_MAX letters of one byte, with all around them."""
AGAIN_MAX: Final = 16
"""Messages that a phone asks for again, since packets of them were missing."""
PUBLISH_PACKETS_MAX: Final = PHONE_PACKETS
"""Packets of one message of a phone: a picture may take all of its hour. TEXT_MAX letters of one byte take 42."""
assert PUBLISH_PACKETS_MAX * (PACKET_SIZE * 4 // 3 + 4) + 1_024 < BODY_MAX
assert PUBLISH_PACKETS_MAX <= IMPORT_PACKETS_MAX
