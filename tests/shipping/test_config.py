from pathlib import Path
from typing import Any

import pytest

from tinyssb_node.daemon.config import parse_config
from tinyssb_node.errors import ConfigError
from tinyssb_node.faces.mqtt_spec import MqttSpec
from tinyssb_node.shipping.config import ShipConfig, ship_config
from tinyssb_node.store.home import Home


def parsed(**ship: Any) -> ShipConfig:
    config = ship_config(parse_config(Home(Path("/h")), {"ship": ship}))
    assert config is not None
    return config


def test_without_the_table_nothing_is_shipped() -> None:
    assert ship_config(parse_config(Home(Path("/h")), {})) is None


def test_defaults() -> None:
    found = parsed(enabled=True)
    assert found == ShipConfig(enabled=True, broker="mqtt:localhost:1883", every_s=10, bytes_per_s=0)
    assert found.broker_spec == MqttSpec(host="localhost", port=1883)


def test_a_broker_is_named_as_for_a_face() -> None:
    text = "mqtt:broker.example.org:8883?tls=on&user=3f0a1b2c4d5e6f70&credential=ship"
    assert parsed(broker=text).broker_spec == MqttSpec(
        host="broker.example.org", port=8883, tls=True, user="3f0a1b2c4d5e6f70", credential="ship"
    )


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("broker", "broker.example.org", "it takes a broker"),
        ("broker", "udp:239.5.5.8:1558", "it takes a broker"),
        ("broker", "mqtt:broker:0", "Possible"),
        ("broker", "mqtt:broker:1883?user=a&password=/p", "without TLS"),
        ("broker", "mqtt:broker:1883?root=elsewhere", "for faces only"),
        ("broker", "mqtt:broker:1883?gossip=off", "for faces only"),
        ("broker", "mqtt:broker:1883?name=b", "for faces only"),
        ("every_s", 0, "from 1"),
        ("bytes_per_s", -1, "from 0"),
        ("enabled", "yes", "true or false"),
        ("nonsense", 1, "no such key"),
    ],
)
def test_what_cannot_be_is_refused(key: str, value: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parsed(**{key: value})
