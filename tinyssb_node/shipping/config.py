"""Table ``[ship]`` of config.toml: where event logs are sent."""

from collections.abc import Collection
from typing import Annotated, Final

from msgspec import Meta

from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.config_table import Flaw, SubjectTable
from tinyssb_node.faces.mqtt_spec import MqttSpec, broker_flaw, parse_broker
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
        return parse_broker(self.broker)

    def flaw(self, _networks: Collection[NetworkName]) -> Flaw | None:
        """Check the broker."""
        wrong = broker_flaw(self.broker)
        return None if wrong is None else ("broker", self.broker, wrong)


TABLE: Final = ShipConfig


def ship_config(config: Config) -> ShipConfig | None:
    """Return the settings of shipping in *config*; None if there is no table for it."""
    found = config.optional.get("ship")
    assert found is None or isinstance(found, ShipConfig)
    return found
