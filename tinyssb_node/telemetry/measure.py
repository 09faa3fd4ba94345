"""All sources that the settings name, read one after the other."""

from dataclasses import dataclass

from tinyssb_node import version
from tinyssb_node.daemon.config import Config
from tinyssb_node.telemetry.config import AUTO, TelemetryConfig, telemetry_config
from tinyssb_node.telemetry.sources.gpsd import read_gpsd
from tinyssb_node.telemetry.sources.hook import read_hook
from tinyssb_node.telemetry.sources.kernel import read_board, read_power, read_sensors
from tinyssb_node.telemetry.sources.measured import Measured, SourceError, merged

VERSION = f"tinyssb {version().partition('.dev')[0]}"
"""Name of this program in records of sensors: without the number of the commit, which takes 20 bytes of a packet."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Values of all sources now."""

    measured: Measured
    problems: tuple[SourceError, ...]
    """Sources that could not be read."""


def measure(config: Config) -> Measurement:
    """Read the sources. The hook has precedence over all others."""
    settings = telemetry_config(config)
    found: list[Measured] = []
    problems: list[SourceError] = []
    for read in (_hook, _gpsd):
        try:
            found.append(read(settings))
        except SourceError as error:
            problems.append(error)
    if settings.kernel:
        found += [read_power(), read_sensors()]
    hardware = read_board() if settings.hardware == AUTO else settings.hardware
    found.append(Measured(status=settings.status or None, hardware=hardware or None))
    if settings.fixed:
        found.append(Measured(latitude=config.latitude, longitude=config.longitude))
    return Measurement(merged(found), tuple(problems))


def _hook(settings: TelemetryConfig) -> Measured:
    return read_hook(settings.hook) if settings.hook else Measured()


def _gpsd(settings: TelemetryConfig) -> Measured:
    return Measured() if settings.gpsd is None else read_gpsd(settings.gpsd)
