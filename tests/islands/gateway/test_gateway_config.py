"""Contents of ``[gateway]``."""

import tomllib
from pathlib import Path

import pytest

from tinyssb_node.daemon.config import parse_config
from tinyssb_node.daemon.config_table import Address
from tinyssb_node.errors import ConfigError
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId, NetworkName
from tinyssb_node.islands.gateway.config import FeedSelection, GatewayConfig, gateway_config
from tinyssb_node.store.home import Home


def parse(text: str) -> GatewayConfig | None:
    return gateway_config(parse_config(Home(Path("/home/ana/.tinyssb")), tomllib.loads(text)))


def test_nothing_said_is_no_gateway() -> None:
    assert parse("") is None
    assert parse("[gateway]") is None


def test_what_is_not_said_has_a_default() -> None:
    assert parse("gateway.enabled = true") == GatewayConfig(
        enabled=True,
        listen=Address(("::", 8_789)),
        public=None,
        peers=(),
        networks=(DEFAULT_NETWORK,),
        offer=FeedSelection.SET,
        seek=FeedSelection.SET,
        carry=(),
        cert_file=None,
        key_file=None,
        ca_file=None,
    )


def test_every_key_is_read() -> None:
    found = parse("""
        networks.village.key = "ab"
        [gateway]
        enabled = true
        listen = "[::]:9000"
        public = "gate.example.org:9001"
        peers = ["192.0.2.1:8789", "[2001:db8::1]:8789", "gate.example.net:1"]
        networks = ["village", "default"]
        offer = "own"
        seek = "none"
        carry = ["0aB10aB10aB10aB10aB10aB10aB10aB10aB10aB10aB10aB10aB10aB10aB10aB1"]
        cert_file = "gate.pem"
        key_file = "/etc/gate.key"
        ca_file = "circle.pem"
    """)
    assert found == GatewayConfig(
        enabled=True,
        listen=Address(("::", 9_000)),
        public=Address(("gate.example.org", 9_001)),
        peers=(
            Address(("192.0.2.1", 8_789)),
            Address(("2001:db8::1", 8_789)),
            Address(("gate.example.net", 1)),
        ),
        networks=(NetworkName("village"), DEFAULT_NETWORK),
        offer=FeedSelection.OWN,
        seek=FeedSelection.NONE,
        carry=("0aB1" * 16,),
        cert_file=Path("/home/ana/.tinyssb/gate.pem"),
        key_file=Path("/etc/gate.key"),
        ca_file=Path("/home/ana/.tinyssb/circle.pem"),
    )
    assert found.carried == frozenset([FeedId.from_hex("0ab1" * 16)])


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ('gateway.listen = "8789"', "gateway.listen", "an address and a port"),
        ('gateway.public = "x"', "gateway.public", "an address and a port"),
        ('gateway.peers = ["x"]', "gateway.peers", "up to 16 addresses"),
        ('gateway.peers = ["x:0"]', "gateway.peers", "up to 16 addresses"),
        ('gateway.peers = ["x:1", "x:1"]', "gateway.peers", "each once"),
        (f"gateway.peers = {[f'x:{n}' for n in range(1, 18)]}", "gateway.peers", "up to 16 addresses"),
        ("gateway.networks = []", "gateway.networks", "each once: default"),
        ('gateway.networks = ["default", "default"]', "gateway.networks", "each once: default"),
        ('gateway.networks = ["village"]', "gateway.networks", "each once: default"),
        ('gateway.offer = "all"', "gateway.offer", '"set", "own", "none"'),
        ('gateway = {cert_file = "a", ca_file = "b"}', "gateway.key_file", "all three"),
        ('gateway.carry = ["0ab1"]', "gateway.carry", "64 hexadecimal digits"),
        (f'gateway.carry = ["{"0" * 64}"]', "gateway.carry", "64 hexadecimal digits"),
        (f'gateway.carry = ["{"a" * 64}", "{"A" * 64}"]', "gateway.carry", "each once"),
        ("gateway.port = 1", "gateway.port", "no such key"),
        ("gateway.enabled = 1", "gateway.enabled", "true or false"),
    ],
)
def test_what_cannot_be_used_is_told(text: str, key: str, allowed: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text)
    assert refused.value.key == key
    assert allowed in refused.value.allowed
