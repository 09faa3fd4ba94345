"""Limits of content, each with its source. Those that the node shares are in ``tinyssb_node.limits``."""

from typing import Final

from tinyssb_node.limits import CHUNK_CONTENT_SIZE, HEAD_SIZE, SEQ_MAX, SET_MAX, TANGLE_PREVIOUS_MAX

# --- Tangles (docs/formats/tangles.md) -------------------------------------------------------------------------------

TANGLES_MAX: Final = 8
"""Most tangles of one message: a group's epoch begins in three at once, and no other message is in more."""
TANGLE_WAITING_MAX: Final = 16_384
"""Most messages of one tangle that wait in memory for predecessors: some 8 MB."""

# --- Messages of the phone app (docs/formats/messages.md) ------------------------------------------------------------

TIPS_WRITTEN_MAX: Final = 8
"""Predecessors that we name as the app does, in 30 bytes each; more tips than that are merged by a few messages."""
assert TIPS_WRITTEN_MAX <= TANGLE_PREVIOUS_MAX
SAID_S_MAX: Final = 253_402_300_799
"""Last second of the year 9999: later clocks are meaningless, and Python's dates end there."""
CLAIM_MIN_US: Final = 1_577_836_800_000_000
"""Start of 2020, before tinySSB: a clock that shows less was never set. It starts at 1970 on computers without one."""
CLAIM_TOLERANCE_US: Final = 3_600_000_000
"""Clocks that differ less than this are not wrong: an hour, for summer time, and clocks that were set by hand."""
CIRCLE_MAX: Final = 7
"""Most people who can read a private message, its author among them: the app tries no more (SSBid.kt)."""
SEAL_NONCE_SIZE: Final = 24
"""Bytes of a secretbox's nonce (NaCl)."""
SEAL_KEY_SIZE: Final = 32
"""Bytes of a curve25519 or data key."""
SEAL_TAG_SIZE: Final = 16
"""Bytes that a secretbox adds to what it seals."""
SEAL_SLOT_SIZE: Final = 1 + SEAL_KEY_SIZE + SEAL_TAG_SIZE
"""Bytes of a private message for each reader: how many there are and the data key, sealed."""
SEAL_HEAD_SIZE: Final = SEAL_NONCE_SIZE + SEAL_KEY_SIZE
"""Bytes before the first reader's slot."""
SEAL_ENTROPY_SIZE: Final = SEAL_NONCE_SIZE + 2 * SEAL_KEY_SIZE
"""Random bytes for one sealing: nonce, ephemeral key, data key."""
PAIR_PADDING_SIZE: Final = CHUNK_CONTENT_SIZE
"""Random bytes for a private text for one person: as many as its last packet may have behind it."""
PETNAME_MAX: Final = 64
"""Characters of a petname: some words, of which screens show the first 32 to 40."""
BOARD_PEOPLE_MAX: Final = SET_MAX
"""Most people on a card, or invited to a board: as many as a set has feeds."""

# --- Files (docs/formats/files.md) -----------------------------------------------------------------------------------

FILE_NAME_MAX: Final = 64
"""Most bytes of a file's name: with its type it fits into the entry and the first chunk, so both are known early."""
FILE_TYPE_MAX: Final = 40
"""Most bytes of a file's type: `application/vnd.oasis.opendocument.text` has 39."""
assert 3 + 4 + 2 + FILE_NAME_MAX + 2 + FILE_TYPE_MAX + 3 <= HEAD_SIZE - 3 + CHUNK_CONTENT_SIZE

# --- Acknowledgements, and who has it (docs/formats/acknowledgements.md, decision 0026) ------------------------------

ACK_ID_SIZE: Final = 4
"""Bytes of a message id in an acknowledgement: two entries of one number share them once in 4 * 10**9."""
ACK_SEQ_SIZE_MAX: Final = 5
"""Most bytes of a sequence number in one: as many as SEQ_MAX has."""
assert SEQ_MAX.bit_length() <= 7 * ACK_SEQ_SIZE_MAX
ACK_EVERY_US: Final = 1_800_000_000
"""Least time between two acknowledgements: entries are permanent, and every newcomer has to fetch all of them."""
ACK_SPREAD_US: Final = 600_000_000
"""Within this time, or one derived from airtime, all nodes acknowledge what came after a silence: soon, and not all at
once."""
ACK_AIR_PERMILLE: Final = 100
"""Share of the legal airtime that all acknowledgements of a mesh may take, if each is sent once by everybody."""
CONFIRMING_SIZES: Final = range(26, 40)
"""Bytes of a message of the phone app that confirms another one: 28 with an id as bytes, 36 with one in base64, with a
margin."""
RECEIPTS_SIGNED_MAX: Final = 1_024
"""Receipts stored of signed acknowledgements of our feed; the latest of each author is stored in any case."""
assert RECEIPTS_SIGNED_MAX > 2 * SET_MAX
RECEIPTS_HEARD_MAX: Final = 512
"""The same of nodes that were only heard. Names on the air are easy to forge, so the oldest are evicted."""
RECEIPT_ACTIVE_US: Final = 30 * 86_400_000_000
"""Authors of an entry within this time before one of ours are expected to store ours: a month."""

# --- Lists of blocks (docs/formats/blocklist.md) ----------------------------------------------------------------------

BLOCKLIST_MAX: Final = 1_024
"""Most feeds of one blocklist: as many as the user may block."""
BLOCKLISTS_MAX: Final = 16
"""Most blocklists that the user follows: 16,384 feeds at worst, 2 MB in memory."""

# --- Telemetry (docs/formats/telemetry.md) ----------------------------------------------------------------------------

VALID_MINUTES_USUAL: Final = 1_440
"""Minutes for which a record is valid that does not say: a day."""
VALID_MINUTES_MAX: Final = 527_040
"""Most minutes that one may state: 366 days."""
RADIUS_M_MAX: Final = 20_040_000
"""Largest radius around a position: half the circumference of the Earth."""
TELEMETRY_TEXT_MAX: Final = 40
"""Most bytes of a text in a record: what fits into a packet with its time."""

# --- Contacts (docs/formats/contacts.md) ------------------------------------------------------------------------------

CONTACTS_MAX: Final = 1_024
"""Most people with a name or a block: a set has 255, and there are a few networks."""
CONTACTS_FILE_MAX: Final = 1_048_576
"""Most bytes of the file of contacts: CONTACTS_MAX with names of 64 characters have 500 kB at worst."""
