"""What a face that sends by radio must keep to: the law of its region, as a rule for the scheduler. Pure."""

from firmware_bridge.lora import LoraSettings
from firmware_bridge.plans import IllegalPlanError, RadioPlan, Vintage, describe, named_plan, resolve
from firmware_bridge.regions import WINDOW_US, Region
from tinyssb_node.scheduling.link import Allowance


def fit(region: Region, plan: str | None, firmware: Vintage, settings: LoraSettings) -> RadioPlan | str:
    """How a radio set to *settings* may send in *region*; or, in plain words, why it may not, or is not set to *plan*.

    Raises UnknownPlanError.
    """
    if plan is not None and (wanted := named_plan(plan, firmware).lora) != settings:
        return (
            f"the radio is set to {describe(settings)}, not to what {plan} of {firmware} is: {describe(wanted)}, "
            f"coding rate 4/{wanted.coding_rate}, sync word {wanted.sync_word:#04x}"
        )
    try:
        return resolve(region, settings)
    except IllegalPlanError as error:
        return str(error)


def allowance_of(plan: RadioPlan, time_scale: float = 1.0) -> Allowance | None:
    """What the scheduler may spend; None where the law sets no share of time.

    On a modelled channel that runs *time_scale* times as quick as the clock the hour is shorter too, and its account
    has a name of its own.
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
