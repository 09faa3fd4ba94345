"""The control protocol's answers about private groups (docs/formats/control.md). Used by both ends."""

from tinyssb_node.control.rows import ControlRow, GroupInvitationRow, PublishedRow


class GroupWrittenRow(ControlRow, frozen=True):
    """Answer of what writes to a group."""

    group: str
    entries: list[PublishedRow]
    packets: int


class GroupCostRow(ControlRow, frozen=True):
    """Answer of `group_add` and `group_exclude` with `dry_run`."""

    group: str
    messages: int
    packets: int
    content_bytes: int
    steps: list[str]


class GroupMessageRow(ControlRow, frozen=True):
    """A message of a group."""

    id: str
    feed: str
    seq: int
    own: bool
    epoch: str | None
    kind: str
    text: str | None
    people: list[str]
    previous: list[str]
    committed_us: int | None


class GroupFileHeadRow(ControlRow, frozen=True):
    """Description of a file in a message."""

    name: str
    type: str
    size: int


class GroupFileRow(ControlRow, frozen=True):
    """Result of `group_file`: a file in a message."""

    group: str
    id: str
    feed: str
    name: str
    type: str
    data: str


class GroupSaidRow(GroupMessageRow, frozen=True):
    """Item of `group_read`: a message that counts."""

    group: str
    place: int | None
    order: str = ""
    order_us: int | None = None
    doubtful: bool = False
    missing: tuple[str, ...] = ()
    unread: bool = False
    held: bool = False
    reply_to: str | None = None
    file: GroupFileHeadRow | None = None
    holders: tuple[str, ...] = ()
    expected: int = 0
    said_us: int | None = None
    early: bool = False


class GroupTelemetryRow(ControlRow, frozen=True):
    """Item of `group_telemetry`: the last record of a kind of one member."""

    group: str
    feed: str
    committed_us: int
    record: str


class GroupReadRow(ControlRow, frozen=True):
    """Result of `group_read`."""

    count: int
    seen: str = ""


class GroupAuditRow(GroupMessageRow, frozen=True):
    """Item of `group_audit`: any message."""

    role: str
    waits: bool
    rule: str | None
    flaw: str | None


class GroupArrivingRow(ControlRow, frozen=True):
    """A group whose history is not here: who added the user, and who is known to be in it so far."""

    added_by: list[str]
    people: list[str]
    requested: bool


class GroupRow(ControlRow, frozen=True):
    """Item of `group_list`."""

    group: str
    group_id: str
    name: str | None
    state: str
    members: list[str]
    epochs: int
    posts: int
    last: GroupSaidRow | None
    stopped: bool = False
    reviews: int = 0
    invitation: GroupInvitationRow | None = None
    muted: bool = False
    lacking: int = 0
    arriving: GroupArrivingRow | None = None


class GroupMemberRow(ControlRow, frozen=True):
    """Somebody in an epoch."""

    feed: str
    added_by: list[str]
    excluded_by: list[str]


class GroupEpochRow(ControlRow, frozen=True):
    """Item of `group_show`: one epoch."""

    epoch: str
    creator: str
    previous: list[str]
    members: list[GroupMemberRow]
    missing: list[str]
    tip: bool
    inside: bool
    committed_us: int | None


class GroupForkRow(ControlRow, frozen=True):
    """Two epochs that nothing joins yet."""

    epochs: list[str]
    relation: str
    winner: str
    witnesses: list[str]


class GroupStepRow(ControlRow, frozen=True):
    """A message that the node is going to write."""

    step: str
    epoch: str | None
    people: list[str]


class GroupTaskRow(ControlRow, frozen=True):
    """Task that the node is going to do by itself."""

    purpose: str
    epoch: str
    due_in_us: int
    steps: list[GroupStepRow]


class GroupErasedRow(ControlRow, frozen=True):
    """How far back a thief of this device could read the texts of a group."""

    after_days: int
    open_days: int
    lacking: bool


class GroupBudgetRow(ControlRow, frozen=True):
    """Packets that the node wrote for a group by itself in the last 24 hours, of how many it may."""

    used: int
    of: int


class GroupReviewRow(ControlRow, frozen=True):
    """Item of `group_review`: a fork that waits for the user."""

    fork: str
    by: list[str]
    excluded_by: list[str]
    excludes: list[str]
    out: list[str]
    reasons: list[str]
    late_us: int | None
    messages: int
    rejected: bool


class GroupShownRow(ControlRow, frozen=True, kw_only=True):
    """Result of `group_show`."""

    group: str
    group_id: str
    name: str | None
    state: str
    creator: str | None
    epoch: str | None
    rules: list[str]
    interim: bool
    posts: int
    messages: int
    waiting: int
    forks: list[GroupForkRow]
    tasks: list[GroupTaskRow]
    problem: str | None
    erased: GroupErasedRow | None = None
    budget: GroupBudgetRow | None = None
    reviews: list[GroupReviewRow]
    invitation: GroupInvitationRow | None = None
    muted: bool = False
    lacking: int = 0
    arriving: GroupArrivingRow | None = None
