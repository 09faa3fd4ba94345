"""Table ``[alerts]`` of config.toml: where alerts of the node are posted."""

from collections.abc import Collection
from typing import Final

from tinyssb_node.alerts.webhook import RULE, Webhook
from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.config_table import Flaw, SubjectTable
from tinyssb_node.ids import NetworkName


class AlertsConfig(SubjectTable, frozen=True, kw_only=True):
    """Settings of ``[alerts]``, checked, with defaults filled in."""

    webhook: str = ""
    """The address, or the file whose only line it is."""

    def flaw(self, _networks: Collection[NetworkName]) -> Flaw | None:
        """Check the address. The error does not show it."""
        if not self.webhook:
            return ("webhook", "", RULE) if self.enabled else None
        if not self.webhook.startswith("/"):
            try:
                Webhook.parse(self.webhook)
            except ValueError:
                return "webhook", "…", RULE
        return None


TABLE: Final = AlertsConfig


def alerts_config(config: Config) -> AlertsConfig:
    """Return the settings of alerts in *config*; the defaults if there is no table for it."""
    found = config.optional.get("alerts")
    assert found is None or isinstance(found, AlertsConfig)
    return AlertsConfig() if found is None else found
