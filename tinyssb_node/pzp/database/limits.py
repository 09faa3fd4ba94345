"""Every number of the PZP database, each with its reason."""

from typing import Final

BUSY_S: Final = 10.0
"""Longest wait for another process that writes the file: many of its batches."""
CACHE_KIB: Final = 16_384
"""Memory for pages of the file: ids come in no order, so that the index of a large file is touched everywhere."""
CHECKPOINT_PAGES: Final = 4_096
"""Pages of 4 KiB in the write-ahead log before they are moved into the file: 16 MiB, as in the store."""
NEW_FILE_MAX: Final = 65_536
"""Bytes of a file that may just have been made: more than the schema takes. Later its pages are in the log as well."""
TANGLE_MESSAGES_MAX: Final = 250_000
"""Messages of tangles that are in memory at a time: 150 MB at most. One tangle is there, however large."""
TANGLES_HELD_MAX: Final = 512
"""Tangles that are in memory at a time: more than feeds that change at once, few enough to look through."""
PLACES_MAX: Final = 64
"""Tangles in which a message is placed: what more it names is kept in it, and looked at by nobody."""
WAITING_MAX: Final = 4_096
"""Messages of a tangle that wait for what they follow there, having been taken for another one."""
RECORDS_PAGE: Final = 256
"""Records that a query yields unless it is told otherwise: 256 MB if all were as large as may be, 200 kB mostly."""
GHOST_SPAN: Final = 1_000
"""Depths for which a deleted message is remembered, so that nobody gives it to us again. PZP's programs choose theirs
by what a feed is for; a peer that lacks so many messages has more to fetch than those."""
GHOSTS_MAX: Final = 4_096
"""Deleted messages of a tangle that are remembered, the deepest ones."""
FEED_IDS_KEPT: Final = 1_024
"""Ids of feeds that are remembered, by owner and kind: each message of a feed asks for the same."""

# --- Messages that entries carry --------------------------------------------------------------------------------------

CARRIED_BATCH: Final = 1_024
"""Appends of the store that are looked through in one transaction: 0.2 s if each carries a message."""
CARRIED_BUSY_S: Final = 20.0
"""Longest wait for another process that looks through the store, twice as long as for the database it waits for."""
CARRIED_HEAD: Final = 8
"""Bytes of content in which a list that carries a message names what it is: a tag of up to 4 bytes, and the word."""
CARRIED_WAITING_MAX: Final = 16_384
"""Entries of one feed whose messages wait for others, 3 MB of rows; what is beyond is refused."""
LACKS_MAX: Final = 64
"""Messages or tangles of which one has to come, that are remembered of a message that waits."""

# --- The gateway -----------------------------------------------------------------------------------------------------

GATEWAY_PORT: Final = 8_788
"""The port that is named where examples of a gateway of PZP are: near the page's."""
GATEWAY_SYNC_EVERY_S: Final = 600.0
"""Time between syncs of all tangles on an open connection: two packets of 60 bytes each if nothing is new."""
GATEWAY_LISTENER_WAIT_S: Final = 5.0
"""Time the called side waits before it begins itself: by then the caller has mostly sent all."""
GATEWAY_QUEUE: Final = 4
"""Packets read ahead of the database per connection: 5 MB at most."""
GATEWAY_PEERS_MAX: Final = 16
"""Nodes that may call the gateway of PZP, and that it calls, at a time: 32 filters of each are 2 MB."""
GATEWAY_LOOK_S: Final = 1.0
"""Seconds between two looks of the gateway for what came by entries or from commands; each takes 1 ms."""
GATEWAY_COLLECT_S: Final = 60.0
"""Seconds between two looks of the gateway for whether there are more messages than its budget."""
GATEWAY_FULL_PERMILLE: Final = 900
"""Of the budget; with more than that the gateway takes no tangles that it has nothing of. Less than all, or what was
collected would be fetched again."""
