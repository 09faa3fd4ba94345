"""Numbers of the product that several places use, that cite a source, or that tests change.

"spec" is the tinySSB specification (draft). Where it is silent or contradicts deployed nodes, the decision records in
``docs/decisions/`` state the choice. Numbers without a source are ours; their text gives the reason.
"""

from typing import Final

# --- Packets (spec 3.1, 4.3) -------------------------------------------------------------------------------------

PACKET_SIZE: Final = 120
"""Bytes of an entry or a chunk, and the most any packet may have (spec 3.1)."""
PACKET_MIN_SIZE: Final = 8
"""Least bytes of a packet that can mean anything: a DMX and one more byte."""
DMX_SIZE: Final = 7
"""Bytes of the demultiplexing header (spec 4.2)."""
TYPE_SIZE: Final = 1
"""Bytes of an entry's type (spec 4.3.3)."""
CONTENT_SIZE: Final = 48
"""Bytes of an entry's content field (spec 4.3.1)."""
SIGNATURE_SIZE: Final = 64
"""Bytes of an ed25519 signature (RFC 8032 5.1.6)."""
FEED_ID_SIZE: Final = 32
"""Bytes of an ed25519 public key, which names a feed (spec 4.1)."""
BLOCKED_SIZE: Final = 12
"""Bytes that stand for a feed in a blocklist: nobody can forge an id that begins with 96 given bits, and three of these
fit into an entry."""
MESSAGE_ID_SIZE: Final = 20
"""Bytes of a message id, and of every other truncated SHA-256 in the format (spec 4.2.4)."""
SEQ_SIZE: Final = 4
"""Bytes of a sequence number where it is hashed, big-endian (spec 4.2.2)."""
SEQ_MAX: Final = 2**32 - 1
"""Largest sequence number that SEQ_SIZE bytes can hold."""

assert DMX_SIZE + TYPE_SIZE + CONTENT_SIZE + SIGNATURE_SIZE == PACKET_SIZE
CHILD_NOTE_SIZE: Final = CONTENT_SIZE - FEED_ID_SIZE
"""Bytes of the note beside a feed id in an entry of type 4 or 5 (docs/formats/children.md)."""
PARENT_ID_SIZE: Final = CONTENT_SIZE - FEED_ID_SIZE - SEQ_SIZE
"""Bytes of the parent's message id in a child's first entry: 12, the room left beside its feed id and number."""

CHUNK_CONTENT_SIZE: Final = 100
"""Bytes of content in one side-chain packet (spec, message type 1)."""
assert CHUNK_CONTENT_SIZE + MESSAGE_ID_SIZE == PACKET_SIZE

INLINE_SIZE: Final = {"spec": CONTENT_SIZE, "deployed": CONTENT_SIZE - MESSAGE_ID_SIZE}
"""Most bytes of (length varint + content) that need no side chain, by dialect (decision 0001)."""
HEAD_SIZE: Final = CONTENT_SIZE - MESSAGE_ID_SIZE
"""Bytes of (length varint + content) carried in the entry itself when there is a side chain."""
assert HEAD_SIZE == 28

CLAIM_SIZE: Final = DMX_SIZE + 1 + 3 * FEED_ID_SIZE + 1
"""Bytes of a CLAIM. The spec's drawing says 103; its own fields add up to 105, the size on the air."""
assert CLAIM_SIZE == 105
NOVELTY_SIZE: Final = DMX_SIZE + 1 + FEED_ID_SIZE
"""Bytes of a NOVELTY and of a ZAP."""
assert NOVELTY_SIZE == 40
PING_MAX_SIZE: Final = DMX_SIZE + 113
"""Most bytes of a ping or pong: ESP32 boards cut the text at 113."""
PONG_OWN_MAX_SIZE: Final = DMX_SIZE + 80
"""Most bytes of a pong of ours: boards read up to 113 characters into a place for 100, and must not be made to."""
BOARD_NAME_DIGITS: Final = 4
"""Hexadecimal digits that boards call themselves and us by."""
CRC_SIZE: Final = 4
"""Bytes of the CRC-32 (zlib, big-endian) behind a packet on UDP and LoRa."""

# --- Sets and vectors ----------------------------------------------------------------------------------------------

NAMES_MAX: Final = 100
"""Ids named one by one in answer to a claim: as many as deployed peers hold."""
INSISTING_MAX: Final = 8
"""Further claims that repeat an unanswered question: with others' still fewer than the 15 that a deployed pub keeps."""
SET_MAX: Final = 255
"""Most feed ids in a set: a CLAIM counts in one byte (spec 3.6.1)."""
KNOWN_FEEDS_MAX: Final = 32_768
"""Most feeds that a node knows, in its set and beyond it: three times what the largest gateway was measured with
(docs/reference/benchmarks.md), some 40 MB."""
EMPTY_FEEDS_MAX: Final = 512
"""Feeds beyond the set that peers named and that no entry came of: the oldest makes room. Each takes 2 kB."""
SOUGHT_FEEDS_MAX: Final = 256
"""Those of them that a peer wants and that are kept in the store, where a gateway looks for them."""
VECTOR_SIZE: Final = PACKET_SIZE - DMX_SIZE
"""Bytes of BIPF in a WANT or CHNK."""

