"""Numbers of log shipping (docs/formats/log-shipping.md, decision 0051), each with its reason."""

from typing import Final

VERSION: Final = 1
"""Version of the format."""
BATCH_BYTES: Final = 131_072
"""Bytes of log in a full batch: 14 kB deflated, which every broker accepts, and large enough to deflate well."""
BATCH_WIRE_MAX: Final = 135_168
"""Most bytes of a batch: zlib adds 5 in 16,384 and some to incompressible data; and the header."""
PRINT_BYTES: Final = 128
"""Bytes at the start of a segment, and before a batch, that identify the file: each has a record's time."""
BEFORE_SIZE: Final = 8
"""Bytes of that fingerprint, which detects two files of one name by accident, not by attack."""
DIGEST_SIZE: Final = 16
"""Bytes of the digest over a batch."""
BOOT_MAX: Final = 10**8 - 1
"""Largest boot: 8 decimal digits (docs/formats/events.md)."""
FIRST_MAX: Final = 10**12 - 1
"""Largest offset of a segment's first record: 12 digits."""
SEGMENT_BYTES_MAX: Final = 2**31
"""Bytes of a segment that can be shipped: config.toml lets one grow to half of that."""
ROWS_MAX: Final = 1_000
"""Most rows in a reply: 21 kB, segments of six weeks."""
UNDER_WAY_MAX: Final = 64
"""Most unacknowledged batches. Those of ten nodes fit into the 1,000 messages that mosquitto keeps for a client that is
away. They are 8 MiB of log, days of a node on LoRa."""
UNDER_WAY_SMALL: Final = 8
"""With this many unacknowledged, only full batches are sent, to save the places while the collector is away."""
ASK_AGAIN_US: Final = 30_000_000
"""Wait for an acknowledgement before the collector is asked: longer than a batch takes at 4 kbit/s."""
ASK_WAIT_US: Final = 5_000_000
"""Wait for the reply after connecting, before continuing from the saved state: a running collector needs less."""
FULL_WAIT_US: Final = 600_000_000
"""Wait after the collector reported a full disk: a person has to make room."""
OVERHEAD_BYTES: Final = 120
"""Overhead of a batch, for the bandwidth limit: MQTT's header with the topic, TCP, TLS."""

# --- The shipper's process

LOOK_AGAIN_US: Final = 60_000_000
"""How long an unchanged folder is trusted to have the same files: file systems keep times to 2 s (FAT)."""
