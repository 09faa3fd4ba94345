"""Checks of `doctor`: whether the sources of telemetry answer, and whether records may be sent."""

from tinyssb_node.control.client import DaemonUnreachableError
from tinyssb_node.daemon.config import read_config
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.render import duration
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.telemetry import wall_us
from tinyssb_node.store.home import Home
from tinyssb_node.telemetry.config import telemetry_config
from tinyssb_node.telemetry.measure import measure
from tinyssb_node.telemetry.plan import TelemetryKind, plan


def examine(home: Home) -> list[CheckResult]:
    """Check what the node in *home* shares at intervals; nothing if it shares nothing, or its daemon does not run.
    Raises LocalError."""
    config = read_config(home)
    settings = telemetry_config(config)
    if not settings.enabled:
        return []
    measurement = measure(config)
    found = [
        CheckResult("telemetry", ok=False, found=problem.message, advice=problem.hint)
        for problem in measurement.problems
    ]
    if settings.position and not measurement.problems and not measurement.measured.has_place:
        advice = "Name a source in config.toml: docs/howto/telemetry.md"
        found.append(
            CheckResult("telemetry", ok=False, found="no source says where this node is", advice=advice)
        )
    try:
        with NodeSession.at_home(str(home.root)) as node:
            node.catch_up()
            plans = plan(settings, node, wall_us())
    except DaemonUnreachableError:
        return found
    for one in plans:
        if one.audience and one.pace.air_us > one.pace.wished_us:
            wished = "position_minutes" if one.kind is TelemetryKind.POSITION else "sensors_minutes"
            found.append(
                CheckResult(
                    "telemetry",
                    ok=True,
                    found=f"{one.kind.value}: the airtime allows one record every {duration(one.pace.air_us)}, "
                    f"less often than telemetry.{wished}",
                )
            )
    return found or [CheckResult("telemetry", ok=True, found="sources answer")]
