"""Numbers of the derived figures, each with its source or its reason."""

from typing import Final

# --- Contact groups (docs/reference/analytics.md, "Contact groups")

SLOT_US: Final = 600_000_000
"""How often the mesh's groups are looked at: ten minutes are short against what people notice, and six rows an hour."""
LEAST_SLOTS: Final = 3
"""A contact counts for this many slots after its own: 30 minutes. Radios at SF7 advertise every 52 s at most when idle
(`air_profile` of the node: 256 full packets), wires every 15 s, so that is 34 times nothing said."""
MOST_SLOTS: Final = 6
"""The same for the slowest radios: an hour. At SF12 the longest interval is half an hour; more hours would have to be
loaded for each one that is made anew."""
IDLE_PACKETS: Final = 256
"""Longest interval between adverts of an idle node, in full packets' time (`advert_max_us` of the node)."""
IDLE_INTERVALS: Final = 24
"""Such intervals that a contact counts for, within the above. In the simulator's `idle`, neighbours who have eight
others to leave the talking to are silent to each other for 33 minutes, 38 intervals, once a day; they are still
connected through those others."""
FULL_SIZE: Final = 120
"""Bytes of a full packet."""
HEAD_SIZE: Final = 20
"""What a LoRa frame's preamble and header take, in bytes' time: 14 at SF7, 24 at SF12."""
HOLD_SLOTS: Final = 2
"""Slots in a row that must show a change before it is told: one packet heard by chance is no mesh."""