# --- BIPF ----------------------------------------------------------------------------------------------------------

BIPF_DEPTH_MAX: Final = 32
"""Deepest nesting that is parsed. A packet of 48 bytes can nest 48 lists; no known content does."""
BIPF_INT_SIZE_MAX: Final = 8
"""Most bytes of an integer."""
BIPF_TAG_SIZE_MAX: Final = 5
"""Most bytes of a tag's varint: 35 bits, lengths to 2**32."""

# --- Content -------------------------------------------------------------------------------------------------------

CONTENT_PUBLISH_MAX: Final = 65_536
"""Most bytes of content we publish in one entry: 656 packets, about 2.2 minutes of air at SF7/125 kHz."""
CONTENT_FETCH_MAX: Final = 1_048_576
"""Most bytes of content whose side chain we request. An entry that declares more is stored without its side chain."""

TANGLE_PREVIOUS_MAX: Final = SET_MAX
"""Most predecessors in one tangle: an author who also follows their own last message leaves one tip per feed of the
set."""

# --- Node tables (each bounded; the sender bears the cost of an overflow) ---------------------------------------------

ORPHANS_MAX: Final = 512
"""Packets kept that nothing expects yet (arrived before their predecessor): 60 kB."""
RECENT_MAX: Final = 2_048
"""Packet hashes remembered per face, to detect duplicates and to suppress what was just on the air."""
JUST_GIVEN_MAX: Final = 1_088
"""Feeds, side chains, marks and so on in a table of a face, because they were just given or asked for. A flood of lies
fills all such tables: with 2,048 of each they took two megabytes more."""
COPIES_US: Final = 600_000_000
"""Time in which a second copy of an entry or chunk shows that somebody repeats what all have: ten minutes."""
QUEUE_MAX: Final = 1_024
"""Packets waiting per face; a further one is refused and counted."""
SIDE_CHAINS_MAX: Final = 1_024
"""Side chains expected at a time; further ones wait in the store until some are whole."""
FACES_MAX: Final = 256
"""Faces at a time; a further one is refused."""
INBOX_MAX: Final = 512
"""Received frames of a face that wait for the node; a face pauses at half of it, and beyond it frames are dropped."""

# --- Daemon and command line (ours) ----------------------------------------------------------------------------------

CONTROL_VERSION: Final = 1
"""Version of the control protocol (docs/formats/control.md)."""
CONTROL_REQUEST_MAX: Final = 262_144
"""Most bytes of a request line: the longest content in hexadecimal, twice."""
assert CONTROL_REQUEST_MAX >= 2 * 2 * CONTENT_PUBLISH_MAX
CONTROL_REPLY_MAX: Final = 4_194_304
"""Most bytes of a reply line: the longest content fetched, in hexadecimal, twice."""
assert CONTROL_REPLY_MAX >= 2 * 2 * CONTENT_FETCH_MAX
CONTROL_CLIENTS_MAX: Final = 32
"""Control connections at a time."""
CONTROL_KEPT: Final = 8
"""Of these, kept for the node's user and root: members of its group cannot lock them out."""
CONTROL_STALL_S: Final = 10.0
"""Seconds after which a client that reads nothing, or never asked anything, makes room where all places are taken."""
CONTROL_ID_MAX: Final = 64
"""Most characters of a request's id."""
CONTROL_PAGE: Final = 256
"""Rows read from the store before the event loop gets its turn."""
IMPORT_PACKETS_MAX: Final = 512
"""Most packets in one import request, which is one transaction and about 30 ms of signature checks."""
assert (2 * PACKET_SIZE + 3) * IMPORT_PACKETS_MAX < CONTROL_REQUEST_MAX
EXPORT_VERSION: Final = 1
"""Version of export files (docs/formats/export.md)."""
TURN_US: Final = 25_000
"""Longest time for which received frames go into one transaction: a commit takes 5 to 50 ms on an SD card, yet a user's
command waits for the turn and its commit, under a flood too, and has 100 ms on a PC."""
CLOCK_STEP_US: Final = 1_000_000
"""A wall clock that moved this much against the monotonic clock was set (docs/formats/events.md)."""
RETRY_US: Final = 30_000_000
"""Wait before a full disk, or a face that could not be opened, is tried again."""
TRIAL_DELAY_S: Final = 30
"""Wait before other settings of a radio are tried: the answer to the command that set them leaves with the old ones."""
TRIAL_MINUTES_MAX: Final = 1_440
"""Most minutes that settings of a radio are on trial: a node that was detuned by mistake is back within a day."""
DISK_ROOM_MIN: Final = 1_048_576
"""Free bytes below which a node whose disk was full waits, and `doctor` warns: room for a thousand entries and their
records in the event log."""
LOG_REPEAT_US: Final = 60_000_000
"""A log line about strangers' mistakes is written at most this often; the next one counts those between."""
LOG_LINES_MAX: Final = 256
"""Log lines that wait while nobody reads standard error, some 40 kB; further ones are dropped and counted."""
LOG_FLUSH_S: Final = 1.0
"""Longest time for which a program that ends waits until its log lines are written."""
NAME_MAX: Final = 32
"""Most characters of a node's name, so that tables stay tables."""
NODE_NAME_SIZE: Final = 8
"""Bytes of a node's own feed id that name it in event logs (docs/formats/events.md)."""
NETWORK_KEY_MAX: Final = 64
"""Most bytes of a network key; it precedes a name that is hashed at every packet."""
NETWORKS_MAX: Final = 8
"""Networks side by side: each looks at every packet, and may use a thousandth of the air while nothing happens."""
UNIX_PATH_MAX: Final = 107
"""Most bytes of a Unix socket's path (unix(7), sun_path less its zero byte)."""
CLIENT_TIMEOUT_S: Final = 30.0
"""Seconds a client waits for the daemon's next line; a stream that follows waits for ever."""

