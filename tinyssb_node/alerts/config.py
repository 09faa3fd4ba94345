"""Table ``[alerts]`` of config.toml: the user's other systems that are told of the node."""

import re
from collections.abc import Collection
from typing import Final

from tinyssb_node.alerts.webhook import RULE, Webhook
from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.config_table import Flaw, SubjectTable
from tinyssb_node.faces.mqtt_spec import MqttSpec, broker_flaw, parse_broker
from tinyssb_node.ids import NetworkName

_CONVERSATION: Final = re.compile(r"public|[0-9a-f]{16}|[0-9a-f]{40}")


class AlertsConfig(SubjectTable, frozen=True, kw_only=True):
    """Settings of ``[alerts]``, checked, with defaults filled in."""

    webhook: str = ""
    """The address of the webhook, or the file whose only line it is; empty: none."""
    homeassistant: str = ""
    """The MQTT broker of Home Assistant, as a spec string of a face without the options of faces; empty: none."""
    conversation: str = ""
    """The conversation in which texts of Home Assistant are published; empty: they are not taken."""

    @property
    def broker_spec(self) -> MqttSpec | None:
        """``homeassistant``, parsed; None: there is none."""
        return parse_broker(self.homeassistant) if self.homeassistant else None

    def flaw(self, _networks: Collection[NetworkName]) -> Flaw | None:
        """Check the values. An error about the webhook does not show its address."""
        if self.enabled and not (self.webhook or self.homeassistant):
            return "enabled", True, "it takes true only with alerts.webhook or alerts.homeassistant"
        if self.webhook and not self.webhook.startswith("/"):
            try:
                Webhook.parse(self.webhook)
            except ValueError:
                return "webhook", "…", RULE
        if self.homeassistant and (wrong := broker_flaw(self.homeassistant)) is not None:
            return "homeassistant", self.homeassistant, wrong
        if self.conversation and not _CONVERSATION.fullmatch(self.conversation):
            allowed = 'it takes "public", 16 digits of a private conversation, 40 of a group, or "" for none'
            return "conversation", self.conversation, allowed
        return None


TABLE: Final = AlertsConfig


def alerts_config(config: Config) -> AlertsConfig:
    """Return the settings of alerts in *config*; the defaults if there is no table for it."""
    found = config.optional.get("alerts")
    assert found is None or isinstance(found, AlertsConfig)
    return AlertsConfig() if found is None else found
