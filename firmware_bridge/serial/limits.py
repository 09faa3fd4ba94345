"""The numbers of radios on serial cables, with their sources."""

from typing import Final

BAUD: Final = 115_200
"""Default bits per second of all four kinds of firmware."""
NOISE_MAX: Final = 1_024
"""Bytes without a frame that are collected before they are reported as noise."""

# --- Sessions -------------------------------------------------------------------------------------------------------

ANSWER_US: Final = 500_000
"""Timeout of a request. Devices answer within milliseconds; an ESP32 may be busy with its flash."""
HELLO_TRIES: Final = 16
"""Tries of the first request: 8 s, since some boards reset when the port opens and take up to 5 s to start."""
ASK_TRIES: Final = 3
"""Tries of any other request."""
CHECK_US: Final = 60_000_000
"""Period of checks of a device's settings: one that restarted unnoticed has others."""
CHECK_SOON_US: Final = 1_000_000
"""Delay of a check after noise, which may have been the text that a board prints when it starts."""
RESTARTS_MAX: Final = 3
"""Restarts of a device that are accepted during set-up: opening the port restarts many once."""
LATE_MAX: Final = 3
"""Packets in a row without a report before the device counts as stuck."""

# --- KISS (docs/formats/kiss.md) ------------------------------------------------------------------------------------

KISS_META_US: Final = 100_000
"""How long a packet waits for its signal report, which follows at once."""
KISS_CAD_TRIES: Final = 2
"""Channel activity detections before each packet: one misses a transmission about to end in one of ten cases (Semtech
AN1200.48), two in one of a hundred."""
MESHCORE_PREAMBLE_SHORT: Final = 32
"""Preamble symbols of MeshCore's firmware up to SF8 (its RadioLibWrappers.h)."""
MESHCORE_PREAMBLE_LONG: Final = 16
"""From SF9 on."""

# --- Guests on other meshes -----------------------------------------------------------------------------------------

GUEST_POLLS_MAX: Final = 16
"""Polls of a device, an airtime apart, before a packet counts as sent."""
GUEST_WAITS: Final = 4
"""Wait after a device refused a packet, in airtimes."""

# --- RNode ----------------------------------------------------------------------------------------------------------

RNODE_VERSION_MIN: Final = (1, 52)
"""Oldest firmware that Reticulum still supports."""
RNODE_PREAMBLE_MIN: Final = 18
"""Fewest preamble symbols (Config.h: LORA_PREAMBLE_SYMBOLS_MIN)."""
RNODE_PREAMBLE_US: Final = 24_000
"""Target length of the preamble where that is longer (Config.h: LORA_PREAMBLE_TARGET_MS)."""
RNODE_POLL_US: Final = 100_000
"""Time between polls of a full queue."""
RNODE_POLLS_MAX: Final = 50
"""Polls of a full queue before the packet is given back."""

# --- Meshtastic -----------------------------------------------------------------------------------------------------

MESHTASTIC_FRAME_MAX: Final = 512
"""Bytes of a protobuf message (Meshtastic, StreamAPI.h: MAX_TO_FROM_RADIO_SIZE)."""
MESHTASTIC_PAYLOAD_MAX: Final = 233
"""Bytes of a payload (mesh.proto: DATA_PAYLOAD_LEN)."""
MESHTASTIC_PREAMBLE: Final = 16
"""Preamble symbols (RadioInterface.h)."""
MESHTASTIC_HEADER: Final = 16
"""Bytes of the header on the air (RadioInterface.h: PacketHeader)."""
MESHTASTIC_HOLD_US: Final = 60_000_000
"""Pause after a device reported that its duty cycle is used up, which it counts in minutes."""
MESHTASTIC_CHANNELS_MAX: Final = 8
"""Channels of a device (Channels.h: MAX_NUM_CHANNELS)."""
PROTOBUF_FIELDS_MAX: Final = 256
"""Most fields of one protobuf message."""

# --- MeshCore companion ---------------------------------------------------------------------------------------------

COMPANION_FRAME_MAX: Final = 300
"""Most bytes of a frame; MeshCore's own have up to 172 (BaseSerialInterface.h: MAX_FRAME_SIZE)."""
COMPANION_DATA_MAX: Final = 163
"""Bytes of a channel datagram (MAX_FRAME_SIZE - 9)."""
COMPANION_FETCH_US: Final = 1_000_000
"""Time until a waiting packet is requested again if no answer comes."""