# --- Content header and fork proofs ----------------------------------------------------------------------------------

CONTENT_LENGTH_SIZE_MAX: Final = 5
"""Most bytes of the varint that declares a content's length (as for a BIPF tag)."""
assert CONTENT_PUBLISH_MAX <= CONTENT_FETCH_MAX < 2 ** (7 * CONTENT_LENGTH_SIZE_MAX)
PACKET_HASH_SIZE: Final = 8
"""Bytes of a packet's hash in the event log: enough to distinguish 2**32 packets, one mesh's traffic of many years."""
FORK_PROOF_SIZE: Final = 8 + 1 + 1 + FEED_ID_SIZE + SEQ_SIZE + MESSAGE_ID_SIZE + 2 * PACKET_SIZE
"""Bytes of a serialized fork proof (docs/formats/packets.md)."""
assert FORK_PROOF_SIZE == 306

# --- Store, identity and event log (docs/formats/) ------------------------------------------------------------------

SEED_SIZE: Final = 32
"""Bytes of an ed25519 seed (RFC 8032 5.1.5)."""
STORE_BUSY_S: Final = 5
"""Longest wait while another process has the store's file for itself, which is for moments only."""
EVENT_LINE_MAX: Final = 4_096
"""Most bytes of an event record, line feed included."""
EVENT_TEXT_MAX: Final = 200
"""Characters kept of a free text in an event record: three, escaped to six bytes each, leave room for the rest."""
EVENT_SEGMENT_BYTES: Final = 16 * 2**20
"""A segment that reached this many bytes is followed by a new one, unless configured otherwise."""
EVENT_SEGMENT_AGE_US: Final = 3_600 * 1_000_000
"""A segment of this age is followed by a new one, unless configured otherwise: an hour."""
EVENT_RETENTION_BYTES: Final = 2**30
"""Bytes of segments kept per node, unless configured otherwise."""
EVENT_RETENTION_AGE_US: Final = 30 * 86_400 * 1_000_000
"""Age of the oldest segment kept, unless configured otherwise: 30 days."""
EVENT_BACKLOG_BYTES: Final = 4 * 2**20
"""Records that wait in memory while the disk is full; further ones are dropped and counted."""
EVENT_CATCH_UP_BATCH: Final = 1_000
"""Appends read from the store at a time when the log lacks some."""

# --- Faces ----------------------------------------------------------------------------------------------------------

BACKOFF_MIN_S: Final = 1.0
"""First wait before a link is tried again; deployed phones wait 5 s."""
BACKOFF_MAX_S: Final = 30.0
"""Longest wait before a link is tried again: a person who plugs it back in should see it come up."""
LINK_SETTLED_S: Final = 10.0
"""Time a link must be up for its back-off to start again from the first wait."""
FACE_NAME_MAX: Final = 32
"""Most characters of a name given to a face: it stands in table columns."""
FACE_SPEC_MAX: Final = 512
"""Most characters of a spec string."""

UDP_GROUP: Final = "239.5.5.8"
"""Multicast group of deployed phones and boards."""
UDP_PORT: Final = 1558
"""Its port."""
UDP_TTL_DEFAULT: Final = 1
"""Hops a multicast datagram may take: 1 stays in the local network, as phones have it."""
UDP_READS_IN_A_ROW: Final = 32
"""Datagrams read before other tasks get a turn."""
UDP_COPY_WINDOW_S: Final = 0.4
"""The same datagram from the same peer within this time is its multicast and unicast copy: above the 0.3 s for which
Wi-Fi access points hold back multicast, below the 0.5 s at which the quickest advert repeats."""
UDP_CHECK_S: Final = 15.0
"""Time between two checks of the interface's address; when it changed, the group is joined again."""

