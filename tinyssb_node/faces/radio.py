"""The law of a radio's region, as rules for the scheduler. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from firmware_bridge.lora import LoraSettings, airtime_us, snr_limit_db
from firmware_bridge.plans import (
    FirmwareRelease,
    IllegalPlanError,
    IllegalPowerError,
    RadioPlan,
    describe,
    named_plan,
    resolve,
)
from firmware_bridge.regions import WINDOW_US, Antenna, Region
from tinyssb_node import limits
from tinyssb_node.scheduling.link import Allowance, LinkProfile, air_profile


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioChoice:
    """The radio settings that a user chose. There are none without a region, whose law is kept."""

    region: Region
    """The region whose law is kept."""
    plan: str | None = None
    """Name of a plan of the deployed firmware; None: see *lora*."""
    firmware: FirmwareRelease = FirmwareRelease.FW2025
    """The firmware that defines *plan*."""
    lora: LoraSettings | None = None
    """The modem's settings where no plan is named; None: its present ones."""
    power_dbm: int | None = None
    """Transmit power; None: that of tinySSB boards, or less where the law requires it."""
    antenna: Antenna = field(default_factory=Antenna)
    """The radio's antenna."""
    pongs: bool = False
    """True if pings of boards are answered."""

    @property
    def wanted(self) -> LoraSettings | None:
        """The settings asked for, whichever way; None: any. Raises UnknownPlanError."""
        return self.lora if self.plan is None else named_plan(self.plan, self.firmware)

    def resolve(self, settings: LoraSettings) -> RadioPlan:
        """Return how a radio with *settings* may send. Raises IllegalPlanError and IllegalPowerError."""
        if self.power_dbm is None:
            return resolve(self.region, settings, antenna=self.antenna)
        return resolve(self.region, settings, self.power_dbm, self.antenna, lower_power=False)


def fit(choice: RadioChoice, settings: LoraSettings) -> RadioPlan | str:
    """Return how a radio with *settings* may send; or, in plain words, why it may not, or differs from what was
    configured.

    Raises UnknownPlanError.
    """
    wanted = choice.wanted
    if wanted is not None and wanted != settings:
        asked = "what was asked for" if choice.plan is None else f"what {choice.plan} of {choice.firmware} is"
        return f"the radio is set to {_all_of(settings)}, not to {asked}: {_all_of(wanted)}"
    try:
        return choice.resolve(settings)
    except (IllegalPlanError, IllegalPowerError) as error:
        return str(error)


def _all_of(settings: LoraSettings) -> str:
    return f"{describe(settings)}, coding rate 4/{settings.coding_rate}, sync word {settings.sync_word:#04x}"


def radio_profile(
    settings: LoraSettings,
    air_bytes: Callable[[int], int],
    plan: RadioPlan | None,
    *,
    time_scale: float = 1.0,
    pongs: bool = False,
    gap_packets: int = 1,
) -> LinkProfile:
    """Return the scheduling profile of a radio with *settings*, in microseconds of our clock.

    *air_bytes* returns the bytes on the air of a packet of so many bytes. *plan*: None where no law applies.
    *time_scale*: how many times as fast as ours the radio's clock is; 1 unless it is an emulated one. *gap_packets*:
    silence after each packet, in full packets' time. Raises ValueError for impossible settings.
    """
    airtimes_us = [
        max(1, round(airtime_us(settings, air_bytes(length)) / time_scale))
        for length in range(limits.PACKET_SIZE + 1)
    ]
    return replace(
        air_profile(airtimes_us, snr_limit_db(settings)),
        allowance=None if plan is None else allowance_of(plan, time_scale),
        answers_pings=pongs,
        gap_us=gap_packets * airtimes_us[limits.PACKET_SIZE],
    )


def allowance_of(plan: RadioPlan, time_scale: float = 1.0) -> Allowance | None:
    """Return the allowance for the scheduler; None where the law sets no share of time.

    On a modelled channel that runs *time_scale* times as fast as the clock the hour is shorter too, and its account has
    a name of its own.
    """
    limit_us = plan.sub_band.airtime_limit_us
    if limit_us is None:
        return None
    name = plan.sub_band.name
    if time_scale == 1.0:
        return Allowance(band=name, limit_us=limit_us, window_us=WINDOW_US)
    return Allowance(
        band=f"{name} ×{time_scale:g}",
        limit_us=int(limit_us / time_scale),
        window_us=round(WINDOW_US / time_scale),
    )
