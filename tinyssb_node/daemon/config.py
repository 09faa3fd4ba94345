"""config.toml: what a node's user may change. Every key is described in docs/reference/config.md."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.control.settings import SOCKET_RULE, read_settings, socket_path
from tinyssb_node.daemon.config_table import (
    Address,
    ConfigTable,
    Flaw,
    SubjectTable,
    TableReader,
    address_rule,
    table_keys,
)
from tinyssb_node.daemon.subjects import SUBJECTS, present
from tinyssb_node.errors import ProblemError, as_toml
from tinyssb_node.gossip.admission import AdmissionPolicy
from tinyssb_node.ids import DEFAULT_NETWORK, NetworkName
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.store.home import CONTROL_SOCKET, Home

DEFAULT_FACES = ("udp:239.5.5.8:1558",)
"""Faces of a fresh node: the multicast group all tinySSB programs use."""


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


_Address = Annotated[Address, Meta(description=address_rule(limits.WEB_PORT))]
_BYTE = r"[ \t\n\r\f\v]*+[0-9a-fA-F]{2}"
_NetworkKey = Annotated[
    str,
    Meta(
        pattern=rf"\A(?:{_BYTE}){{0,{limits.NETWORK_KEY_MAX}}}+\s*\Z",
        description=f"it takes hexadecimal digits, two a byte, for up to {limits.NETWORK_KEY_MAX} bytes",
    ),
]


class EventsTable(ConfigTable, frozen=True, kw_only=True):
    """Table ``[events]``: the event log."""

    segment_mib: Annotated[int, Meta(ge=1, le=1024)] = 16
    """Size at which a segment ends."""
    segment_hours: Annotated[int, Meta(ge=1, le=24 * 7)] = 1
    """Age at which it does."""
    keep_days: Annotated[int, Meta(ge=1, le=3650)] = 30
    """Age at which segments are deleted."""
    keep_mib: Annotated[int, Meta(ge=16, le=1_048_576)] = 1024
    """Size beyond which the oldest segments are deleted."""


class LogTable(ConfigTable, frozen=True, kw_only=True):
    """Table ``[log]``: the daemon's messages."""

    level: LogLevel = LogLevel.INFO
    format: LogFormat = LogFormat.CONSOLE


class AcknowledgeTable(ConfigTable, frozen=True, kw_only=True):
    """Table ``[acknowledge]``."""

    enabled: bool = True
    """True if the node states in its feed which entries of others it stores."""


class ControlTable(ConfigTable, frozen=True, kw_only=True):
    """Table ``[control]``: the control socket."""

    socket: Annotated[Path, Meta(description=SOCKET_RULE)] = Path(CONTROL_SOCKET)
    group: (
        Annotated[
            str,
            # Names that groupadd(8) accepts, and capitals.
            Meta(
                pattern=r"\A([A-Za-z_][A-Za-z0-9_.-]{0,31})?\Z",
                description="it takes the name of a group, or nothing for the node's user alone",
            ),
        ]
        | None
    ) = None
    """The group whose members may use it; empty: none; None: the usual one, where there is one."""


class WebTls(StrEnum):
    """TLS of the web page."""

    OFF = "off"
    """Plain HTTP."""
    SELF = "self"
    """HTTPS by an authority of the node's own."""


class WebTable(ConfigTable, frozen=True, kw_only=True):
    """Table ``[web]``: the web page."""

    enabled: bool = False
    """True if the daemon starts it."""
    listen: _Address = Address(("127.0.0.1", limits.WEB_PORT))
    """Address and port; by default for this machine alone."""
    token_file: Path = Path("web.token")
    """File of the token, if there is one."""
    tls: WebTls = WebTls.OFF
    """TLS of the page."""
    map: Path | None = None
    """File with tiles for the map; None: the map has no ground."""


class SetTable(ConfigTable, frozen=True, kw_only=True):
    """Table ``[set]``: feeds that may enter the sets, and the shelf."""

    admit: AdmissionPolicy = AdmissionPolicy.OPEN
    """Policy on the feed ids that enter the sets when peers name them."""
    ids_per_hour: Annotated[int, Meta(ge=1, le=100_000)] = set_limits.SET_IDS_PER_HOUR
    """Most of them that each face may bring an hour, once there are more than a few."""
    admit_across: AdmissionPolicy = AdmissionPolicy.OPEN
    """The same policy for faces other than radios, while a radio is up."""
    places: Annotated[int, Meta(ge=1, le=limits.SET_MAX)] = limits.SET_MAX
    """Feeds that each set may have; further ones are exchanged by name, which boards and phones do not."""
    shelf_mib: Annotated[int, Meta(ge=0, le=1_048_576)] = 256
    """Disk space that feeds in no set may take, for each network; 0: none are kept."""


class DiskTable(ConfigTable, frozen=True, kw_only=True):
    """Table ``[disk]``: the room for feeds that nobody here asked for."""

    others_percent: Annotated[float, Meta(ge=0, le=100)] = 10.0
    """Share of the disk for all of them together."""
    other_feed_percent: Annotated[float, Meta(ge=0, le=100)] = 1.0
    """Share of the disk for each of them."""
    reserve_mib: Annotated[int, Meta(ge=0, le=1_048_576)] | None = None
    """While less than this is free, nothing of them is taken; None: a tenth of the disk, at most 512 MiB."""


class _NetworkTable(ConfigTable, frozen=True, kw_only=True):
    key: _NetworkKey