WS_PEERS_MAX: Final = 64
"""Connections to one listening WebSocket face; a further one gets status 503."""
WS_HANDSHAKES_MAX: Final = 16
"""Connections to it beyond those that are still shaking hands; a further one is dropped."""
WS_MESSAGE_MAX: Final = 4_096
"""Bytes of a WebSocket message that are read to be counted as junk; a longer one ends the connection."""
WS_READ: Final = 16_384
"""Most bytes read at a time from a WebSocket connection: some hundred packets."""
WS_PING_S: Final = 20.0
"""Keepalive: a ping this often, and this long to answer it."""
WS_OPEN_S: Final = 10.0
"""Time for a WebSocket handshake."""
WS_WRITE_BUFFER: Final = 65_536
"""Bytes written ahead of a slow peer before sending waits."""

BLE_PHONE_GAP_US: Final = 20_000
"""Least time between notifications: Android reads a few per connection event, which come every 30 to 50 ms."""
BLE_BOARD_GAP_US: Final = 100_000
"""Least time between writes to a board, which keeps three packets and works one off per round of its loop; the pub's
Bluetooth client waits as long (simplepub, ble.py)."""
BLE_PHONE_QUIET_US: Final = 1_500_000
"""Silence of a phone that ends its answer: it sends a packet a second (the app's senderLoop)."""
BLE_BOARD_QUIET_US: Final = 700_000
"""Silence of a board that ends its answer: it sends a packet every 250 to 549 ms (sched.cpp)."""
BLE_BURST_MAX: Final = 32
"""Packets given in answer to one request over Bluetooth, at most: three seconds of a board's time."""
BLE_SCAN_S: Final = 5.0
"""Time for which a central scans for boards: they advertise every 20 to 40 ms, but share the channel with Wi-Fi."""
BLE_REST_S: Final = 15.0
"""Pause after a scan, which slows down the links that are up."""
BLE_PHONE_REST_S: Final = 900.0
"""Time for which a central leaves a phone alone: phones change their address after 15 minutes (Core 5.4, Vol 3, Part C,
Appendix A, TGAP(private_addr_int))."""
BLE_KNOWN_MAX: Final = 64
"""Addresses a central remembers; the one not met for longest makes room."""

SERIAL_READ_SIZE: Final = 4_096
"""Bytes read at a time from a serial port: the size of the kernel's buffer (Linux, N_TTY_BUF_SIZE)."""
GUEST_GAP_PACKETS: Final = 3
"""Silence after each packet on another operator's mesh, in packets' time: a quarter of the airtime at most."""

LORA_FRAME_READ: Final = 127
"""Bytes of a LoRa frame that deployed boards read (MAX_PKT_LEN of their io.cpp): the CRC of a longer one fails."""

