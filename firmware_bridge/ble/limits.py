"""Every number of Bluetooth Low Energy that is used here, with its source."""

from typing import Final

ATT_MTU_MIN: Final = 23
"""Bytes of an ATT packet before anybody negotiates (Bluetooth Core 5.4, Vol 3, Part G, 5.2.1)."""
ATT_HEADER_SIZE: Final = 3
"""Of them, opcode and attribute handle of a write or a notification (ibid., Part F, 3.4.5 and 3.4.7)."""
ATT_MTU_WANTED: Final = 128
"""What tinySSB phones and boards negotiate (BlePeers.kt requestMtu, io.cpp setMTU): values of 125 bytes."""
ATT_MTU_MAX: Final = 517
"""What nobody goes beyond, values having 512 bytes at most (Core 5.4, Vol 3, Part F, 3.2.9)."""
VALUE_SIZE_MAX: Final = 120
"""Bytes of the longest packet; a link that carries less is of no use, because nobody puts packets together."""
LINKS_MAX: Final = 7
"""Connections that one adapter keeps at a time: what common controllers have room for."""
ADVERTISEMENT_SIZE: Final = 31
"""Bytes of a legacy advertisement, and of its scan response (Core 5.4, Vol 4, Part E, 7.8.7)."""
ADVERTISING_INTERVAL_MS: Final = 40.0
"""Between advertisements of ours, where we have a say: boards leave it at 20 to 40 ms (the ESP32 library's default)."""
VALUES_WAITING: Final = 16
"""Values of one link that were received and not yet taken. A writer that waits for our answer is made to wait; of
notifications, which nothing holds back, the newest is dropped."""
OPEN_S: Final = 10.0
"""Longest wait for the Bluetooth service to answer before it counts as gone."""
CONNECT_S: Final = 20.0
"""Longest wait for a board to be connected and its services to be known; BlueZ itself gives up after about 25 s."""
