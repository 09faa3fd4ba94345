"""Table ``[ship]`` of config.toml: where event logs are sent."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.configreader import ConfigReader
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.mqtt_spec import MqttSpec, parse_mqtt
from tinyssb_node.faces.mqtt_topics import ROOT
from tinyssb_node.faces.spec_reader import SpecReader
from tinyssb_node.ids import NetworkName
from tinyssb_node.shipping import limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ShipConfig:
    """Settings of ``[ship]``, checked, with defaults filled in."""

    enabled: bool
    """True if the daemon starts the shipper."""
    broker: MqttSpec
    """The MQTT broker, as a spec string of a face without the options of faces."""
    every_s: int
    """How often an incomplete batch is sent."""
    bytes_per_s: int
    """Bandwidth limit; 0: none."""


def ship_config(config: Config) -> ShipConfig | None:
    """Return the settings of shipping in *config*; None if there is no table for it."""
    found = config.optional.get("ship")
    assert found is None or isinstance(found, ShipConfig)
    return found


def read_settings(reader: ConfigReader, _root: Path, _networks: Iterable[NetworkName]) -> ShipConfig:
    """Read the table. Raises ConfigError."""
    return ShipConfig(
        enabled=reader.flag("ship.enabled", default=False),
        broker=_broker(reader),
        every_s=reader.number("ship.every_s", limits.EVERY_S, 1, 86_400),
        bytes_per_s=reader.number("ship.bytes_per_s", 0, 0, 1_000_000_000),
    )


def _broker(reader: ConfigReader) -> MqttSpec:
    text = reader.text("ship.broker", f"mqtt:localhost:{limits.PORT}", "it takes text")
    try:
        spec = parse_mqtt(SpecReader(text))
    except FaceSpecError as error:
        raise reader.refuse("ship.broker", text, f"{error.what}. Possible: {error.allowed}") from error
    if spec is None:
        raise reader.refuse(
            "ship.broker", text, 'it takes a broker such as "mqtt:broker.example.org:8883?tls=on"'
        )
    if spec.root != ROOT or not spec.gossip or spec.name is not None:
        raise reader.refuse("ship.broker", text, "root=, gossip= and name= are for faces only")
    return spec