ETHER_VERSION: Final = 1
"""Version of the protocol between ether faces and the ether (docs/formats/ether.md)."""
ETHER_PORT: Final = 7_777
"""Default TCP port of an ether."""
ETHER_TIME_SCALE_MAX: Final = 10_000.0
"""Most modelled seconds in a second: beyond it a packet is shorter than the resolution of the machine's scheduler."""
ETHER_LINE_MAX: Final = 16_384
"""Most bytes of a line to the ether: a cut that names ETHER_NODES_MAX nodes has 7 kB."""
ETHER_STATUS_MAX: Final = 2**20
"""Most bytes of a line from the ether: a status with ETHER_CUTS_MAX such cuts."""
ETHER_NODES_MAX: Final = 200
"""Most nodes on one ether."""
ETHER_CONTROLS_MAX: Final = 16
"""Most command connections to one ether at a time."""
ETHER_QUEUE: Final = 16
"""Packets a node may hand to the ether before the first is sent."""
ETHER_CUTS_MAX: Final = 100
"""Most cuts in force on one ether."""
ETHER_LINKS_MAX: Final = 20_000
"""Most explicit links on one ether: each of ETHER_NODES_MAX nodes with each other one, once."""
ETHER_WRITE_BUFFER: Final = 65_536
"""Bytes waiting for a node that reads too slowly; beyond it the node misses frames, as it would on air."""
PATH_LOSS_REFERENCE_M: Final = 40.0
"""Distance at which the path loss of the modelled channel was measured (Bor et al., "Do LoRa low-power wide-area
networks scale?", 2016)."""
PATH_LOSS_REFERENCE_DB: Final = 127.41
"""Path loss measured there."""
PATH_LOSS_EXPONENT: Final = 2.08
"""Exponent by which it grows with distance; same source."""
ETHER_HELLO_S: Final = 5.0
"""Time for a new connection's HELLO, and for the ether's answer."""
REFUSED_EVERY_US: Final = 60_000_000
"""Least time between two records of things turned away by the same rule on the same face."""
JUNK_BURST: Final = 100
"""Records of invalid or unknown packets that a face may cause at once."""
JUNK_PER_S: Final = 5
"""Records of invalid or unknown packets that a face may cause for long: 430,000 a day, 100 MB at most."""
SENT_BURST: Final = 1_000
"""Packets sent at once that have a record each, where airtime costs nothing: a peer that catches up is recorded in
full."""
SENT_PER_S: Final = 5
"""The same for long: 430,000 records a day, 100 MB at most."""
HEARD_BURST: Final = 1_000
"""Records that packets of peers cause at once, on all wires together, and on all radios: those that bring a new entry
or chunk are not counted."""
HEARD_WIRE_PER_S: Final = 5
"""The same for long on wires: at most 600 bytes each, 11 MB an hour."""
HEARD_AIR_PER_S: Final = 10
"""The same on radios, where they show which nodes hear each other: what a full channel brings at SF7, 22 MB an hour."""
INCIDENT_BURST: Final = 1_000
"""Records of faces that come up, refusals and suppressed replies at once: peers may connect and leave without end."""
INCIDENT_PER_S: Final = 1
"""The same for long."""
SUMMARY_KEYS: Final = 1_024
"""Counts of records that were left out, by face, kind and the like; further ones are counted without their face."""
SUMMARY_ROWS: Final = 100
"""Records a minute that state such counts."""
EVENT_STRANGERS_WIRE_BYTES: Final = 24 * 2**20
"""Most bytes an hour by which the event log grows from what peers on wires cause without a new entry, beyond the
bursts: the limits above, with the longest records. So 1 GiB reaches back 42 hours at least; measured: 4 to 8 MB."""
EVENT_STRANGERS_AIR_BYTES: Final = 40 * 2**20
"""The same for radios, where what we send, at most a full channel, has a record each."""
SHARED_CHUNKS_MAX: Final = 64
"""Chunks copied from another side chain for one received packet: 120 bytes that point to a long side chain must not
cost us a megabyte."""
GIVEN_RANGES_MAX: Final = 4
"""Ranges of a feed remembered as just sent on a face: for two peers that request from different positions, and for
entries pushed meanwhile."""
CONTENTION_PACKETS: Final = (4.0, 1.6, 4.0)
"""On the air: packets' time over which senders spread at random, by urgency (reply, relay, request). Of ten senders the
first waits 0.4 packets; two of them collide in 2 % of cases (decision 0057, like the next)."""
AFTER_DATA_PACKETS: Final = (0.0, 1.5, 6.0)
"""Packets' time after data, by urgency, before its share of the contention begins: requests wait for most replies."""
AFTER_TURN_PACKETS: Final = (0.0, 1.5, 1.5)
"""The same after data of a node that was asked by name: no other replies. One lost packet does not end its turn."""
AFTER_VECTOR_PACKETS: Final = (0.0, 1.5, 3.0)
"""The same after a CLAIM, WANT or CHNK, or out of silence."""
BUSY_PACKETS: Final = 2
"""Packets' time added where the channel was busy. The packet may be one in a row, and of ten stations that try again
within it one would hit a gap of the row in 30 % of cases."""
UNASKED_WINDOW: Final = 0.5
"""Factor on the window of a packet out of silence that nobody asked for, as a new entry of ours: 0.2 s on average at
SF7. Programs may publish on several nodes at the same time."""
HIDDEN_SPREAD: Final = (2.0, 0.0, 2.0)
"""Part of all these times, by urgency, that is added where many stations do not hear each other and much is sent. 3 for
requests would save 2 % of the airtime and take a sixth more time (decision 0066)."""
HIDDEN_SHARES: Final = (0.2, 0.4)
"""Shares of the packets for other nodes that are for nodes out of reach: below the first, all are taken to hear each
other (lost packets make a share of 0.1), and from the second on few. In a field of five hops it is 0.6."""
HIDDEN_NAMED: Final = 2
"""Packets for other stations by neighbours that proved themselves, from which on all others, which anybody can make up,
count little."""
HIDDEN_UNPROVED: Final = 0.3
"""Share that these can add then."""
LOAD_PACKETS: Final = 16.0
"""Packets that were heard of late, from which on these parts are added in full. On a channel where little is sent a
request need not wait: over twelve hops with losses an entry takes a quarter of the time (decision 0061)."""
LOAD_LEAK: Final = 0.1
"""Packets by which that number falls in a packet's time: 10 % of the channel's time do not count as a load."""
LOAD_ADVERT: Final = 0.4
"""Load of a short packet, in packets of 120 bytes: the airtime of most WANTs and SKETCHes."""
BATCH_PACKETS: Final = 10
"""Packets in a row for the node that won the channel: contention for each would double the time."""
BATCH_HIDDEN_PACKETS: Final = 4
"""The same where many stations do not hear each other, or nothing is known yet: collisions of longer batches cost
more."""
BATCH_GAP_US: Final = 2_000
"""Gap within a batch: the turnaround of a modem (field measurements: 1 ms over SPI), less than others wait at least."""
ASK_AGAIN_MAX: Final = 3
"""Most requests for ids of which nothing but their existence is known."""
TRICKLE_DRIFT: Final = 4
"""The longest intervals of timers differ by up to this part of them."""
ALONE_ADVERTS: Final = 2
"""Longest intervals between adverts without a packet, after which no node was in reach: a neighbour sends one at the
latest after one and a half, TRICKLE_DRIFT included after not quite two. 107 s at SF7 (decision 0061)."""
YIELDS_MAX: Final = 2
"""Requests in a row that are left to other nodes: they may be out of reach of the nodes that could reply, or we out of
theirs."""
CLAIM_YIELDS_MAX: Final = 6
"""Adverts of the set in a row that are left to WANTs of the same set, which show nothing to a node with another one.
Fewer cost time where all is well (decision 0078)."""
CARRY_MAX: Final = 4
"""Most entries that wait to be relayed."""
CARRY_MEMORY_US: Final = 600_000_000
"""Time for which a copy of a packet that we relayed counts as its echo."""
CARRY_DOUBT: Final = 0.7
"""Factor on the likelihood of relaying each time no echo came."""
CARRY_LEAST: Final = 0.1
"""Likelihood that never goes away: meshes change."""
ANSWERS_PACKETS: Final = 64
"""Packets' time after a request that can be replied to, or a reply, in which new entries count as replies, not as just
published: 13 s at SF7, in which nodes with a backlog request again."""
PUSH_CHUNKS_MAX: Final = 16
"""Packets of a side chain sent unasked behind a new entry of ours; the rest is asked for."""

