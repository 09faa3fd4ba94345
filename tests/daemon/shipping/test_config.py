from pathlib import Path
from typing import Any

import pytest

from tinyssb_node.daemon.config import parse_config
from tinyssb_node.daemon.configreader import ConfigError
from tinyssb_node.daemon.home import Home
from tinyssb_node.daemon.shipping.config import Broker, ShipConfig


def parsed(**ship: Any) -> ShipConfig:
    config = parse_config(Home(Path("/h")), {"ship": ship}).ship
    assert config is not None
    return config


def test_without_the_table_nothing_is_shipped() -> None:
    assert parse_config(Home(Path("/h")), {}).ship is None


def test_defaults() -> None:
    assert parsed(enabled=True) == ShipConfig(
        enabled=True,
        broker=Broker(host="localhost", port=1883, tls=False),
        user="",
        password_file=None,
        ca_file=None,
        cert_file=None,
        key_file=None,
        every_s=10,
        bytes_per_s=0,
    )


def test_files_are_relative_to_the_home() -> None:
    config = parsed(password_file="p", ca_file="/etc/ca.pem", cert_file="c", key_file="k")
    assert (config.password_file, config.ca_file) == (Path("/h/p"), Path("/etc/ca.pem"))
    assert (config.cert_file, config.key_file) == (Path("/h/c"), Path("/h/k"))


@pytest.mark.parametrize(
    ("text", "broker"),
    [
        ("mqtt://10.0.0.2", Broker(host="10.0.0.2", port=1883, tls=False)),
        ("mqtts://broker.example.org/", Broker(host="broker.example.org", port=8883, tls=True)),
        ("mqtts://[fe80::1]:99", Broker(host="fe80::1", port=99, tls=True)),
    ],
)
def test_brokers(text: str, broker: Broker) -> None:
    assert parsed(broker=text).broker == broker


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("broker", "broker.example.org"),
        ("broker", "http://broker.example.org"),
        ("broker", "mqtt://ana:secret@broker"),
        ("broker", "mqtt://broker:0"),
        ("broker", "mqtt://broker:65536"),
        ("broker", "mqtt://bro ker"),
        ("every_s", 0),
        ("bytes_per_s", -1),
        ("cert_file", "alone"),
        ("enabled", "yes"),
        ("nonsense", 1),
    ],
)
def test_what_cannot_be_is_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError):
        parsed(**{key: value})
