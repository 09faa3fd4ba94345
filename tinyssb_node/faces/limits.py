"""Limits of listening faces and of MQTT, each with its reason. Others are in ``tinyssb_node.limits``."""

from typing import Final

TOKEN_MIN: Final = 16
"""Fewest characters of a token: 64 bits if they are hexadecimal digits."""
TOKEN_MAX: Final = 256
"""Bytes of a file with a token that are read: a longer one is some other file."""
QUOTA_PACKET_SIZE: Final = 120
"""Bytes that count as a packet where packets a second are limited; a longer message counts as several."""
QUOTA_BURST_S: Final = 5.0
"""Burst of an address, in seconds of its rate: a WANT is answered by dozens of packets in a row."""
QUOTA_PLACES_MAX: Final = 256
"""Addresses whose rate is remembered: four times as many as connections."""

# --- MQTT (docs/formats/mqtt.md) -------------------------------------------------------------------------------------

MQTT_VERSION: Final = 1
"""Version of the topics and of the messages."""
MQTT_FEED_SIZE: Final = 8
"""Bytes of a feed id in a topic: two that begin alike are then not found by chance, and a topic stays short."""
MQTT_CLIENT_SIZE: Final = 8
"""Bytes that name a client, drawn by chance: 16 digits are an identifier that any broker takes (MQTT 3.1.1, 3.1.3)."""
MQTT_ROOT_MAX: Final = 64
"""Characters in front of all topics."""
MQTT_PASSWORD_MAX: Final = 1_024
"""Bytes of a password file: a token that a broker issues as a password has some hundreds."""
MQTT_MESSAGE_MAX: Final = 1_024
"""Most bytes of an MQTT message from a broker: a packet of 120, its topic of at most 130, and room for an extension."""
MQTT_QUEUE: Final = 4_096
"""Messages read ahead of the node, 2 MB in memory: at QoS 0 they come as fast as others send them."""
MQTT_RECEIVE_MAX: Final = 64
"""Messages at QoS 1 that a broker sends before we have taken the first. They are 16 kB, behind which an answer of its
comes in time over 2 kB/s; and with an answer in 50 ms we take as many in a second as we want."""
MQTT_READ_MAX: Final = 20_000
"""Messages read ahead if a broker does not heed that, 10 MB in memory: as many as docs/howto/mqtt.md lets it keep for
us. mosquitto 2.0.11, which is in Debian 12, sends them all at once (its issue 2301)."""
MQTT_TAKE_PER_S: Final = 1_000
"""Messages a second given to the node: backlogs are quick, and 2,500 a second, most of them dropped, were seen to
take a third of a core of a PC."""
MQTT_PUBLISH_PER_S: Final = 100
"""Entries and chunks a second that we publish when many wait: a broker has other clients; 12 kB/s of packets."""
MQTT_BATCH: Final = 16
"""Of them, how many may be under way: paho-mqtt has 20 by default, brokers allow at least 20."""
MQTT_BACKLOG_MAX: Final = 20_000
"""Entries and chunks that wait for the broker, 2.4 MB of packets; older ones are sent on request."""
MQTT_SESSION_S: Final = 604_800
"""Time for which the broker keeps our session while we are away: a week."""
MQTT_KEEPALIVE_S: Final = 30
"""Silence after which we ping the broker; after half as much more it is gone, and it publishes our will."""
MQTT_TIMEOUT_S: Final = 10.0
"""Longest wait for an answer of the broker."""
MQTT_GOODBYE_S: Final = 2.0
"""Likewise, when the node is stopping."""
MQTT_LOOK_S: Final = 5.0
"""Time between two saves of the backlog's position, and two comparisons of subscriptions with the set."""
MQTT_SUBSCRIBE_MAX: Final = 50
"""Topics in one request: brokers have bounds on its size, 50 topics are 4 kB."""