# --- Addressed requests on the air (docs/decisions/0019) --------------------------------------------------------------

SPEAKER_SIZE: Final = 2
"""Bytes of the name that a station has on the air until it is switched off: two of 50 neighbours share one 2 % of the
time, and then both answer."""
WANT_VECTOR_SIZE: Final = VECTOR_SIZE - 2 * SPEAKER_SIZE
"""Bytes of a WANT's list: the names of its sender and of the node it addresses follow."""
WANT_FEEDS: Final = 16
"""Feeds that fit a WANT whatever their numbers: one that names fewer of a larger set requests less than ours would."""
LACKING_MAX: Final = 15
"""Most rows of a generation that a WANT can say it lacks: half a byte for each feed."""
CODED_TAG_SIZE: Final = 4
"""Bytes by which a coded packet names its feed: 32,768 feeds take one packet in 130,000 for a coded one by mistake."""
CODED_BODY_SIZE: Final = PACKET_SIZE - DMX_SIZE
"""Bytes of an entry that are coded: all but its DMX, which follows from its place."""
GENERATIONS_MAX: Final = 256
"""Generations of which coded entries are kept, 2 kB each: those of a set while all its feeds are repaired. The one
without progress for longest makes room."""
CODED_CHUNK_SIZE: Final = CODED_TAG_SIZE + 4 + CHUNK_CONTENT_SIZE
"""Bytes of a coded chunk: the pointer follows from the next chunk."""
CHUNK_BLOCKS_MAX: Final = 256
"""Chunk blocks of which coded chunks are kept, 2 kB each: those of 1,000 entries with four chunks. The one without
progress for longest makes room: rows of blocks that do not exist, which a stranger may send, cost only what is gained
by coding."""
CHUNK_LAYOUTS_MAX: Final = 256
"""Blocks of entries of which the layout of chunk blocks is remembered, 1 kB each; others are read again."""
CHUNK_ROWS_MAX: Final = 512
"""Chunk blocks of which the last row heard or sent on a face is remembered. Of others a request gets rows that its
sender may have, by chance."""
CODED_DISTRUST_US: Final = 600_000_000
"""Time for which a station asks for plain entries after a coded one was a lie: 10 minutes."""
NEIGHBOURS_MAX: Final = 32
"""Stations remembered in reach of a face; the one silent for longest makes room."""
MARKS_MAX: Final = 64
"""Entries of a feed, beyond the next one it lacks, that a neighbour is believed to have heard."""
FLOOR_PACKETS: Final = 8
"""Packets in a row for an addressed node, while others in reach of either stay silent: 1.6 s at SF7."""
REQUEST_PACKETS: Final = 16
"""Packets' time for which a request to all nodes is served: later its sender has sent, or received, something else."""
SHARED_REQUEST_PACKETS: Final = 32
"""The same while others are heard that reply, so that many can give what only they have; and half of that after the
last one. Longer, and what a node did not hear of it would be given twice."""
KNOWN_PACKETS: Final = 600
"""Packets' time for which a neighbour's WANT counts: two minutes at SF7, half an hour at SF11."""
MARK_PACKETS: Final = 3_000
"""Packets' time for which a neighbour is believed to have received what was sent in reach of us."""
VOID_TURN_PACKETS: Final = 2
"""Packets' time in which a node in reach that is asked by name is heard, even if its first packet is lost."""
VOID_TURNS_MAX: Final = 4
"""Turns in a row that are left to a name from which nothing is heard then; after them nobody waits for it, until it is
heard after a request that names it. Lost packets, and nodes without airtime, cause one or two."""
ASK_FULL: Final = 16
"""Entries for us at one neighbour that make a request as urgent as possible. With fewer of them it waits longer,
because replies to other nodes may bring them too."""
ASK_PATIENCE_MAX: Final = 2.0
"""Most such factors that a request waits longer."""
ASK_PATIENCE_PACKETS: Final = 2.0
"""Packets' time that each such measure adds before the contention begins."""
CALM_PATIENCE: Final = 4.0
"""Such factors that an advert of the set waits while all neighbours have the same: as long as before decision 0057."""
DELIVERY_PACKETS: Final = 3.5
"""Packets' time after a request in which the addressed node is heard, even if its first two packets are lost. Others
leave it the turn for VOID_TURN_PACKETS, so what comes in this time came from it, as a rule."""
VAIN_ASKS: Final = 2
"""Requests in vain, to names that never gave anything, after which such names are believed little. Lost packets cause
one or two (decision 0064, like the next)."""
VAIN_ASKS_MAX: Final = 6
"""Most that are counted."""
TRIAL_EVERY_MAX: Final = 8
"""Requests of which one at least may go to a name that never gave anything: new neighbours are found out so."""
DOUBT_PACKETS: Final = 48
"""Packets' time for one request because of claims that are believed little."""
REPEAT_PACKETS: Final = 8
"""Packets' time before more of a generation is given than honest loss explains; twice as long for each further one."""
REPEAT_MAX_US: Final = 900_000_000
"""Longest such time: 15 minutes."""
NEWS_US: Final = 600_000_000
"""Time for which published entries count as new: ten minutes, in which all neighbours in reach request what they lost.
Replies with those of our own are paid from the airtime for them, if that of replies is used up."""
NEWS_MAX: Final = 64
"""Most feeds whose new entries are remembered for that."""
GIVE_FULL: Final = 8
"""Neighbours served by an answer that goes as soon as may be, or all that are known, if they are fewer; one that serves
fewer leaves others the advantage."""
GIVE_PATIENCE_MAX: Final = 8.0
"""Most such factors that a reply waits longer."""
THRIFT: Final = 3.0
"""Further factor for a node that has used up its airtime: others may have some left."""

