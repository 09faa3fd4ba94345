"""Table ``[telemetry]`` of config.toml: what is shared at intervals, with whom, and the sources."""

from collections.abc import Collection
from typing import Annotated, Final

from msgspec import Meta

from tinyssb_node.content.limits import TELEMETRY_TEXT_MAX
from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.config_table import Address, Flaw, SubjectTable, address_rule
from tinyssb_node.ids import NetworkName

PUBLIC: Final = "public"
AUTO: Final = "auto"
"""The text of `hardware` that stands for the model of the board."""
GPSD_PORT: Final = 2947
"""The port of gpsd (IANA)."""


class TelemetryConfig(SubjectTable, frozen=True, kw_only=True):
    """Settings of ``[telemetry]``, checked, with defaults filled in."""

    position: str = ""
    """To whom positions go at intervals: `public`, a private group, or nobody."""
    sensors: str = ""
    """To whom values of sensors go at intervals, likewise."""
    precision_m: Annotated[int, Meta(ge=0, le=100_000)] = 100
    """Side of the grid on which positions are shared; 0: as exact as the source."""
    position_minutes: Annotated[int, Meta(ge=5, le=10_080)] = 30
    """Least time between two positions."""
    sensors_minutes: Annotated[int, Meta(ge=15, le=10_080)] = 360
    """Time between two records of sensors."""
    moved_m: Annotated[int, Meta(ge=0, le=1_000_000)] = 200
    """A position is shared before the last one expires if it is this far from it."""
    per_day: Annotated[int, Meta(ge=1, le=96)] = 24
    """Most records a day that are sent at intervals."""
    status: str = ""
    """A text that goes with the values of sensors."""
    hardware: str = ""
    """The device, as a text that goes with the values of sensors; `auto`: the board's model, as the kernel knows it."""
    gpsd: Annotated[Address, Meta(description=address_rule(GPSD_PORT))] | None = None
    """Address of gpsd; None: it is not asked."""
    fixed: bool = False
    """True if the place in config.toml is shared: that of a node that stays there."""
    kernel: bool = True
    """True if power supplies and sensors of the kernel are read."""
    hook: str = ""
    """A command that prints values as JSON; empty: there is none."""

    def flaw(self, _networks: Collection[NetworkName]) -> Flaw | None:
        """Check audiences and status."""
        for name, audience in (("position", self.position), ("sensors", self.sensors)):
            if audience and not (audience.isprintable() and audience.strip()):
                return (
                    name,
                    audience,
                    f'it takes "{PUBLIC}", the name or id of a private group, or "" for nobody',
                )
        if self.fixed and self.gpsd is not None:
            return "fixed", True, "it takes true only without telemetry.gpsd: a node stays or moves"
        for name, text in (("status", self.status), ("hardware", self.hardware)):
            if len(text.encode(errors="replace")) > TELEMETRY_TEXT_MAX or not text.isprintable():
                return name, text, f"it takes printable text of at most {TELEMETRY_TEXT_MAX} bytes"
        return None


TABLE: Final = TelemetryConfig


def telemetry_config(config: Config) -> TelemetryConfig:
    """Return the settings of telemetry in *config*; the defaults if there is no table for it."""
    found = config.optional.get("telemetry")
    assert found is None or isinstance(found, TelemetryConfig)
    return TelemetryConfig() if found is None else found
