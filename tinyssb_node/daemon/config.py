"""config.toml: what a node's user may change. Every key is described in docs/reference/config.md."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.control.settings import read_settings, socket_path
from tinyssb_node.daemon.configreader import ConfigReader
from tinyssb_node.daemon.subjects import SUBJECTS, Settings
from tinyssb_node.errors import UnknownNetworkError, as_toml
from tinyssb_node.gossip.admission import AdmissionPolicy
from tinyssb_node.ids import DEFAULT_NETWORK, NetworkName
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.store.home import CONTROL_SOCKET, Home

DEFAULT_FACES = ("udp:239.5.5.8:1558",)
"""Faces of a fresh node: the multicast group all tinySSB programs use."""
WEB_LISTEN = f"127.0.0.1:{limits.WEB_PORT}"
"""Where the web page is unless said otherwise: this machine alone."""
WEB_TOKEN = "web.token"  # noqa: S105 - a file's name
_DAY_S = 86_400
_HOUR_S = 3_600
_MIB = 1_048_576


class LogLevel(StrEnum):
    """Least importance of what is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How log lines look."""

    CONSOLE = "console"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Settings of config.toml, checked, with defaults filled in."""

    name: str
    """The node's name for its user's eyes."""
    networks: Mapping[NetworkName, Network]
    """The networks it takes part in, the default one first."""
    faces: tuple[str, ...]
    """Spec strings of the faces to open."""
    latitude: float | None
    """Where the node stands, degrees north (WGS 84); None if its user does not say."""
    longitude: float | None
    """Degrees east; None likewise."""
    events_segment_bytes: int
    """Size at which a segment of the event log ends."""
    events_segment_age_s: int
    """Age in seconds at which it does."""
    events_keep_age_s: int
    """Age in seconds at which segments are deleted."""
    events_keep_bytes: int
    """Bytes of event log beyond which the oldest segments are deleted."""
    log_level: LogLevel
    log_format: LogFormat
    acknowledge_enabled: bool
    """True if the node says in its feed which entries of others it holds."""
    control_socket: Path
    """Where the control socket is."""
    control_group: str | None
    """The group whose members may use it; empty: none; None: the usual one, where there is one."""
    web_enabled: bool
    """True if the daemon starts the web page."""
    web_listen: tuple[str, int]
    """Address and port of the web page."""
    web_token_file: Path
    """Where the token of the web page is, if there is one."""
    optional: Mapping[str, Settings]
    """Settings of optional subjects, by the names of their tables; a table that the file lacks is absent."""
    set_admit: AdmissionPolicy
    """Whose feed ids come into the sets when peers name them."""
    set_ids_per_hour: int
    """How many of them each face may bring an hour, once there are more than a few."""
    set_admit_across: AdmissionPolicy
    """Whose feed ids come into the sets when faces other than radios name them, while a radio is up."""
    set_shelf_bytes: int
    """Bytes of disk that feeds in no set may take, for each network; 0: none are kept."""

    def find_network(self, name: str) -> tuple[NetworkName, Network]:
        """The network called *name*. Raises UnknownNetworkError."""
        return find_network(self.networks, name)


def read_config(home: Home) -> Config:
    """Read *home*'s config.toml; a missing one means all defaults. Raises ConfigError."""
    return parse_config(home, read_settings(home))


def parse_config(home: Home, document: dict[str, object]) -> Config:
    """Check a parsed TOML *document*. Raises ConfigError."""
    reader = ConfigReader(home.config, document)
    networks = _networks(reader)
    config = Config(
        name=_name(reader),
        networks=networks,
        faces=_faces(reader),
        latitude=reader.degrees("latitude", 90),
        longitude=reader.degrees("longitude", 180),
        events_segment_bytes=reader.number("events.segment_mib", 16, 1, 1024) * _MIB,
        events_segment_age_s=reader.number("events.segment_hours", 1, 1, 24 * 7) * _HOUR_S,
        events_keep_age_s=reader.number("events.keep_days", 30, 1, 3650) * _DAY_S,
        events_keep_bytes=reader.number("events.keep_mib", 1024, 16, 1_048_576) * _MIB,
        log_level=reader.choice("log.level", LogLevel.INFO),
        log_format=reader.choice("log.format", LogFormat.CONSOLE),
        acknowledge_enabled=reader.flag("acknowledge.enabled", default=True),
        control_socket=socket_path(home, reader.value("control.socket", CONTROL_SOCKET)),
        control_group=_group(reader),
        web_enabled=reader.flag("web.enabled", default=False),
        web_listen=_web_listen(reader),
        web_token_file=home.root
        / Path(reader.text("web.token_file", WEB_TOKEN, "it takes a path")).expanduser(),
        optional=_optional(reader, home, networks),
        set_admit=reader.choice("set.admit", AdmissionPolicy.OPEN),
        set_ids_per_hour=reader.number("set.ids_per_hour", set_limits.SET_IDS_PER_HOUR, 1, 100_000),
        set_admit_across=reader.choice("set.admit_across", AdmissionPolicy.OPEN),
        set_shelf_bytes=reader.number("set.shelf_mib", 256, 0, 1_048_576) * _MIB,
    )
    reader.finish()
    return config