# --- Air (docs/decisions/0008) --------------------------------------------------------------------------------------

LEDGER_RECORDS_MAX: Final = 4_096
"""Transmissions with a record each in one window. Full packets at SF7 and 125 kHz in the widest allowance, 10 % of an
hour, are 1,755. Beyond the limit adjacent ones are merged, so that airtime is freed a few seconds late."""
AIR_ADVERT_PERMILLE: Final = 500
"""Share of an allowance that advertisements and requests may use: the other half stays for new entries."""
AIR_CONTENT_PERMILLE: Final = 900
"""Share that entries and chunks may use: a node that gives to others for an hour can still ask and be asked."""
AIR_REPLY_PERMILLE: Final = 750
"""Share up to which replies may fill what is given, relayed entries included: whatever strangers request, and however
much was relayed before, room is left for new entries (decision 0064, like the next three)."""
AIR_GIVEN_PERMILLE: Final = 800
"""Share that replies and relayed entries together may use: of what content may use, the rest is for entries of ours."""
AIR_ASKED_PERMILLE: Final = 850
"""Share up to which replies and adverts may fill what is for others, relayed entries included."""
AIR_OTHERS_PERMILLE: Final = 900
"""Share of these and of relayed entries together: the rest is for new entries of our own."""
assert AIR_REPLY_PERMILLE < AIR_GIVEN_PERMILLE < AIR_CONTENT_PERMILLE
assert AIR_ASKED_PERMILLE < AIR_OTHERS_PERMILLE <= AIR_CONTENT_PERMILLE
NAMED_FIRST: Final = 10
"""Feeds that somebody follows, at the beginning of a named request on the air: half of what it has room for. Of these,
half are for neighbours' needs."""
NAMED_TRUSTED: Final = 4
"""Feeds at the beginning of such a request that its sender is taken to follow: a node that follows few goes on with
others."""
NAMED_KEPT_MAX: Final = 256
"""Feeds that requests on one face named first, and that are remembered."""
SPARE_AIR_SHARE: Final = 0.5
"""Share of the airtime for entries below which the air counts as idle: histories of groups are requested then."""
NAMED_RESERVE_FROM: Final = 0.4
"""Part of the airtime for replies and adverts after which only feeds that are named, or beyond the set, are given: the
first things that a member of a group needs lead to the next ones, and hundreds of other feeds must not use up the hour
before."""
NAMED_RESERVE_US: Final = 600_000_000
"""How long after the last such request this airtime is kept: the next request follows within a minute or two."""
AIR_CLOCK_KEEP_US: Final = 60_000_000
"""Time between two writes of the ledger's clock while nothing is sent: the waiting time that a power cut may cost."""

