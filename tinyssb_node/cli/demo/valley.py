"""The valley of the demonstration: five places, and how well a radio at one hears a radio at another."""

import itertools
import math
from collections.abc import Iterator
from typing import Final

from tinyssb_node.faces.ether_protocol import EtherSetLink
from tinyssb_node.sim.links import PathLoss, path_loss_db

PLACES: Final = {
    "ana": (46.5915, 7.9105),
    "ben": (46.5862, 7.9150),
    "cyd": (46.5845, 7.9292),
    "dan": (46.5767, 7.9216),
    "eve": (46.5715, 7.9309),
}
"""Latitude and longitude of hamlets, in degrees. The first and the last do not hear each other."""
POWER_DBM: Final = 14.0
"""Legal limit of 868.0 to 868.6 MHz (docs/reference/airtime.md)."""
LOSS: Final = 0.02
"""Packets lost besides those that are too weak or collide."""
_DEGREE_M: Final = 111_195.0
"""A degree of latitude on a sphere of 6,371 km."""


def distance_m(one: str, other: str) -> float:
    """Return the distance between two places, on a plane: right to a metre over a few kilometres."""
    (lat, lon), (lat2, lon2) = PLACES[one], PLACES[other]
    east = (lon2 - lon) * math.cos(math.radians((lat + lat2) / 2))
    return _DEGREE_M * math.hypot(lat2 - lat, east)


def links() -> Iterator[EtherSetLink]:
    """Yield how each two of them hear each other: by path loss as measured around Oulu (Petäjäjärvi et al. 2015)."""
    for one, other in itertools.combinations(PLACES, 2):
        rssi_dbm = POWER_DBM - path_loss_db(PathLoss.OULU, distance_m(one, other))
        yield EtherSetLink(left=one, right=other, rssi_dbm=round(rssi_dbm, 1), loss=LOSS)
