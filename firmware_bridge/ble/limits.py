"""The numbers of Bluetooth Low Energy, with their sources."""

from typing import Final

ATT_MTU_MIN: Final = 23
"""Bytes of an ATT packet before negotiation (Bluetooth Core 5.4, Vol 3, Part G, 5.2.1)."""
ATT_HEADER_SIZE: Final = 3
"""Bytes of these for the opcode and attribute handle of a write or a notification (ibid., Part F, 3.4.5 and 3.4.7)."""
ATT_MTU_WANTED: Final = 128
"""The MTU that tinySSB phones and boards negotiate (BlePeers.kt requestMtu, io.cpp setMTU): values of 125 bytes."""
ATT_MTU_MAX: Final = 517
"""Largest useful MTU: values have 512 bytes at most (Core 5.4, Vol 3, Part F, 3.2.9)."""
VALUE_SIZE_MAX: Final = 120
"""Bytes of the longest packet. A link that carries less is of no use: packets are not fragmented."""
LINKS_MAX: Final = 7
"""Simultaneous connections of one adapter: what common controllers have room for."""
ADVERTISING_INTERVAL_MS: Final = 40.0
"""Time between our advertisements, where we can set it. Boards use 20 to 40 ms (the ESP32 library's default)."""
VALUES_WAITING: Final = 16
"""Receive queue of one link. A writer with response waits when it is full; the newest notification is dropped, since
nothing holds notifications back."""
OPEN_S: Final = 10.0
"""Longest wait for an answer of the Bluetooth service before it counts as gone."""
CONNECT_S: Final = 20.0
"""Longest wait for the connection to a board and the discovery of its services. BlueZ gives up after about 25 s."""