# --- Repair of sets by sketches (docs/formats/packets.md, decision 0009) ----------------------------------------------

SALT_SIZE: Final = 4
"""Bytes of a salt: with a new one for each sketch nobody can prepare feed ids with equal short ids."""
SHORT_ID_SIZE: Final = 4
"""Bytes of a short id: among 255 ids two look alike under one salt of 130,000."""
SKETCH_CAPACITY: Final = 26
"""Most differences that can be computed from a sketch in one packet, both sides counted."""
SET_CHECKSUM_SIZE: Final = 3
"""Bytes of the checksum of a set in a SKETCH: a wrong reading passes once in 16 million, until the next salt."""
SKETCH_MIN_SIZE: Final = DMX_SIZE + 1 + SALT_SIZE + 1 + SET_CHECKSUM_SIZE
"""Bytes of a SKETCH of capacity 0, which only shows whether two sets are the same."""
assert SKETCH_MIN_SIZE + SKETCH_CAPACITY * SHORT_ID_SIZE == PACKET_SIZE
ASK_MIN_SIZE: Final = DMX_SIZE + 1 + SALT_SIZE + SHORT_ID_SIZE
"""Bytes of an ASK for one feed id."""
ASK_MAX: Final = (PACKET_SIZE - DMX_SIZE - 1 - SALT_SIZE) // SHORT_ID_SIZE
"""Most short ids in an ASK."""
assert ASK_MAX >= SKETCH_CAPACITY
FEEDS_MAX: Final = (PACKET_SIZE - DMX_SIZE - 1) // FEED_ID_SIZE
"""Most feed ids in a FEEDS or MORE packet."""
DIFF_HEAD_SIZE: Final = DMX_SIZE + 1 + SALT_SIZE + 6
"""Bytes of a DIFF before its sums: kind, salt, depth, prefix, count."""
DIFF_SUMS_MAX: Final = (PACKET_SIZE - DIFF_HEAD_SIZE) // SHORT_ID_SIZE
"""Most sums in a DIFF. The last one checks the result, so one difference less can be computed."""
NAMED_HEAD_SIZE: Final = DMX_SIZE + 1 + SALT_SIZE + 1
"""Bytes of a named WANT or CHNK before its items: kind, salt, number of items."""
ANCHOR_SIZE: Final = DMX_SIZE + 1 + SALT_SIZE + SHORT_ID_SIZE + SEQ_SIZE + MESSAGE_ID_SIZE
"""Bytes of an ANCHOR."""
assert ANCHOR_SIZE == 40
NEWEST_MAX: Final = 32
"""Most entries that one request for the newest brings: 7 s at SF7."""
NEWEST_KEPT_MAX: Final = 64
"""Entries of a feed that are stored before its history: those of two requests."""
NEWEST_CHUNKS_MAX: Final = 64
"""Packets of the longest side chain that is fetched for such an entry: 6,400 bytes, more than any message of people."""
NEWEST_ANCHORS_MAX: Final = 4
"""Anchors of a feed that wait for their entry: of several liars and one honest node, one is honest."""
SALTS_MAX: Final = 4
"""Salts under which a node's own sketch is kept: the one it sent, and those of answers under way; 30 kB each."""

# --- The web page's process (docs/decisions/0030) ---------------------------------------------------------------------

WEB_PORT: Final = 8_780
"""Default port of the page: near the sink's, which is 8765."""
COMPANION_END_S: Final = 5.0
"""Seconds after which the daemon kills a process beside it that does not end: less than systemd gives the daemon."""
COMPANION_TOLD_MAX: Final = 4_096
"""Most bytes of such a process's reason for ending: a pipe takes so many at once without a reader (pipe(7))."""

# --- Private groups: members and epochs (docs/reference/groups.md, decision 0033) -------------------------------------

GROUP_ID_SIZE: Final = 32
"""Bytes of a group's id: a cloaked message id (envelope-spec)."""
EPOCH_KEY_SIZE: Final = 32
"""Bytes of an epoch's key (exclusion document, 4.1.1)."""
GROUP_ADD_MAX: Final = 15
"""Most people that one message adds: of an envelope's 16 slots the first is the group's (private-group-spec)."""
GROUP_NAMED_MAX: Final = SET_MAX
"""Most people that one message excludes, and most keys of epochs before that one message hands on."""
GROUP_TEXT_MAX: Final = 1_024
"""Most bytes of the text that goes with an addition: a greeting."""
GROUP_KIND_MAX: Final = 64
"""Most bytes of the word that names the kind of a message to a group."""
GROUP_FILE_MAX: Final = 32_000
"""Most bytes of a file in a message to a group: its name, its type, what it follows and a second encryption fit beside
them (PLAIN_MAX). 322 packets, 66 s of air at SF7."""
ERASE_DAYS_MAX: Final = 365
"""Longest time, in days, after which the texts of a group are erased: longer ones are history
(docs/formats/group-secrecy.md)."""