def initial_config(name: str, faces: tuple[str, ...]) -> str:
    """The config.toml of a fresh node."""
    listed = "".join(f"    {as_toml(face)},\n" for face in faces)
    return f"""# This node's settings; docs/reference/config.md describes them. Restart the daemon after a change.

name = {as_toml(name)}
faces = [
{listed}]
"""


def check_name(name: str) -> str | None:
    """Return the problem with a node's name; None if it is valid."""
    if 1 <= len(name) <= limits.NAME_MAX and name.isprintable() and name == name.strip():
        return None
    return f"it takes 1 to {limits.NAME_MAX} printable characters, with no space around them"


def _name(reader: ConfigReader) -> str:
    name = reader.text("name", "node", "it takes text")
    if wrong := check_name(name):
        raise reader.refuse("name", name, wrong)
    return name


def _networks(reader: ConfigReader) -> dict[NetworkName, Network]:
    """The default network and those with a name; no two with one key, since nothing would tell their packets apart."""
    networks = {DEFAULT_NETWORK: Network(_network_key(reader, "network_key"))}
    for name in reader.tables("networks"):
        if not _NETWORK_NAME.fullmatch(name) or name == DEFAULT_NETWORK:
            allowed = (
                f"a network's name has up to {limits.NAME_MAX} small letters, digits and hyphens, "
                f"begins with a letter, and is not {DEFAULT_NETWORK}"
            )
            raise reader.refuse("networks", name, allowed)
        place = f"networks.{name}.key"
        if not reader.has(place):
            raise reader.refuse("", None, f'[networks.{name}] needs a key, such as key = "0a1b2c3d"')
        network = Network(_network_key(reader, place))
        for other, known in networks.items():
            if network == known:
                raise reader.refuse(place, network.key.hex(), f"the network {other} has the same key")
        networks[NetworkName(name)] = network
    if len(networks) > limits.NETWORKS_MAX:
        names = [name for name in networks if name != DEFAULT_NETWORK]
        allowed = f"there may be {limits.NETWORKS_MAX}, the default one included"
        raise reader.refuse("networks", names, allowed)
    return networks


_NETWORK_NAME = re.compile(rf"[a-z][a-z0-9-]{{0,{limits.NAME_MAX - 1}}}")
"""A network's name is a folder's, too."""


def _network_key(reader: ConfigReader, place: str) -> bytes:
    allowed = f"it takes hexadecimal digits, two a byte, for up to {limits.NETWORK_KEY_MAX} bytes"
    text = reader.text(place, "", allowed)
    try:
        key = bytes.fromhex(text)
    except ValueError:
        raise reader.refuse(place, text, allowed) from None
    if len(key) > limits.NETWORK_KEY_MAX:
        raise reader.refuse(place, text, allowed)
    return key


def find_network(networks: Mapping[NetworkName, Network], name: str) -> tuple[NetworkName, Network]:
    """The one of *networks* called *name*. Raises UnknownNetworkError."""
    network = networks.get(NetworkName(name))
    if network is None:
        raise UnknownNetworkError(
            f"This node has no network called '{name[: limits.NAME_MAX]}'.",
            f"It has {', '.join(networks)}; config.toml lists them, and the daemon reads it when it starts.",
        )
    return NetworkName(name), network


def _faces(reader: ConfigReader) -> tuple[str, ...]:
    faces = reader.texts("faces", DEFAULT_FACES, 'it takes a list of specs, such as ["udp:239.5.5.8:1558"]')
    for face in faces:
        if faces.count(face) > 1:
            raise reader.refuse("faces", list(faces), f"it takes each spec once, and {face} is there twice")
    return faces


def _group(reader: ConfigReader) -> str | None:
    allowed = "it takes the name of a group, or nothing for the node's user alone"
    name = reader.text("control.group", "", allowed)
    if name and not _GROUP.fullmatch(name):
        raise reader.refuse("control.group", name, allowed)
    return name if reader.has("control.group") else None


def _web_listen(reader: ConfigReader) -> tuple[str, int]:
    found = reader.address("web.listen", WEB_LISTEN, limits.WEB_PORT)
    assert found is not None, "there is a default"
    return found


def _optional(reader: ConfigReader, home: Home, networks: Iterable[NetworkName]) -> dict[str, Settings]:
    """The tables of optional subjects. A subject is loaded only if the file has its table: most nodes do without."""
    found: dict[str, Settings] = {}
    for subject in SUBJECTS:
        if subject.is_present:
            reader.know(f"{subject.table}.{key}" for key in subject.keys)
        if not reader.tables(subject.table):
            continue
        if not subject.is_present:
            allowed = f"the table [{subject.table}] needs {subject.process}, which is not installed"
            raise reader.refuse("", None, allowed)
        read = subject.load(subject.settings).read_settings
        found[subject.table] = read(reader, home.root, networks)
    return found


_GROUP = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
"""Names that groupadd(8) accepts, and capitals."""
