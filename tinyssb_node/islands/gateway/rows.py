"""The gateway's answers at its socket, field by field (docs/formats/gateway.md). Used by both ends."""

from tinyssb_node.control.rows import ControlRow


class RelayRow(ControlRow, frozen=True):
    """The relay for nodes that cannot be reached."""

    registered: int
    registered_max: int
    pairs: int
    pairs_max: int
    used_bytes: int
    quota_bytes: int
    refused: int
    refused_bytes: int = 0
    refused_ago_us: int | None = None


class LocatorRow(ControlRow, frozen=True, kw_only=True):
    """One network's locator."""

    network: str
    reached: bool
    historic: int
    unconfirmed: int
    confirmed: int
    labels: int
    locations: int
    offers: int
    sought: int
    looking: int
    lookups: int
    newer: int
    received: dict[str, int]
    sent: dict[str, int]
    received_bytes: int
    sent_bytes: int
    drops: dict[str, int]
    relays: tuple[str, ...] = ()


class LinkRow(ControlRow, frozen=True, kw_only=True):
    """A connection to another gateway."""

    network: str
    address: str
    called: bool
    feed: str | None
    up_us: int
    got: int
    given: int
    received_bytes: int
    sent_bytes: int
    relayed: bool = False


class ProblemRow(ControlRow, frozen=True):
    """Something that went wrong."""

    what: str
    problem: str
    ago_us: int


class GatewayRow(ControlRow, frozen=True, kw_only=True):
    """Answer of `status`."""

    pid: int
    uptime_us: int
    listen: str
    address: str | None
    away: bool
    networks: list[LocatorRow]
    links: list[LinkRow]
    unsent: int
    problems: list[ProblemRow]
    relay: RelayRow | None = None
    also: str | None = None


class LocationRow(ControlRow, frozen=True):
    """Item of `locate`."""

    feed: str
    address: str
    connection: str
    entries: int
    whole: int
    old: bool
    elapsed_us: int


class LocatedRow(ControlRow, frozen=True, kw_only=True):
    """Result of `locate`."""

    feed: str
    count: int
    reports: int
    denials: int
    peers: int = 1
