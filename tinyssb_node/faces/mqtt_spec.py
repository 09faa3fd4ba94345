"""Spec strings of MQTT: mqtt:HOST:PORT. Grammar: docs/reference/faces.md. They never hold a password."""

import re
from dataclasses import dataclass
from typing import Final

from tinyssb_node.faces import limits
from tinyssb_node.faces.access import is_local
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.mqtt_topics import ROOT
from tinyssb_node.faces.spec_reader import SpecReader, bracketed, matching
from tinyssb_node.ids import FaceName

MQTT_OPTIONS: Final = "tls, ca, cert, key, user, password, credential, root, gossip, version, name"
"""All options, as errors show them."""

_PATH = re.compile(r"/[^\x00-\x1f\x7f?&]{1,199}")
_PATH_RULE: Final = "an absolute path of a file"
_USER = re.compile(r"[^\x00-\x1f\x7f]{1,128}")
_CREDENTIAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ROOT = re.compile(rf"(?=.{{1,{limits.MQTT_ROOT_MAX}}}\Z)[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
_VERSION = re.compile(r"5|3\.1\.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class MqttSpec:
    """A broker."""

    host: str
    """Host name or address."""
    port: int
    """1 to 65535."""
    tls: bool = False
    """True to use TLS, with the broker's certificate checked."""
    ca: str | None = None
    """File with the certificates that the broker's must go back to; None: the system's list."""
    cert: str | None = None
    """File with our own certificate, for brokers that want one."""
    key: str | None = None
    """File with the key to it."""
    user: str | None = None
    """Our user name at the broker."""
    password: str | None = None
    """File with the password."""
    credential: str | None = None
    """In its place, the name of a credential that systemd hands in."""
    root: str = ROOT
    """First part of all topics."""
    gossip: bool = True
    """True to exchange gossip about sets, too, and not only entries and chunks."""
    version: str = "5"
    """Of MQTT: ``5`` or ``3.1.1``."""
    name: str | None = None
    """The face's name; None: made from the rest."""

    @property
    def face_name(self) -> FaceName:
        """``mqtt:HOST:PORT``."""
        return FaceName(self.name or f"mqtt:{self.place}")

    @property
    def place(self) -> str:
        """``HOST:PORT``."""
        return f"{bracketed(self.host)}:{self.port}"


def parse_mqtt(reader: SpecReader) -> MqttSpec | None:
    """Read the spec string of a broker; None if it is none. Raises FaceSpecError."""
    if not reader.skip("mqtt:"):
        return None
    host, port = reader.place(port_min=1)

    def file(key: str) -> str | None:
        return reader.option(key, None, matching(_PATH), _PATH_RULE)

    spec = MqttSpec(
        host=host,
        port=port,
        tls=reader.switch("tls", default=False),
        ca=file("ca"),
        cert=file("cert"),
        key=file("key"),
        user=reader.option("user", None, matching(_USER), "1 to 128 characters"),
        password=file("password"),
        credential=reader.option("credential", None, matching(_CREDENTIAL), "a name, as in LoadCredential="),
        root=reader.option("root", ROOT, matching(_ROOT), "levels like home/tinyssb, without + and #"),
        gossip=reader.switch("gossip", default=True),
        version=reader.option("version", "5", matching(_VERSION), "5, 3.1.1"),
        name=reader.name(),
    )
    _check(reader, spec)
    reader.end(MQTT_OPTIONS)
    return spec


def parse_broker(text: str) -> MqttSpec:
    """Read the spec string of a broker that is no face, which ``broker_flaw`` has checked."""
    spec = parse_mqtt(SpecReader(text))
    assert spec is not None, "broker_flaw() has checked it"
    return spec


def broker_flaw(text: str) -> str | None:
    """Return what is wrong with the spec string of a broker that is no face, as a rule for people; None: nothing."""
    try:
        spec = parse_mqtt(SpecReader(text))
    except FaceSpecError as error:
        return f"{error.what}. Possible: {error.allowed}"
    if spec is None:
        return 'it takes a broker such as "mqtt:broker.example.org:8883?tls=on"'
    if spec.root != ROOT or not spec.gossip or spec.name is not None:
        return "root=, gossip= and name= are for faces only"
    return None


def _check(reader: SpecReader, spec: MqttSpec) -> None:
    """Refuse options that contradict each other, and a password that would be sent in the clear."""
    if not spec.tls and (spec.ca or spec.cert):
        reader.fail("it names certificates, but uses no TLS", "tls=on with them")
    if (spec.cert is None) != (spec.key is None):
        reader.fail("a certificate and its key go together", "cert= and key=, or neither")
    if spec.password is not None and spec.credential is not None:
        reader.fail("it names two places of the password", "password= or credential=")
    secret = spec.password or spec.credential
    if (spec.user is None) != (secret is None):
        reader.fail(
            "a user and the password go together", "user= with password= (a file) or credential=, or neither"
        )
    if secret is not None and not spec.tls and not is_local(spec.host):
        reader.fail("without TLS the password could be read on the way", "tls=on")
