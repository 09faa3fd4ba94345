"""The table [alerts]."""

from pathlib import Path
from typing import Any

import pytest

from tinyssb_node.alerts.config import AlertsConfig, alerts_config
from tinyssb_node.daemon.config import parse_config
from tinyssb_node.errors import ConfigError
from tinyssb_node.store.home import Home


def parsed(**table: Any) -> AlertsConfig:
    return alerts_config(parse_config(Home(Path("/h")), {"alerts": table}))


def test_defaults_and_what_is_possible() -> None:
    assert alerts_config(parse_config(Home(Path("/h")), {})) == AlertsConfig()
    assert parsed(webhook="https://example.org/x").webhook == "https://example.org/x"
    assert parsed(enabled=True, webhook="/etc/tinyssb/webhook").enabled


@pytest.mark.parametrize(
    "table",
    [
        {"enabled": True},
        {"webhook": "http://example.org/secret"},
        {"webhook": "example.org/secret"},
        {"webhook": "~/secret"},
    ],
)
def test_what_cannot_be_is_refused_without_the_address(table: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"alerts\.webhook") as refused:
        parsed(**table)
    assert "secret" not in refused.value.message


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ConfigError, match="no such key"):
        parsed(url="https://example.org/x")
