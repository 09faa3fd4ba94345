"""The energy that nodes take: a power model of two devices around the same radio chip.

A node is on the air, listens, or is asleep. The radio is an SX1262 as our driver sets it up; the host is awake whenever
the radio is. What is left out: losses of voltage converters, Wi-Fi, screens, GPS, temperature.
"""

from dataclasses import dataclass
from typing import Final

from tinyssb_node.sim import limits


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerModel:
    """A device with an SX1262."""

    name: str
    host_mw: float
    """Power of everything but the radio, while awake."""
    asleep_mw: float
    """Power of everything, while asleep."""
    waking_mj: float
    """Energy that waking takes before the radio listens."""

    def energy_mj(self, *, span_us: int, sent_us: int, slept_us: int, woken: int, power_dbm: float) -> float:
        """Return the energy of one device in *span_us*, in which it was on the air for *sent_us* with *power_dbm*,
        asleep for *slept_us*, and woke *woken* times."""
        high = power_dbm > limits.RADIO_LOW_DBM
        send_mw = limits.RADIO_SEND_HIGH_MW if high else limits.RADIO_SEND_MW
        awake_us = span_us - slept_us
        nj = (
            self.host_mw * awake_us
            + send_mw * sent_us
            + limits.RADIO_LISTEN_MW * (awake_us - sent_us)
            + self.asleep_mw * slept_us
        )
        return nj / 1e6 + self.waking_mj * woken


POWER_MODELS: Final = (
    PowerModel(
        name="Pi Zero 2 W",
        host_mw=limits.PI_MW,
        asleep_mw=limits.PI_OFF_MW,
        waking_mj=limits.PI_MW * limits.PI_BOOT_S,
    ),
    PowerModel(name="ESP32 bridge", host_mw=limits.ESP32_MW, asleep_mw=limits.ESP32_ASLEEP_MW, waking_mj=0.0),
)
"""A whole node, and a bridge alone: the phone or computer behind a bridge is not counted."""
