"""Table ``[ship]`` of config.toml: where event logs are sent."""

from collections.abc import Collection
from typing import Annotated, Final

from msgspec import Meta

from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.config_table import Flaw, SubjectTable
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.mqtt_spec import MqttSpec, parse_mqtt
from tinyssb_node.faces.mqtt_topics import ROOT
from tinyssb_node.faces.spec_reader import SpecReader
from tinyssb_node.ids import NetworkName


class ShipConfig(SubjectTable, frozen=True, kw_only=True):
    """Settings of ``[ship]``, checked, with defaults filled in."""

    broker: str = "mqtt:localhost:1883"
    """The MQTT broker, as a spec string of a face without the options of faces."""
    every_s: Annotated[int, Meta(ge=1, le=86_400)] = 10  # the delay of what the analytics show
    """How often an incomplete batch is sent."""
    bytes_per_s: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    """Bandwidth limit; 0: none."""

    @property
    def broker_spec(self) -> MqttSpec:
        """``broker``, parsed."""
        spec = parse_mqtt(SpecReader(self.broker))
        assert spec is not None, "flaw() has checked it"
        return spec

    def flaw(self, _networks: Collection[NetworkName]) -> Flaw | None:
        """Check the broker."""
        try:
            spec = parse_mqtt(SpecReader(self.broker))
        except FaceSpecError as error:
            return "broker", self.broker, f"{error.what}. Possible: {error.allowed}"
        if spec is None:
            allowed = 'it takes a broker such as "mqtt:broker.example.org:8883?tls=on"'
            return "broker", self.broker, allowed
        if spec.root != ROOT or not spec.gossip or spec.name is not None:
            return "broker", self.broker, "root=, gossip= and name= are for faces only"
        return None


TABLE: Final = ShipConfig


def ship_config(config: Config) -> ShipConfig | None:
    """Return the settings of shipping in *config*; None if there is no table for it."""
    found = config.optional.get("ship")
    assert found is None or isinstance(found, ShipConfig)
    return found
