"""What the control protocol's commands answer, field by field (docs/formats/control.md). Used by both ends."""

from typing import NotRequired, TypedDict


class EndpointRow(TypedDict):
    """One configured face spec."""

    spec: str
    problem: str | None
    turned_away: NotRequired[int]


class CompanionRow(TypedDict):
    """A process that the daemon keeps running beside it."""

    name: str
    problem: str | None
    advice: str
    ends: int
    given_up: bool


class WaitingRow(TypedDict):
    """What is waited for before the node's feed is written."""

    doubt: str
    reason: str
    awaited: str
    held: int
    expected: int
    heard: bool
    left_us: int


class SureRow(TypedDict):
    """Answer of `sure`."""

    changed: bool


class RekeyedRow(TypedDict):
    """Answer of `rekey`."""

    kept: int
    left: int


class IdentityRow(TypedDict):
    """A further identity of the node, in one network."""

    name: str
    feed: str | None
    dialect: str | None
    problem: str | None
    frozen_at: int | None
    waiting: WaitingRow | None


class NetworkRow(TypedDict):
    """One network of a node."""

    name: str
    network: str | None
    feeds: int
    entries: int
    arrivals: int
    forked: int
    waiting: NotRequired[WaitingRow | None]
    frozen_at: NotRequired[int | None]
    identities: NotRequired[list[IdentityRow]]


class StatusRow(TypedDict):
    """Answer of `status`."""

    name: str
    feed: str
    dialect: str
    version: str
    home: str
    pid: int
    boot: int
    uptime_us: int
    read_only: str | None
    feeds: int
    entries: int
    arrivals: int
    forked: int
    waiting: NotRequired[WaitingRow | None]
    frozen_at: NotRequired[int | None]
    identities: NotRequired[list[IdentityRow]]
    faces: int
    endpoints: list[EndpointRow]
    companions: NotRequired[list[CompanionRow]]
    turned_away: NotRequired[int]
    networks: list[NetworkRow]


class PublishedRow(TypedDict):
    """Answer of `publish`."""

    feed: str
    seq: int
    id: str
    type: int
    size: int
    chunks: int


class FeedRow(TypedDict):
    """Item of `feeds`."""

    feed: str
    dialect: str | None
    seq: int
    tip: str | None
    own: bool
    wanted: bool
    blocked: NotRequired[bool]
    forked_at: int | None
    child: bool
    identity: NotRequired[str | None]
    writable: NotRequired[bool | None]
    retired: bool


class ForkRow(TypedDict):
    """Item of `forks`."""

    feed: str
    own: bool
    seq: int
    entries: int
    held: str
    other: str
    found_us: int | None
    proof: str


class EntryRow(TypedDict):
    """Item of `log`."""

    feed: str
    seq: int
    id: str
    type: int
    size: int
    chunks: int
    chunks_held: int
    origin: str
    face: str | None
    arrival: int
    committed_us: int
    content: str | None


class ShownRow(EntryRow):
    """Answer of `show`."""

    packet: str
    signature: str
    forked: bool


class FollowedRow(TypedDict):
    """Answer of `follow` and `unfollow`."""

    feed: str
    changed: bool


class GosetRow(TypedDict):
    """Answer of `goset`."""

    state: str
    count: int
    feeds: list[str]


class FaceRow(TypedDict):
    """Item of `faces`."""

    face: str
    spec: str
    medium: str
    queued: int
    outstanding: int
    sent: int
    received: int
    new: int
    invalid: int
    heard_us: int | None
    full_us: NotRequired[int]


class AirtimeRow(TypedDict):
    """Item of `airtime`."""

    band: str
    faces: list[str]
    limit_us: int
    window_us: int
    used_us: int
    left_us: int
    advert_left_us: int
    content_left_us: int
    full_us: int
    wait_us: int | None


class HolderRow(TypedDict):
    """Who holds an entry."""

    kind: str
    feed: str | None
    face: str | None
    speaker: str | None
    since_us: int


class ReceiptRow(TypedDict):
    """Item of `receipts`."""

    feed: str
    seq: int
    id: str
    committed_us: int
    held: int
    proven: int
    inferred: int
    expected: int
    holders: list[HolderRow]
    missing: list[str]
    silent: list[str]


class RefusedRow(TypedDict):
    """What stopped an import."""

    packet: int
    reason: str


class ImportedRow(TypedDict):
    """Answer of `import`."""

    entries: int
    chunks: int
    held: int
    refused: RefusedRow | None


class BroughtRow(TypedDict):
    """Answer of `bring`."""

    shelved: bool
    entries: int
    chunks: int
    held: int
    refused: RefusedRow | None
    dropped: list[str]


class CountRow(TypedDict):
    """Result of listings."""

    count: int
