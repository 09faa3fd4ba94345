"""The table [alerts]."""

from pathlib import Path
from typing import Any

import pytest

from tinyssb_node.alerts.config import AlertsConfig, alerts_config
from tinyssb_node.daemon.config import parse_config
from tinyssb_node.errors import ConfigError
from tinyssb_node.faces.mqtt_spec import MqttSpec
from tinyssb_node.store.home import Home


def parsed(**table: Any) -> AlertsConfig:
    return alerts_config(parse_config(Home(Path("/h")), {"alerts": table}))


def test_defaults_and_what_is_possible() -> None:
    assert alerts_config(parse_config(Home(Path("/h")), {})) == AlertsConfig()
    assert parsed(webhook="https://example.org/x").webhook == "https://example.org/x"
    assert parsed(enabled=True, webhook="/etc/tinyssb/webhook").enabled
    assert parsed(webhook="/etc/tinyssb/webhook").broker_spec is None
    found = parsed(enabled=True, homeassistant="mqtt:hass.local:1883", conversation="public")
    assert found.broker_spec == MqttSpec(host="hass.local", port=1883)
    assert parsed(conversation="ab" * 20).conversation == "ab" * 20


@pytest.mark.parametrize(
    "table",
    [
        {"webhook": "http://example.org/secret"},
        {"webhook": "example.org/secret"},
        {"webhook": "~/secret"},
    ],
)
def test_what_cannot_be_is_refused_without_the_address(table: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"alerts\.webhook") as refused:
        parsed(**table)
    assert "secret" not in refused.value.message


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("enabled", True, "only with"),
        ("homeassistant", "hass.local", "it takes a broker"),
        ("homeassistant", "mqtt:hass.local:1883?root=elsewhere", "for faces only"),
        ("conversation", "everybody", "public"),
    ],
)
def test_what_cannot_be_is_named(key: str, value: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        parsed(**{key: value})
    assert f"alerts.{key}" in refused.value.message


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ConfigError, match="no such key"):
        parsed(url="https://example.org/x")
