"""Every number of the serial bridges, with its source."""

from typing import Final

BAUD: Final = 115_200
"""Bits a second of all four kinds of firmware, unless a user says otherwise."""
NOISE_MAX: Final = 1_024
"""Bytes without a frame that are collected before they are reported as noise."""
SEEN_MAX: Final = 512
"""Bytes kept of what a port says before it made sense, to tell a person what it may be."""

# --- Conversations --------------------------------------------------------------------------------------------------

ANSWER_US: Final = 500_000
"""Time for an answer to a request. Devices answer within milliseconds; an ESP32 may be busy with its flash."""
HELLO_TRIES: Final = 16
"""Times the first request is repeated: 8 s, since boards that opening the port resets take up to 5 s to start."""
IDENTIFY_ROUNDS: Final = 4
"""Times that all greetings are tried at a port where anything may be: 8 s too, four times half a second each."""
ASK_TRIES: Final = 3
"""Times any other request is repeated."""
CHECK_US: Final = 60_000_000
"""How often a device is asked whether it is still set as it was: one that restarted unseen has other settings."""
CHECK_SOON_US: Final = 1_000_000
"""The same after noise, which may have been the text that a board prints when it starts."""
RESTARTS_MAX: Final = 3
"""Times a device may start anew while it is set up: opening the port restarts many once."""
LATE_US: Final = 3_000_000
"""Time beyond its airtime that a packet may take to leave: a modem waits while the channel is busy."""
LATE_MAX: Final = 3
"""Packets in a row that are not reported as sent before the device counts as stuck."""

# --- KISS (docs/formats/kiss.md) ------------------------------------------------------------------------------------

KISS_FRAME_MAX: Final = 512
"""Bytes of an unescaped frame (MeshCore, KissModem.h: KISS_MAX_FRAME_SIZE)."""
KISS_PACKET_MAX: Final = 255
"""Bytes of a packet (the same: KISS_MAX_PACKET_SIZE): what a LoRa frame holds."""
KISS_EXTENSION: Final = 1
"""Version of our extension."""
KISS_META_US: Final = 100_000
"""How long a packet waits for the report of its signal, which follows at once."""
KISS_CAD_TRIES: Final = 2
"""Channel activity detections before each packet: one misses a transmission about to end in one of ten cases (Semtech
AN1200.48), two in one of a hundred."""
MESHCORE_PREAMBLE_SHORT: Final = 32
"""Preamble symbols of MeshCore's firmware up to SF8 (its RadioLibWrappers.h)."""
MESHCORE_PREAMBLE_LONG: Final = 16
"""From SF9 on."""

# --- Guests on other people's meshes --------------------------------------------------------------------------------

GUEST_POLLS_MAX: Final = 16
"""Times a device is asked whether a packet has left, an airtime apart, before that is taken for granted."""
GUEST_WAITS: Final = 4
"""Airtimes for which a packet is kept that a device does not take."""

# --- RNode ----------------------------------------------------------------------------------------------------------

RNODE_VERSION_MIN: Final = (1, 52)
"""Oldest firmware that Reticulum still speaks to."""
RNODE_FREQUENCY_SLACK_HZ: Final = 100
"""Difference allowed between the frequency asked for and the one a chip reports: its synthesizer has steps of 61 Hz."""
RNODE_PREAMBLE_MIN: Final = 18
"""Fewest preamble symbols (Config.h: LORA_PREAMBLE_SYMBOLS_MIN)."""
RNODE_PREAMBLE_US: Final = 24_000
"""Length it aims at where that is longer (Config.h: LORA_PREAMBLE_TARGET_MS)."""
RNODE_POLL_US: Final = 100_000
"""How soon a full queue is asked for room again."""
RNODE_POLLS_MAX: Final = 50
"""Times that is done before the packet is given back."""

# --- Meshtastic -----------------------------------------------------------------------------------------------------

MESHTASTIC_FRAME_MAX: Final = 512
"""Bytes of a protobuf message (Meshtastic, StreamAPI.h: MAX_TO_FROM_RADIO_SIZE)."""
MESHTASTIC_PAYLOAD_MAX: Final = 233
"""Bytes of a payload (mesh.proto: DATA_PAYLOAD_LEN)."""
MESHTASTIC_PREAMBLE: Final = 16
"""Preamble symbols (RadioInterface.h)."""
MESHTASTIC_HEADER: Final = 16
"""Bytes of the header on the air (RadioInterface.h: PacketHeader)."""
MESHTASTIC_CONFIG_US: Final = 10_000_000
"""Time for a device to tell its whole configuration: 100 neighbours and 8 channels take about 2 s."""
MESHTASTIC_HOLD_US: Final = 60_000_000
"""How long nothing is sent after a device said that its hour is used up: it counts in minutes."""
MESHTASTIC_CHANNELS_MAX: Final = 8
"""Channels of a device (Channels.h: MAX_NUM_CHANNELS)."""
PROTOBUF_FIELDS_MAX: Final = 256
"""Fields of one protobuf message that are looked at."""

# --- MeshCore companion ---------------------------------------------------------------------------------------------

COMPANION_FRAME_MAX: Final = 300
"""Bytes of a frame that are believed; MeshCore's own are up to 172 (BaseSerialInterface.h: MAX_FRAME_SIZE)."""
COMPANION_DATA_MAX: Final = 163
"""Bytes of a channel datagram (MAX_FRAME_SIZE - 9)."""
COMPANION_VERSION_MIN: Final = 11
"""Firmware's protocol version from which on there are channel datagrams."""
COMPANION_CHANNELS_MAX: Final = 64
"""Channels looked through for ours; devices have 8 to 40."""
COMPANION_FETCH_US: Final = 1_000_000
"""How soon a packet that waits in a device is asked for again if no answer comes."""
