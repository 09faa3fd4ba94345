"""Records that are shared at intervals, in words and for programs."""

from collections.abc import Sequence

from tinyssb_node.screens.render import duration
from tinyssb_node.telemetry.config import TelemetryConfig
from tinyssb_node.telemetry.plan import TelemetryPlan


def plan_lines(
    plans: Sequence[TelemetryPlan], settings: TelemetryConfig, now_us: int
) -> list[tuple[str, object]]:
    """Return the state of the automatic records as names and values."""
    pace = plans[0].pace
    listed: list[tuple[str, object]] = [
        ("enabled", "yes" if settings.enabled else "no (telemetry.enabled in config.toml)"),
        ("records of the last day", f"{plans[0].sent_today} of {pace.per_day}"),
        ("least interval by airtime", duration(pace.air_us) if pace.air_us else "none: no radio"),
    ]
    return [*listed, *((one.kind.value, _state(one, settings, now_us)) for one in plans)]


def _state(one: TelemetryPlan, settings: TelemetryConfig, now_us: int) -> str:
    if not one.audience:
        return f'shared with nobody (telemetry.{one.kind.value} = "" in config.toml)'
    grid = (
        f" on a grid of {settings.precision_m} m"
        if one.kind.value == "position" and settings.precision_m
        else ""
    )
    every = (
        f"every {duration(one.pace.interval_us)}, valid for {duration(one.pace.valid_minutes * 60_000_000)}"
    )
    if one.waits is not None:
        when = f"waits: {one.waits}"
    elif one.next_us > now_us:
        when = f"next in {duration(one.next_us - now_us)} or later"
    else:
        when = "next when there is something new"
    return f"{one.audience}{grid}, {every}; {when}"


def plan_json(one: TelemetryPlan, *, enabled: bool) -> dict[str, object]:
    """Return the state of the automatic records of one kind."""
    return {
        "kind": one.kind.value,
        "enabled": enabled,
        "audience": one.audience or None,
        "interval_us": one.pace.interval_us,
        "air_us": one.pace.air_us,
        "valid_minutes": one.pace.valid_minutes,
        "sent_today": one.sent_today,
        "per_day": one.pace.per_day,
        "next_us": one.next_us,
        "waits": one.waits,
    }
