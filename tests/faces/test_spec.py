"""Spec strings: each form, its defaults, its errors, and the way back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.uri import parse_uri

from firmware_bridge.lora import BANDWIDTHS_HZ, LoraSettings
from firmware_bridge.plans import FirmwareRelease
from firmware_bridge.regions import Antenna, Region
from tests.faces.spec_writer import serialize_spec
from tinyssb_node.faces.access import Credentials, ListenerPolicy
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.ether_spec import EtherSpec
from tinyssb_node.faces.radio import RadioChoice
from tinyssb_node.faces.spec import FaceSpec, open_endpoint, parse_spec
from tinyssb_node.faces.udp_spec import UdpSpec
from tinyssb_node.faces.ws_spec import WsConnectSpec, WsListenSpec

EXAMPLES: dict[str, FaceSpec] = {
    "udp:239.5.5.8:1558": UdpSpec(),
    "udp:239.5.5.8:1558?interface=lo": UdpSpec(interface="lo"),
    "udp:239.5.5.8:1558?interface=192.168.1.7&ttl=4&copies=off&name=home": UdpSpec(
        interface="192.168.1.7", ttl=4, copies=False, name="home"
    ),
    "ws:listen:0.0.0.0:8080": WsListenSpec(host="0.0.0.0", port=8080),
    "ws:listen:[::]:0?peers=8&name=pub": WsListenSpec(host="::", port=0, peers=8, name="pub"),
    "ws:listen:127.0.0.1:8080?token=/t": WsListenSpec(
        host="127.0.0.1", port=8080, guard=ListenerPolicy(token=Path("/t"))
    ),
    "ws:listen:0.0.0.0:8080?open=on&each=4&rate=100&idle=600": WsListenSpec(
        host="0.0.0.0", port=8080, guard=ListenerPolicy(open=True, each=4, rate=100, idle_s=600)
    ),
    "ws:listen:[::]:443?cert=/a%20b/c.pem&key=/k&clients=/ca&token=/t&name=pub": WsListenSpec(
        host="::",
        port=443,
        guard=ListenerPolicy(
            certificate=Path("/a b/c.pem"), key=Path("/k"), clients=Path("/ca"), token=Path("/t")
        ),
        name="pub",
    ),
    f"ws:connect:hut:443?tls=on&ca=/ca&pin={'5a' * 32}&cert=/c&key=/k&token=/t": WsConnectSpec(
        host="hut",
        port=443,
        credentials=Credentials(
            tls=True,
            authorities=Path("/ca"),
            pin=b"\x5a" * 32,
            certificate=Path("/c"),
            key=Path("/k"),
            token=Path("/t"),
        ),
    ),
    "ws:connect:pub.example.org:8989": WsConnectSpec(host="pub.example.org", port=8989),
    "ws:connect:[2001:db8::1]:443?path=/gossip&tls=on": WsConnectSpec(
        host="2001:db8::1", port=443, path="/gossip", credentials=Credentials(tls=True)
    ),
    "ether:127.0.0.1:7777?name=ana": EtherSpec(host="127.0.0.1", port=7777, name="ana"),
    "ether:127.0.0.1:7777?name=ana&region=EU868": EtherSpec(
        host="127.0.0.1", port=7777, name="ana", radio=RadioChoice(region=Region.EU868)
    ),
    "ether:127.0.0.1:7777?name=ana&region=EU868&plan=EU868.a&firmware=fw2023": EtherSpec(
        host="127.0.0.1",
        port=7777,
        name="ana",
        radio=RadioChoice(region=Region.EU868, plan="EU868.a", firmware=FirmwareRelease.FW2023),
    ),
    "ether:127.0.0.1:7777?name=ana&region=EU868&frequency=869.525&bandwidth=250&sf=9&cr=7&sync=0x12"
    "&power=20&gain=6.5&loss=0.75": EtherSpec(
        host="127.0.0.1",
        port=7777,
        name="ana",
        radio=RadioChoice(
            region=Region.EU868,
            lora=LoraSettings(
                frequency_hz=869_525_000,
                bandwidth_hz=250_000,
                spreading_factor=9,
                coding_rate=7,
                sync_word=0x12,
            ),
            power_dbm=20,
            antenna=Antenna(gain_cdbi=650, loss_cdb=75),
        ),
    ),
}


@pytest.mark.parametrize(("text", "spec"), EXAMPLES.items())
def test_examples_both_ways(text: str, spec: FaceSpec) -> None:
    assert parse_spec(text) == spec
    assert serialize_spec(spec) == text


names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", fullmatch=True)
hosts = st.from_regex(
    r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,20}){0,3}\.?", fullmatch=True
) | st.ip_addresses(v=6).map(str)
interfaces = st.from_regex(r"[a-z][A-Za-z0-9._-]{0,14}", fullmatch=True) | st.ip_addresses(v=4).map(str)
ports = st.integers(1, 65_535)
antennas = st.builds(Antenna, gain_cdbi=st.integers(-2_000, 600), loss_cdb=st.integers(0, 3_000))
powers = st.none() | st.integers(-9, 8)
plans = st.builds(
    RadioChoice,
    region=st.just(Region.EU868),
    plan=st.sampled_from(["EU868.a", "EU868.b"]),
    firmware=st.sampled_from(FirmwareRelease),
    power_dbm=powers,
    antenna=antennas,
)
settings = st.builds(
    LoraSettings,
    frequency_hz=st.integers(865_250_000, 867_750_000),
    bandwidth_hz=st.sampled_from(BANDWIDTHS_HZ),
    spreading_factor=st.just(7),
    coding_rate=st.integers(5, 8),
    sync_word=st.integers(0, 255),
)
radios = plans | st.builds(
    RadioChoice,
    region=st.just(Region.EU868),
    lora=st.none() | settings,
    power_dbm=powers,
    antenna=antennas,
)
files = st.none() | st.from_regex(r"/[a-zA-Z0-9 ä&?=%+.-]{1,12}", fullmatch=True).map(Path).filter(
    lambda file: file.name != ""
)
guards = st.builds(
    ListenerPolicy,
    certificate=files,
    key=files,
    clients=files,
    token=files,
    open=st.booleans(),
    each=st.none() | st.integers(1, 64),
    rate=st.none() | st.integers(10, 10_000),
    idle_s=st.none() | st.integers(60, 86_400),
)
credentials = st.builds(
    Credentials,
    tls=st.booleans(),
    authorities=files,
    pin=st.none() | st.binary(min_size=32, max_size=32),
    certificate=files,
    key=files,
    token=files,
)
specs: st.SearchStrategy[FaceSpec] = st.one_of(
    st.builds(
        UdpSpec,
        group=st.ip_addresses(network="224.0.0.0/4").map(str),
        port=ports,
        interface=st.none() | interfaces,
        ttl=st.integers(0, 255),
        copies=st.booleans(),
        name=st.none() | names,
    ),
    st.builds(
        WsListenSpec,
        host=hosts,
        port=st.integers(0, 65_535),
        peers=st.integers(1, 64),
        guard=guards,
        name=st.none() | names,
    ).filter(lambda spec: spec.guard.flaw(spec.host) is None),
    st.builds(
        WsConnectSpec,
        host=hosts,
        port=ports,
        path=st.from_regex(r"/[A-Za-z0-9._~!$&'()*+,;=:@/?%-]{0,50}", fullmatch=True),
        credentials=credentials,
        name=st.none() | names,
    ).filter(lambda spec: spec.credentials.flaw(spec.host) is None),
    st.builds(EtherSpec, host=hosts, port=ports, name=names, radio=st.none() | radios),
)


@given(specs)
def test_what_is_written_is_read_back(spec: FaceSpec) -> None:
    assert parse_spec(serialize_spec(spec)) == spec


@given(st.text(max_size=80) | st.text("udp:wslistenconetr.?=&[]%0123456789/", max_size=80))
def test_any_text_is_a_spec_or_a_spec_error(text: str) -> None:
    try:
        spec = parse_spec(text)
    except FaceSpecError:
        return
    assert parse_spec(serialize_spec(spec)) == spec


@pytest.mark.parametrize(
    ("text", "what", "allowed"),
    [
        ("", "begins with nothing known", "ws:listen:HOST:PORT"),
        ("tcp:127.0.0.1:80", "begins with nothing known", "udp:GROUP:PORT"),
        ("udp:239.5.5.8", "'239.5.5.8' is no address", "HOST:PORT"),
        ("udp:192.168.1.1:1558", "no multicast group", "224.0.0.0"),
        ("udp:group:1558", "no multicast group", "239.5.5.8"),
        ("udp:239.5.5.8:70000", "port is 70000", "1 to 65535"),
        ("udp:239.5.5.8:0", "port is 0", "1 to 65535"),
        ("udp:239.5.5.8:1558?ttl=256", "ttl is '256'", "0 to 255"),
        ("udp:239.5.5.8:1558?copies=maybe", "copies is 'maybe'", "on, off"),
        ("udp:239.5.5.8:1558?interface=", "interface is ''", "interface"),
        ("udp:239.5.5.8:1558?interface=192.168.1.999", "interface is '192.168.1.999'", "IPv4 address"),
        ("udp:239.5.5.8:1558?interface=a/b", "interface is 'a/b'", "IPv4 address"),
        ("udp:239.5.5.8:1558?colour=red", "no option 'colour'", "interface, ttl, copies, name"),
        ("udp:239.5.5.8:1558?ttl", "'ttl' has no value", "key=value"),
        ("udp:239.5.5.8:1558?ttl=1&ttl=2", "'ttl' is given twice", "once"),
        ("ws:listen:localhost:8080?peers=65", "peers is '65'", "1 to 64"),
        ("ws:listen::8080", "'' is no host", "host name"),
        ("ws:connect:a..b:8080", "'a..b' is no host", "host name"),
        ("ws:connect:" + "a" * 64 + ":8080", "is no host", "host name"),
        ("ws:listen:[::g]:8080", "no IPv6 address", "[::1]"),
        ("ws:listen:::1:8080", "is no address", "brackets"),
        ("ws:connect:localhost:8080?path=gossip", "path is 'gossip'", "begins with '/'"),
        ("ws:connect:localhost:8080?tls=1", "tls is '1'", "on, off"),
        ("ws:listen:[::]:443?cert=/c", "a certificate and its key", "faces.md"),
        ("ws:listen:[::]:443?clients=/ca", "within TLS", "faces.md"),
        ("ws:listen:0.0.0.0:80?token=/t", "a token sent without TLS is readable", "faces.md"),
        ("ws:listen:127.0.0.1:80?token=/t&open=on", "open to all and ask", "faces.md"),
        ("ws:listen:127.0.0.1:80?token=t", "token is 't'", "path of a file"),
        ("ws:listen:127.0.0.1:80?each=65", "each is '65'", "1 to 64"),
        ("ws:listen:127.0.0.1:80?rate=9", "rate is '9'", "10 to 10000"),
        ("ws:listen:127.0.0.1:80?idle=59", "idle is '59'", "60 to 86400"),
        ("ws:connect:pub:80?token=/t", "a token sent without TLS can be read by others", "faces.md"),
        ("ws:connect:pub:80?pin=" + "00" * 32, "a matter of TLS", "faces.md"),
        ("ws:connect:pub:80?tls=on&key=/k", "a certificate and its key", "faces.md"),
        ("ws:connect:pub:80?tls=on&pin=00", "pin is '00'", "64 hexadecimal digits"),
        ("ether:127.0.0.1:7777", "gives no name", "?name="),
        ("ether:127.0.0.1:7777?name=-x", "name is '-x'", "letters"),
        ("ether:127.0.0.1:7777?name=" + "x" * 33, "name is", "1 to 32"),
        ("ether:h:1?name=a&region=EU900", "region is 'EU900'", "EU868, EU433, US915"),
        ("ether:h:1?name=a&region=EU868&plan=x", "no plan 'x' in fw2025", "US915.a, US915.b"),
        ("ether:h:1?name=a&region=EU868&plan=", "no plan ''", "EU868.a"),
        ("ether:h:1?name=a&plan=EU868.a", "a radio but names no region", "&region= and one of EU868, EU433"),
        ("ether:h:1?name=a&gain=2.15", "a radio but names no region", "&region="),
        ("ether:h:1?name=a&frequency=868.3", "a radio but names no region", "&region="),
        (
            "ether:h:1?name=a&region=EU868&firmware=fw2023",
            "a firmware but no plan",
            "&plan= and one of AU915.a",
        ),
        ("ether:h:1?name=a&region=EU868&sf=9", "sets the modem but gives no frequency", "&frequency= in MHz"),
        ("ether:h:1?name=a&region=EU868&plan=EU868.a&frequency=868.3", "a plan and other settings", "either"),
        ("ether:h:1?name=a&region=EU868&frequency=86", "frequency is '86'", "137 to 1020 MHz"),
        ("ether:h:1?name=a&region=EU868&frequency=868.3000001", "frequency is", "137 to 1020 MHz"),
        (
            "ether:h:1?name=a&region=EU868&frequency=868.3&bandwidth=200",
            "bandwidth is '200'",
            "125, 250, 500 kHz",
        ),
        ("ether:h:1?name=a&region=EU868&frequency=868.3&sf=6", "sf is '6'", "7 to 12"),
        ("ether:h:1?name=a&region=EU868&frequency=868.3&cr=4/5", "cr is '4/5'", "5 to 8"),
        ("ether:h:1?name=a&region=EU868&frequency=868.3&sync=88", "sync is '88'", "0x00 to 0xff"),
        ("ether:h:1?name=a&region=EU868&power=31", "power is '31'", "-9 to 30 dBm"),
        ("ether:h:1?name=a&region=EU868&gain=dipole", "gain is 'dipole'", "-20 to 30 dBi"),
        ("ether:h:1?name=a&region=EU868&loss=-1", "loss is '-1'", "0 to 30 dB"),
        (
            "ether:h:1?name=a&region=EU868&frequency=868.65",
            "868.65 MHz, 125 kHz, SF7 is not legal",
            "868.5375 MHz",
        ),
        ("ether:h:1?name=a&region=EU868&plan=EU868.a&power=20", "is more than 14 dBm ERP", "14 dBm or less"),
        ("ether:h:1?name=a&region=EU868&plan=EU868.a&gain=28", "is more than 14 dBm ERP", "less gain"),
        ("ether:h:1?name=a&firmware=1", "firmware is '1'", "fw2025, fw2023"),
        ("ether:h:1?name=a&region=US915&plan=US915.a", "neither as frequency hopping", "(US915.c of fw2025)"),
        ("ether:h:1?name=a&region=US915&plan=EU868.a", "lies in none", "902.25 MHz, 500 kHz"),
        ("ether:h:1?name=a&colour=red", "no option 'colour'", "name, region, plan, firmware, frequency"),
        ("udp:" + "x" * 600, "604 characters", "512"),
    ],
)
def test_errors_name_what_is_wrong_and_what_is_allowed(text: str, what: str, allowed: str) -> None:
    with pytest.raises(FaceSpecError) as caught:
        parse_spec(text)
    assert caught.value.spec in (text, text[:40] + "…")
    assert what in caught.value.what
    assert allowed in caught.value.allowed
    assert caught.value.what in str(caught.value)
    assert caught.value.allowed in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("udp:239.5.5.8:1558", "udp"),
        ("udp:239.5.5.8:1558?interface=wlan0", "udp:wlan0"),
        ("udp:239.5.5.8:1558?name=home", "home"),
        ("ws:connect:[::1]:8080", "ws:[::1]:8080"),
        ("ws:connect:pub:8080?name=pub", "pub"),
        ("ether:127.0.0.1:7777?name=ana", "ether:ana"),
    ],
)
def test_faces_are_named_after_their_spec(text: str, name: str) -> None:
    spec = parse_spec(text)
    assert not isinstance(spec, WsListenSpec)
    assert spec.face_name == name


@given(specs)
def test_the_library_can_use_every_url(spec: FaceSpec) -> None:
    if isinstance(spec, WsConnectSpec):
        url = parse_uri(spec.url)
        assert (url.host, url.port, url.secure) == (spec.host.lower(), spec.port, spec.credentials.tls)


def test_a_pin_may_be_written_as_openssl_prints_it() -> None:
    colons = ":".join(["AB"] * 32)
    spec = parse_spec(f"ws:connect:hut:443?tls=on&pin={colons}")
    assert spec == parse_spec(f"ws:connect:hut:443?tls=on&pin={'ab' * 32}")


def test_urls() -> None:
    assert WsConnectSpec(host="::1", port=8080, path="/x?y=1").url == "ws://[::1]:8080/x?y=1"
    assert WsConnectSpec(host="pub", port=443, credentials=Credentials(tls=True)).url == "wss://pub:443/"


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_form_opens(text: str) -> None:
    assert open_endpoint(text).spec == text


def test_back_ends_are_loaded_only_when_opened() -> None:
    import subprocess
    import sys

    program = (
        "import sys; from tinyssb_node.faces.spec import parse_spec; parse_spec('ws:listen:localhost:1');"
        "sys.exit('websockets' in sys.modules or 'tinyssb_node.faces.udp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
