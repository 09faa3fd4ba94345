"""Contents of config.toml, and the messages for invalid ones."""

import tomllib
from pathlib import Path

import msgspec
import pytest

from tests.docs import pages
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.config import (
    DEFAULT_FACES,
    AcknowledgeTable,
    Config,
    ControlTable,
    DiskTable,
    EventsTable,
    LogFormat,
    LogLevel,
    LogTable,
    SetTable,
    WebTable,
    initial_config,
    parse_config,
    read_config,
)
from tinyssb_node.daemon.config_table import Address
from tinyssb_node.errors import ConfigError, ProblemError
from tinyssb_node.faces.access import EVERYBODY, Credentials
from tinyssb_node.gossip.admission import AdmissionPolicy
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.pzp.config import PzpAccess, PzpPeer, PzpSettings, pzp_settings
from tinyssb_node.store.home import Home

HOME = Home(Path("/home/ana/.tinyssb"))


def parse(text: str) -> Config:
    return parse_config(HOME, tomllib.loads(text))


def test_an_empty_file_means_all_defaults(tmp_path: Path) -> None:
    config = parse("")
    assert config.name == "node"
    assert config.networks == {DEFAULT_NETWORK: Network()}
    assert config.faces == DEFAULT_FACES
    assert config.events.segment_mib * 2**20 == limits.EVENT_SEGMENT_BYTES
    assert config.events.segment_hours * 3_600_000_000 == limits.EVENT_SEGMENT_AGE_US
    assert config.events.keep_mib * 2**20 == limits.EVENT_RETENTION_BYTES
    assert config.events.keep_days * 86_400_000_000 == limits.EVENT_RETENTION_AGE_US
    assert (config.log.level, config.log.format) == (LogLevel.INFO, LogFormat.CONSOLE)
    assert config.control.socket == HOME.root / "control.sock"
    assert (config.web.enabled, config.web.listen) == (False, ("127.0.0.1", limits.WEB_PORT))
    assert config.web.token_file == HOME.root / "web.token"
    assert config.optional == {}
    assert pzp_settings(config) == PzpSettings()
    assert read_config(Home(tmp_path)).name == "node"


def test_every_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("""
        name = "Kamm"
        network_key = "00ff"
        networks.village.key = "ab"
        faces = ["ws:listen:0.0.0.0:8080"]
        latitude = 46.5
        longitude = -8
        events.segment_mib = 2
        events.segment_hours = 3
        events.keep_days = 4
        events.keep_mib = 50
        acknowledge.enabled = false
        [log]
        level = "debug"
        format = "json"
        [control]
        socket = "/run/tinyssb/sock"
        group = "village"
        [set]
        admit = "known"
        ids_per_hour = 99
        admit_across = "invite"
        shelf_mib = 5
        [disk]
        others_percent = 20
        reserve_mib = 100
        [web]
        enabled = true
        listen = "[::]:80"
        token_file = "/etc/token"
        [pzp]
        enabled = true
        listen = "0.0.0.0:8788"
        peers = ["wss://pub.example/pzp"]
        keep = "newest-10"
        budget_mib = 3
    """)
    config = read_config(Home(tmp_path))
    assert msgspec.structs.asdict(config) == {
        "name": "Kamm",
        "network_key": "00ff",
        "networks": {"default": Network(b"\x00\xff"), "village": Network(b"\xab")},
        "faces": ("ws:listen:0.0.0.0:8080",),
        "latitude": 46.5,
        "longitude": -8.0,
        "events": EventsTable(segment_mib=2, segment_hours=3, keep_days=4, keep_mib=50),
        "log": LogTable(level=LogLevel.DEBUG, format=LogFormat.JSON),
        "acknowledge": AcknowledgeTable(enabled=False),
        "control": ControlTable(socket=Path("/run/tinyssb/sock"), group="village"),
        "set": SetTable(
            admit=AdmissionPolicy.KNOWN, ids_per_hour=99, admit_across=AdmissionPolicy.INVITE, shelf_mib=5
        ),
        "disk": DiskTable(others_percent=20, reserve_mib=100),
        "web": WebTable(enabled=True, listen=Address(("::", 80)), token_file=Path("/etc/token")),
        "optional": {
            "pzp": PzpSettings(
                enabled=True,
                listen=Address(("0.0.0.0", 8788)),
                peers=("wss://pub.example/pzp",),
                keep="newest-10",
                budget_mib=3,
            )
        },
    }
    pzp = pzp_settings(config)
    assert pzp.access == PzpAccess(
        ("0.0.0.0", 8788), EVERYBODY, (PzpPeer("wss://pub.example/pzp", Credentials(tls=True)),)
    )
    assert pzp.budget_bytes == 3 * 2**20


