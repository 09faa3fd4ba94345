"""Limits of remote commands, each with its reason."""

from typing import Final

from tinyssb_node.content.short_text import PAIR_BOX_EXTRA
from tinyssb_node.limits import CHUNK_CONTENT_SIZE

COMMAND_CONTENT_SIZE: Final = 127
"""Bytes of the content of each command: what fills two packets."""
COMMAND_MAX: Final = COMMAND_CONTENT_SIZE - PAIR_BOX_EXTRA
"""Most clear bytes of a command."""
ANSWER_CONTENT_MAX: Final = 226
"""Most bytes of the content of an answer: three packets. A status with five faces fits."""
ANSWER_MAX: Final = ANSWER_CONTENT_MAX - PAIR_BOX_EXTRA
"""Most clear bytes of an answer."""
assert (COMMAND_MAX, ANSWER_MAX) == (77, 176)
assert ANSWER_CONTENT_MAX - COMMAND_CONTENT_SIZE == CHUNK_CONTENT_SIZE - 1
WORDS_MAX: Final = 8
"""Most words of a command: it has at most three now."""
WORD_MAX: Final = 40
"""Most bytes of a word: names of faces are shorter."""
NAME_MAX: Final = 12
"""Most bytes of a face's name in a status."""
VERSION_MAX: Final = 16
"""Most bytes of the program's version in a status."""
VALID_MINUTES_USUAL: Final = 60
"""Minutes for which a command is valid if nothing else is said: a mesh with busy radios takes several."""
VALID_MINUTES_MAX: Final = 525_600
"""Most minutes: a year."""
CLOCK_SLACK_S: Final = 600
"""Clocks that differ less than this are not wrong: clocks that were set by hand."""
TOKENS_MAX: Final = 6
"""Commands of one administrator at once: a person who looks what is wrong gives a few in a row."""
TOKEN_S: Final = 300
"""Time in which one more is allowed: twelve an hour, whose answers are 36 packets."""
ADMINS_MAX: Final = 16
"""Most feeds that were ever allowed: one household, or the crew of a hut."""
DONE_MAX: Final = 64
"""Commands in the log of the node: five hours of as many as are allowed."""
FILE_MAX: Final = 1_048_576
"""Most bytes of the file: one with all of these has 40 kB."""
STRANGERS_MAX: Final = 256
"""Most entries by feeds that are not allowed that are tried at a time: each takes 0.01 ms, and the first of an
author 0.35 ms (measured on a PC)."""
LOOK_S: Final = 5.0
"""How often the process looks for commands: a packet takes as long on slow radios."""
ANSWERS_READ: Final = 1_000
"""Newest entries of each feed in which commands and answers are looked for."""
TRIAL_MINUTES: Final = 15
"""Minutes for which settings of a radio are tried: the administrator changes those of their own, and confirms."""
WAIT_S: Final = 60
"""How long `send` waits for an answer: across two or three hops of a quiet mesh it comes in that time."""
