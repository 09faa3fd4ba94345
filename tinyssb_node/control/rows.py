"""Rows of the control protocol: its replies, field by field (docs/formats/control.md). Used by both ends.

Fields that older daemons leave out have a default.
"""

import msgspec


class ControlRow(msgspec.Struct, frozen=True):
    """A reply, or a part of one."""

    def fields(self) -> dict[str, object]:
        """Return what the control socket has of it, by name, such as for JSON."""
        fields: dict[str, object] = msgspec.to_builtins(self)
        return fields


class EndpointRow(ControlRow, frozen=True, omit_defaults=True):
    """One configured face spec."""

    spec: str
    problem: str | None
    turned_away: int | None = None
    """None: others do not connect to it."""
    changes: dict[str, str] = {}
    """Settings of a radio that differ from config.toml."""
    trial: bool = False
    """True if they go back unless they are confirmed."""


class CompanionRow(ControlRow, frozen=True):
    """A process that the daemon keeps running beside it."""

    name: str
    problem: str | None
    advice: str
    ends: int
    given_up: bool


class WaitingRow(ControlRow, frozen=True):
    """Condition that the node waits for before it writes its feed."""

    doubt: str
    reason: str
    awaited: str
    held: int
    expected: int
    heard: bool
    left_us: int


class ReopenedIdentitiesRow(ControlRow, frozen=True):
    """Answer of `reopen_identities`."""

    opened: list[str]
    closed: list[str]
    problems: dict[str, str]


class SureRow(ControlRow, frozen=True):
    """Answer of `sure`."""

    changed: bool


class RekeyedRow(ControlRow, frozen=True):
    """Answer of `rekey`."""

    kept: int
    left: int


class IdentityRow(ControlRow, frozen=True):
    """A further identity of the node, in one network."""

    name: str
    feed: str | None
    dialect: str | None
    problem: str | None
    frozen_at: int | None
    waiting: WaitingRow | None


class RefusalRow(ControlRow, frozen=True):
    """A limit that was reached in a network."""

    rule: str
    count: int
    last_us: int


class FeedUseRow(ControlRow, frozen=True):
    """The room that a feed takes."""

    feed: str
    bytes: int


class DiskUseRow(ControlRow, frozen=True, kw_only=True):
    """The room that the feeds of a network take, and for whom, in bytes."""

    own: int
    followed: int
    groups: int
    others: int
    others_max: int
    biggest: list[FeedUseRow]
    evicted: int
    closed: bool


class GroupInvitationRow(ControlRow, frozen=True):
    """A group that the user has not accepted: who began it, who added the user, whom of them they do not follow."""

    group: str
    name: str | None
    creator: str
    added_by: list[str]
    strangers: list[str]


class PhonesRow(ControlRow, frozen=True):
    """Boards, phones or pubs near, in a network's `phones`."""

    faces: list[str]
    """Faces on which they were heard in the last hour."""
    set_feeds: int
    room: str
    """`enough`, `nearly` or `beyond`: whether phones survive the set."""


class NetworkRow(ControlRow, frozen=True, kw_only=True):
    """One network of a node."""

    name: str
    network: str | None
    feeds: int
    entries: int
    arrivals: int
    forked: int
    waiting: WaitingRow | None = None
    frozen_at: int | None = None
    identities: list[IdentityRow] = []
    beyond: int = 0
    pending: int = 0
    refusals: list[RefusalRow] = []
    disk: DiskUseRow | None = None
    phones: PhonesRow | None = None
    group_reviews: int = 0
    invitations: list[GroupInvitationRow] = []
    """Groups that the user has not accepted, some of them."""
    invitations_count: int = 0


class StatusRow(ControlRow, frozen=True, kw_only=True):
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
    waiting: WaitingRow | None = None
    frozen_at: int | None = None
    identities: list[IdentityRow] = []
    faces: int
    endpoints: list[EndpointRow]
    companions: list[CompanionRow] = []
    turned_away: int = 0
    networks: list[NetworkRow]


class PublishedRow(ControlRow, frozen=True):
    """Answer of `publish`."""

    feed: str
    seq: int
    id: str
    type: int
    size: int
    chunks: int


class FeedRow(ControlRow, frozen=True, kw_only=True):
    """Item of `feeds`."""

    feed: str
    dialect: str | None
    seq: int
    tip: str | None
    own: bool
    wanted: bool
    blocked: bool = False
    forked_at: int | None
    child: bool
    identity: str | None = None
    writable: bool | None = None
    retired: bool
    beyond: bool = False
    newest: int = 0
    newest_held: int = 0
    followed: bool | None = None
    bytes: int = 0
    evicted: bool = False
    pending: bool = False
    of_group: bool = False


class ForkRow(ControlRow, frozen=True):
    """Item of `forks`."""

    feed: str
    own: bool
    seq: int
    entries: int
    held: str
    other: str
    found_us: int | None
    proof: str


class EntryRow(PublishedRow, frozen=True):
    """Item of `log`."""

    chunks_held: int
    origin: str
    face: str | None
    arrival: int
    committed_us: int
    content: str | None


class ShownRow(EntryRow, frozen=True):
    """Answer of `show`."""

    packet: str
    signature: str
    forked: bool


class FollowedRow(ControlRow, frozen=True):
    """Answer of `follow` and `unfollow`."""

    feed: str
    changed: bool
    pending: bool = False
    forgotten: bool = False


class PurgedRow(ControlRow, frozen=True):
    """Answer of `purge`."""

    feed: str
    packets: int
    bytes: int


class GosetRow(ControlRow, frozen=True):
    """Answer of `goset`."""

    state: str
    count: int
    feeds: list[str]


class FaceRow(ControlRow, frozen=True, kw_only=True):
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
    full_us: int | None = None


class RestartedRow(ControlRow, frozen=True):
    """Answer of `restart_face`, `tune_face` and `confirm_face`."""

    face: str
    spec: str


class LogLevelRow(ControlRow, frozen=True):
    """Answer of `log_level`."""

    level: str
    before: str


class NeighbourRow(ControlRow, frozen=True):
    """Item of `neighbours`."""

    face: str
    name: str
    heard_us: int
    rssi_dbm: int | None
    snr_db: float | None


class AirtimeRow(ControlRow, frozen=True):
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


class HolderRow(ControlRow, frozen=True):
    """Holder of an entry."""

    kind: str
    feed: str | None
    face: str | None
    speaker: str | None
    since_us: int


class ReceiptRow(ControlRow, frozen=True):
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


class RefusedRow(ControlRow, frozen=True):
    """Reason why an import stopped."""

    packet: int
    reason: str


class ImportedRow(ControlRow, frozen=True):
    """Answer of `import`."""

    entries: int
    chunks: int
    held: int
    refused: RefusedRow | None


class BroughtRow(ControlRow, frozen=True):
    """Answer of `bring`."""

    shelved: bool
    entries: int
    chunks: int
    held: int
    refused: RefusedRow | None
    dropped: list[str]


class CountRow(ControlRow, frozen=True):
    """Result of listings."""

    count: int