@pytest.mark.parametrize(
    ("text", "key", "said", "allowed"),
    [
        ("name = 7", "name", "name = 7", "text"),
        ('name = ""', "name", 'name = ""', "1 to 32"),
        ('control.group = "a:b"', "control.group", '"a:b"', "the name of a group"),
        ("control.group = 7", "control.group", "7", "the name of a group"),
        ('name = " x"', "name", 'name = " x"', "no space around"),
        (r'name = "a\u0007"', "name", "name = ", "printable"),
        ('network_key = "xyz"', "network_key", 'network_key = "xyz"', "hexadecimal"),
        (f'network_key = "{"00" * 65}"', "network_key", "0000", "64 bytes"),
        ('networks.village.key = "xyz"', "networks.village.key", '"xyz"', "hexadecimal"),
        ('networks.village.key = ""', "networks.village.key", '""', "the network default has the same key"),
        ('networks = {a.key = "00", b.key = "00"}', "networks.b.key", '"00"', "the network a has the same"),
        ("[networks.village]", "", "cannot be used", "[networks.village] needs a key"),
        ('networks.village = "00"', "", "cannot be used", "[networks.village] needs a key"),
        ('networks.Village.key = "00"', "networks", '"Village"', "small letters"),
        ('networks."../x".key = "00"', "networks", '"../x"', "small letters"),
        ('networks.default.key = "00"', "networks", '"default"', "is not default"),
        ("\n".join(f'networks.n{n}.key = "0{n}"' for n in range(8)), "networks", '"n7"', "there may be 8"),
        ('networks.a = {key = "00", kye = 1}', "networks.a.kye", "kye = 1", "did you mean networks.a.key?"),
        ('faces = "udp:239.5.5.8:1558"', "faces", "faces = ", "a list"),
        ("faces = [1]", "faces", "faces = [1]", "a list"),
        ('faces = ["a", "a"]', "faces", 'faces = ["a", "a"]', "a is there twice"),
        ("latitude = 90.5", "latitude", "latitude = 90.5", "-90 to 90"),
        ("longitude = true", "longitude", "longitude = true", "-180 to 180"),
        ("events.keep_days = 0", "events.keep_days", "events.keep_days = 0", "1 to 3650"),
        ("events.keep_days = true", "events.keep_days", "events.keep_days = true", "whole number"),
        ("events.keep_days = 1.5", "events.keep_days", "events.keep_days = 1.5", "whole number"),
        ('log.level = "loud"', "log.level", 'log.level = "loud"', '"debug", "info", "warning", "error"'),
        ("log = 3", "log", "log = 3", "there is no such key"),
        ('control.socket = ""', "control.socket", "control.socket = ", "a path"),
        (f'control.socket = "{"x" * 120}"', "control.socket", "xxx", "107 bytes"),
        ("web.enabled = 1", "web.enabled", "web.enabled = 1", "true or false"),
        ('web.listen = "8780"', "web.listen", '"8780"', "an address and a port"),
        ('web.listen = "::1:80"', "web.listen", '"::1:80"', "an address and a port"),
        ('web.listen = "localhost:99999"', "web.listen", "99999", "an address and a port"),
        ('web.listen = "a b:80"', "web.listen", '"a b:80"', "an address and a port"),
        ('web.listen = ":80"', "web.listen", '":80"', "an address and a port"),
        ("pzp.enabled = 1", "pzp.enabled", "pzp.enabled = 1", "true or false"),
        ('pzp.listen = "8788"', "pzp.listen", '"8788"', "an address and a port"),
        ('pzp.peers = ["10.0.0.2:8788"]', "pzp.peers", "10.0.0.2:8788", "ws://"),
        ('pzp.peers = ["ws://a", "ws://a"]', "pzp.peers", '"ws://a", "ws://a"', "each once"),
        ('pzp.peers = ["wss://a#pin=00"]', "pzp.peers", "wss://a#pin=00", "64 hexadecimal digits"),
        (f'pzp.peers = ["ws://a#pin={"00" * 32}"]', "pzp.peers", "ws://a#pin=", "a matter of TLS"),
        (
            'pzp = {token_file = "t", peers = ["ws://a"]}',
            "pzp.peers",
            "ws://a",
            "can be read by others: use TLS, as in wss://",
        ),
        (
            'pzp = {token_file = "t", listen = "0.0.0.0:1"}',
            "pzp.listen",
            "0.0.0.0:1",
            "a token sent without TLS is readable",
        ),
        ('pzp = {cert_file = "c", listen = "0.0.0.0:1"}', "pzp.listen", "0.0.0.0:1", "are needed both"),
        ('pzp.keep = "newest-0"', "pzp.keep", '"newest-0"', "newest-100"),
        ("pzp.budget_mib = 0", "pzp.budget_mib", "pzp.budget_mib = 0", "from 1"),
        ("web.token_file = 1", "web.token_file", "web.token_file = 1", "a path"),
        ("nmae = 1", "nmae", "nmae = 1", "did you mean name?"),
        (
            "[event]\nkeep_days = 1",
            "event.keep_days",
            "event.keep_days = 1",
            "did you mean events.keep_days?",
        ),
        (
            "zzz = 1",
            "zzz",
            "zzz = 1",
            "there are acknowledge.enabled, alerts.",
        ),
    ],
)
def test_an_error_names_file_key_value_and_what_is_allowed(
    text: str, key: str, said: str, allowed: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert caught.value.file == HOME.config
    assert caught.value.key == key
    for word in (str(HOME.config), said, allowed):
        assert word in caught.value.message


def test_what_is_not_toml_says_where(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("name = [")
    with pytest.raises(ConfigError, match=r"cannot be used: it is not TOML .*at end"):
        read_config(Home(tmp_path))
    (tmp_path / "config.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not TOML"):
        read_config(Home(tmp_path))


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match="directory"):
        read_config(Home(tmp_path))


def test_what_init_writes_is_read_back() -> None:
    config = parse(initial_config('a "quoted" \\ name', ("udp:239.5.5.8:1558", "ws:listen:[::]:80")))
    assert config.name == 'a "quoted" \\ name'
    assert config.faces == ("udp:239.5.5.8:1558", "ws:listen:[::]:80")


def test_networks_are_found_by_name() -> None:
    config = parse('network_key = "01"\nnetworks.village.key = "02"')
    assert list(config.networks) == ["default", "village"]
    assert config.find_network("village") == ("village", Network(b"\x02"))
    with pytest.raises(ProblemError, match="no network called 'town'") as caught:
        config.find_network("town")
    assert caught.value.code == "unknown_network"
    assert "default, village" in caught.value.hint
    assert list(parse("[networks]").networks) == ["default"]


def test_every_key_is_documented() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("zzz = 1")
    keys = caught.value.allowed.partition("there are ")[2].split(", ")
    assert {"name", "web.token_file", "pzp.open", "gateway.carry", "ship.broker"} <= {*keys}
    page = pages.read("docs/reference/config.md")
    assert [key for key in [*keys, "networks.NAME.key"] if f"| `{key}` |" not in page] == []


def test_the_places_of_the_set_are_read() -> None:
    assert parse("set.places = 20").set.places == 20