class RootTable(ConfigTable, frozen=True, kw_only=True):
    """The whole file, except for networks with a name and optional subjects."""

    name: str = "node"
    """The node's name for its user."""
    network_key: _NetworkKey = ""
    faces: Annotated[
        tuple[str, ...], Meta(description='it takes a list of specs, such as ["udp:239.5.5.8:1558"]')
    ] = DEFAULT_FACES
    """Spec strings of the faces to open."""
    latitude: Annotated[float, Meta(ge=-90, le=90, description="it takes degrees, -90 to 90")] | None = None
    """Where the node stands, degrees north (WGS 84); None if its user does not say."""
    longitude: Annotated[float, Meta(ge=-180, le=180, description="it takes degrees, -180 to 180")] | None = (
        None
    )
    """Degrees east; None likewise."""
    events: EventsTable = EventsTable()
    log: LogTable = LogTable()
    acknowledge: AcknowledgeTable = AcknowledgeTable()
    control: ControlTable
    web: WebTable
    set: SetTable = SetTable()
    disk: DiskTable = DiskTable()

    def flaw(self, _networks: Collection[NetworkName]) -> Flaw | None:
        """Check the name, and that each face is there once."""
        if (wrong := check_name(self.name)) is not None:
            return "name", self.name, wrong
        for face in self.faces:
            if self.faces.count(face) > 1:
                return "faces", list(self.faces), f"it takes each spec once, and {face} is there twice"
        return None


class Config(RootTable, frozen=True, kw_only=True):
    """Settings of config.toml, checked, with defaults filled in."""

    networks: Mapping[NetworkName, Network]
    """The networks it takes part in, the default one first."""
    optional: Mapping[str, SubjectTable]
    """Settings of optional subjects, by the names of their tables; a table that the file lacks is absent."""

    def find_network(self, name: str) -> tuple[NetworkName, Network]:
        """Return the network called *name*. Raises ProblemError."""
        return find_network(self.networks, name)


def read_config(home: Home) -> Config:
    """Read *home*'s config.toml; a missing one means all defaults. Raises ConfigError."""
    return parse_config(home, read_settings(home))


def parse_config(home: Home, document: Mapping[str, object]) -> Config:
    """Check a parsed TOML *document*. Raises ConfigError."""
    # Tables with Paths are read also where the file lacks them: their defaults are relative to the home.
    rest: dict[str, object] = {"control": {}, "web": {}, **document}
    named: dict[str, object] = {}
    if isinstance(table := rest.get("networks"), dict):
        named = table
        del rest["networks"]
    reader = TableReader(home.config, lambda: _keys(named))
    tables = [
        (subject, table)
        for subject in SUBJECTS
        if isinstance(table := rest.get(subject.table), dict) and rest.pop(subject.table)
    ]
    root = reader.read(RootTable, rest)
    socket_path(home, str(root.control.socket))
    networks = _networks(reader, root.network_key, named)
    optional: dict[str, SubjectTable] = {}
    for subject, table in tables:
        if not subject.is_present:
            allowed = f"the table [{subject.table}] needs {subject.process}, which is not installed"
            raise reader.refuse("", None, allowed)
        optional[subject.table] = reader.read(subject.settings(), table, f"{subject.table}.", networks)
    return Config(**msgspec.structs.asdict(root), networks=networks, optional=optional)


def _keys(named: Iterable[str]) -> Iterator[str]:
    """Yield every key that the file may have, with *named* as networks."""
    yield from table_keys(RootTable)
    for name in named:
        yield f"networks.{name}.key"
    for subject in present():
        yield from table_keys(subject.settings(), f"{subject.table}.")


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


def _networks(
    reader: TableReader, default_key: str, named: Mapping[str, object]
) -> dict[NetworkName, Network]:
    """Return the default network and those with a name. No two have one key: nothing would tell their packets apart."""
    networks = {DEFAULT_NETWORK: Network(bytes.fromhex(default_key))}
    for name, table in named.items():
        if not _NETWORK_NAME.fullmatch(name) or name == DEFAULT_NETWORK:
            allowed = (
                f"a network's name has up to {limits.NAME_MAX} small letters, digits and hyphens, "
                f"begins with a letter, and is not {DEFAULT_NETWORK}"
            )
            raise reader.refuse("networks", name, allowed)
        if not isinstance(table, dict) or "key" not in table:
            raise reader.refuse("", None, f'[networks.{name}] needs a key, such as key = "0a1b2c3d"')
        key = reader.read(_NetworkTable, table, f"networks.{name}.").key
        network = Network(bytes.fromhex(key))
        for other, known in networks.items():
            if network == known:
                raise reader.refuse(
                    f"networks.{name}.key", network.key.hex(), f"the network {other} has the same key"
                )
        networks[NetworkName(name)] = network
    if len(networks) > limits.NETWORKS_MAX:
        names = [name for name in networks if name != DEFAULT_NETWORK]
        allowed = f"there may be {limits.NETWORKS_MAX}, the default one included"
        raise reader.refuse("networks", names, allowed)
    return networks


_NETWORK_NAME = re.compile(rf"[a-z][a-z0-9-]{{0,{limits.NAME_MAX - 1}}}")
"""A network's name is a folder's, too."""


def find_network(networks: Mapping[NetworkName, Network], name: str) -> tuple[NetworkName, Network]:
    """The one of *networks* called *name*. Raises ProblemError."""
    network = networks.get(NetworkName(name))
    if network is None:
        raise ProblemError(
            f"This node has no network called '{name[: limits.NAME_MAX]}'.",
            f"It has {', '.join(networks)}; config.toml lists them, and the daemon reads it when it starts.",
            code="unknown_network",
        )
    return NetworkName(name), network
