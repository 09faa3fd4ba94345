"""Numbers of log shipping (docs/formats/log-shipping.md, decision 0051), each with its reason."""

from typing import Final

VERSION: Final = 1
"""Of the format."""
BATCH_BYTES: Final = 131_072
"""Bytes of log in a full batch: deflated 14 kB, which every broker takes, and large enough to deflate well."""
BATCH_WIRE_MAX: Final = 135_168
"""Bytes a batch has at most: zlib adds 5 in 16,384 and some to what cannot be deflated; and the header."""
PRINT_BYTES: Final = 128
"""Bytes at the beginning of a segment, and before a batch, that tell which file it is: each has a record's time."""
BEFORE_SIZE: Final = 8
"""Bytes of that fingerprint: an accident between two files of one name, not an enemy, is to be found."""
DIGEST_SIZE: Final = 16
"""Bytes of the digest over a batch."""
BOOT_MAX: Final = 10**8 - 1
"""A boot has 8 decimal digits (docs/formats/events.md)."""
FIRST_MAX: Final = 10**12 - 1
"""The offset of a segment's first record has 12."""
SEGMENT_BYTES_MAX: Final = 2**31
"""Bytes of a segment that can be shipped: config.toml lets one grow to half of that."""
ROWS_MAX: Final = 1_000
"""Rows in an answer: 21 kB, segments of six weeks."""
UNDER_WAY_MAX: Final = 64
"""Batches that the collector has not acknowledged. With ten nodes they fit into the 1,000 messages that mosquitto keeps
for a client that is away; and they are 8 MiB of log, days of a node on LoRa."""
UNDER_WAY_SMALL: Final = 8
"""From so many on only full batches are sent: while the collector is away, the places are not for crumbs."""
ASK_AGAIN_US: Final = 30_000_000
"""Wait for an acknowledgement before the collector is asked: longer than what a batch takes on a line of 4 kbit/s."""
ASK_AGAIN_MAX_US: Final = 21_600_000_000
"""Longest such wait, 6 hours: questions wait at the broker beside the batches, and a collector that comes says so."""
ASK_WAIT_US: Final = 5_000_000
"""Wait for the answer after connecting, before going on from what is known: a collector that is there needs less."""
FULL_WAIT_US: Final = 600_000_000
"""Wait after the collector said that it has no room: somebody has to make some."""
FORMER_MAX: Final = 8
"""Lives of collectors that are remembered, to tell two that answer in turns from one that was started anew."""
LIVES_AHEAD: Final = 3
"""A collector may be started so many times more than once in ``ASK_AGAIN_US`` before nodes pass its answers over for
a while: somebody tries settings, and each time is asked for all."""
ALONE_AFTER: Final = 16
"""So many answers of one collector with none of another between them, and there is but one: two answer in turns, and
one that was away for long gives some together."""
OVERHEAD_BYTES: Final = 120
"""What a batch costs on the line beside itself, for the bandwidth limit: MQTT's header with the topic, TCP, TLS."""

# --- The shipper's process

LOOK_S: Final = 1.0
"""Between two looks at the logs: the daemon writes them once a second."""
LOOK_AGAIN_US: Final = 60_000_000
"""How long a folder that has not changed is believed to have the same files: file systems keep times to 2 s (FAT)."""
SAVE_S: Final = 5.0
"""Between two times that the state is kept: what a kill takes of it is asked for."""
SESSION_S: Final = 30 * 86_400
"""How long the broker keeps what waits for us: as long as the node keeps its log."""
PUBLISH_S: Final = 150.0
"""Longest wait for the broker to take a batch: 130 kB at 9,600 bit/s."""
AGAIN_MAX_S: Final = 60.0
"""Longest wait before a broker that is away is tried again: some kB each hour where a byte costs."""
RECEIVE_MAX: Final = 50
"""Answers that the broker sends before we have taken the first."""
INCOMING_MAX: Final = 200
"""Answers that wait in memory if it sends more: a collector gives three for each batch under way at most, and what is
too much the broker has to send again."""
ANSWER_MAX: Final = 65_536
"""Bytes of a message that the broker is told to let through: answers have 21 kB at most."""
EVERY_S: Final = 10
"""How often what is no full batch is sent unless told otherwise: so late is what the analytics show."""
PORT: Final = 1_883
"""Registered with IANA for MQTT."""
