"""What the control protocol answers about private groups (docs/formats/control.md). Used by both ends."""

from typing import TypedDict

from tinyssb_node.control.rows import PublishedRow


class GroupWrittenRow(TypedDict):
    """Answer of what writes to a group."""

    group: str
    entries: list[PublishedRow]
    packets: int


class GroupCostRow(TypedDict):
    """Answer of `group_add` and `group_exclude` with `dry_run`."""

    group: str
    messages: int
    packets: int
    content_bytes: int
    steps: list[str]


class GroupMessageRow(TypedDict):
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


class GroupSaidRow(GroupMessageRow):
    """Item of `group_read`: a message that counts."""

    group: str
    place: int


class GroupAuditRow(GroupMessageRow):
    """Item of `group_audit`: any message."""

    role: str
    waits: bool
    rule: str | None
    flaw: str | None


class GroupRow(TypedDict):
    """Item of `group_list`."""

    group: str
    group_id: str
    name: str | None
    state: str
    members: list[str]
    epochs: int
    posts: int
    last: GroupSaidRow | None


class GroupMemberRow(TypedDict):
    """Somebody in an epoch."""

    feed: str
    added_by: list[str]
    excluded_by: list[str]


class GroupEpochRow(TypedDict):
    """Item of `group_show`: one epoch."""

    epoch: str
    creator: str
    previous: list[str]
    members: list[GroupMemberRow]
    missing: list[str]
    tip: bool
    inside: bool
    committed_us: int | None


class GroupForkRow(TypedDict):
    """Two epochs that nothing joins yet."""

    epochs: list[str]
    relation: str
    winner: str
    witnesses: list[str]


class GroupStepRow(TypedDict):
    """A message that the node is going to write."""

    step: str
    epoch: str | None
    people: list[str]


class GroupTaskRow(TypedDict):
    """What the node is going to do by itself."""

    purpose: str
    epoch: str
    due_in_us: int
    steps: list[GroupStepRow]


class GroupShownRow(TypedDict):
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
