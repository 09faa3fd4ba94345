"""Requests of the control protocol, one Struct for each command (docs/formats/control.md). Used by both ends."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Generic, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta

from tinyssb_node import limits
from tinyssb_node.control import group_rows, rows
from tinyssb_node.errors import BadRequestError
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.store.home import MAIN_IDENTITY

Item = TypeVar("Item")
Result = TypeVar("Result")

_SPACE: Final = r"[ \t\n\r\f\v]*+"
_BYTE: Final = _SPACE + "[0-9a-fA-F]{2}"
_DIGITS: Final = 2 * limits.FEED_ID_SIZE

# Descriptions end the sentence "`command` cannot be done: `argument` …".
Text = Annotated[
    str,
    # JSON can have half of a surrogate pair, which is no character.
    Meta(pattern=r"\A[^\ud800-\udfff]*+\Z", description="takes text"),
]
Flag = Annotated[bool, Meta(description="takes true or false")]
Days = Annotated[
    int,
    Meta(
        ge=1, le=limits.ERASE_DAYS_MAX, description=f"takes a whole number from 1 to {limits.ERASE_DAYS_MAX}"
    ),
]
ArrivalNumber = Annotated[
    int,
    Meta(ge=0, le=limits.SEQ_MAX, description=f"takes a whole number up to {limits.SEQ_MAX}"),
]
Number = Annotated[
    int,
    Meta(ge=1, le=limits.SEQ_MAX, description=f"takes a whole number from 1 to {limits.SEQ_MAX}"),
]
NewestCount = Annotated[
    int,
    Meta(ge=0, le=limits.NEWEST_MAX, description=f"takes a whole number from 0 to {limits.NEWEST_MAX}"),
]
Octets = Annotated[
    str,
    Meta(pattern=rf"\A(?:{_BYTE})*+{_SPACE}\Z", description="takes hexadecimal digits, two a byte"),
]
Packets = Annotated[
    list[Annotated[str, Meta(pattern=rf"\A(?:{_BYTE}){{{limits.PACKET_SIZE}}}{_SPACE}\Z")]],
    Meta(
        max_length=limits.IMPORT_PACKETS_MAX,
        description=(
            f"takes a list of at most {limits.IMPORT_PACKETS_MAX} packets of {limits.PACKET_SIZE} bytes, in "
            "hexadecimal digits, two a byte"
        ),
    ),
]
Level = Annotated[
    str,
    Meta(pattern=r"\A(?:debug|info|warning|error)\Z", description="takes debug, info, warning or error"),
]
Settings = Annotated[
    dict[str, str], Meta(min_length=1, max_length=8, description="takes an object of 1 to 8 texts")
]
TrialMinutes = Annotated[
    int,
    Meta(
        ge=1,
        le=limits.TRIAL_MINUTES_MAX,
        description=f"takes a whole number from 1 to {limits.TRIAL_MINUTES_MAX}",
    ),
]
WholeFeed = Annotated[
    str,
    Meta(
        pattern=rf"\A(?!0+\Z)[0-9a-fA-F]{{{_DIGITS}}}\Z",
        description=f"takes all {_DIGITS} hexadecimal digits of a feed id, which are not all zero",
    ),
]
People = Annotated[
    list[WholeFeed],
    Meta(
        min_length=1,
        max_length=limits.GROUP_NAMED_MAX,
        description=f"takes a list of 1 to {limits.GROUP_NAMED_MAX} whole feed ids",
    ),
]


class ControlRequest(
    msgspec.Struct, Generic[Result], frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The arguments of one command, which replies with a *Result*."""

    command: ClassVar[str]


class NetworkRequest(ControlRequest[Result], Generic[Result], kw_only=True, frozen=True):
    """A request about one of the node's networks."""

    network: Text = DEFAULT_NETWORK


class ControlListing(ControlRequest[Result], Generic[Item, Result], frozen=True):
    """A request that is answered by any number of *Item* before the *Result*."""


class NetworkListing(
    NetworkRequest[Result], ControlListing[Item, Result], Generic[Item, Result], frozen=True
):
    """A listing of one of the node's networks."""


Request = TypeVar("Request", bound=ControlRequest[object])


def read_request(kind: type[Request], arguments: Mapping[str, object]) -> Request:
    """Check *arguments* of a request of *kind*. Raises BadRequestError."""
    try:
        # An optional argument is left out, never null.
        if all(value is not None for value in arguments.values()):
            return msgspec.convert(arguments, kind)
    except msgspec.ValidationError:
        pass
    raise _bad_arguments(kind, arguments)


def result_type(kind: type[ControlRequest[Result]]) -> type[Result]:
    """Return the type of what a request of *kind* results in."""
    found: type[Result] = _type_arguments(kind)[-1]
    return found


def item_type(kind: type[ControlListing[Item, Result]]) -> type[Item]:
    """Return the type of a listing's items."""
    found: type[Item] = _type_arguments(kind)[0]
    return found


def _type_arguments(kind: type) -> tuple[type, ...]:
    (base,) = kind.__orig_bases__  # type: ignore[attr-defined]  # of every subclass of a generic class
    return get_args(base)


def _bad_arguments(kind: type[ControlRequest[Result]], arguments: Mapping[str, object]) -> BadRequestError:
    """The error for the first of *arguments* that a request of *kind* does not take."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name, field in fields.items():
        if name not in arguments and not field.required:
            continue
        value = arguments.get(name)
        try:
            if value is not None:
                msgspec.convert(value, field.type)
                continue
        except msgspec.ValidationError:
            pass
        return bad_argument(kind, name, _rule(field.type))
    name = next(name for name in arguments if name not in fields)
    return bad_argument(kind, name[: limits.CONTROL_ID_MAX], "is not among its arguments")


def _rule(type_: object) -> str:
    """The description of an argument's type, or of that in a union."""
    if get_origin(type_) is not Annotated:
        type_ = get_args(type_)[0]
    return str(get_args(type_)[1].description)


def bad_argument(kind: type[ControlRequest[Result]], name: str, rule: str) -> BadRequestError:
    """The error for argument *name* of a request of *kind*, which breaks *rule*."""
    return BadRequestError(
        f"`{kind.command}` cannot be done: `{name}` {rule}.", "docs/formats/control.md lists its arguments."
    )


class GetStatus(ControlRequest[rows.StatusRow], frozen=True):
    """How the node is."""

    command = "status"


class Publish(NetworkRequest[rows.PublishedRow], frozen=True):
    """Append an entry to a feed of the node."""

    command = "publish"
    content: Octets
    identity: Text = msgspec.field(name="as", default=MAIN_IDENTITY)
    force: bool = False


class ConfirmTip(NetworkRequest[rows.SureRow], frozen=True):
    """Confirm that no newer entries of the node's feed exist elsewhere."""

    command = "sure"
    identity: Text = msgspec.field(name="as", default=MAIN_IDENTITY)


class ReopenIdentities(ControlRequest[rows.ReopenedIdentitiesRow], frozen=True):
    """Use further identities that are new in the home, and no longer those that were removed."""

    command = "reopen_identities"


class Rekey(NetworkRequest[rows.RekeyedRow], frozen=True):
    """Leave the set for a fresh one."""

    command = "rekey"
    set_key: Octets
    left: Annotated[
        list[WholeFeed],
        Meta(
            max_length=limits.SET_MAX,
            description=f"takes a list of 0 to {limits.SET_MAX} whole feed ids",
        ),
    ]


class ListFeeds(NetworkListing[rows.FeedRow, rows.CountRow], frozen=True):
    """The feeds of the set."""

    command = "feeds"


class ListForks(NetworkListing[rows.ForkRow, rows.CountRow], frozen=True):
    """The forks that are proved."""

    command = "forks"


class ReadLog(NetworkListing[rows.EntryRow, rows.CountRow], frozen=True):
    """Entries of a feed."""

    command = "log"
    feed: Text
    first: Number | None = None
    last: Number | None = None
    follow: Flag = False


class ShowEntry(NetworkRequest[rows.ShownRow], frozen=True):
    """One entry, checked."""

    command = "show"
    feed: Text
    seq: Number


class Follow(NetworkRequest[rows.FollowedRow], frozen=True):
    """Add a feed to the set, and request its entries from peers."""

    command = "follow"
    feed: WholeFeed
    newest: NewestCount | None = None


class Unfollow(NetworkRequest[rows.FollowedRow], frozen=True):
    """Stop requesting the entries of a feed."""

    command = "unfollow"
    feed: Text


class Purge(NetworkRequest[rows.PurgedRow], frozen=True):
    """Delete what is stored of a feed that nobody here follows."""

    command = "purge"
    feed: Text


class GetSet(NetworkRequest[rows.GosetRow], frozen=True):
    """The set of feed ids."""

    command = "goset"


class ListFaces(ControlListing[rows.FaceRow, rows.CountRow], frozen=True):
    """The node's links."""

    command = "faces"


class RestartFace(ControlRequest[rows.RestartedRow], frozen=True):
    """Close a configured face, and open it again."""

    command = "restart_face"
    face: Text


class TuneFace(ControlRequest[rows.RestartedRow], frozen=True):
    """Try other settings of a radio, which go back unless they are confirmed."""

    command = "tune_face"
    face: Text
    settings: Settings
    minutes: TrialMinutes


class ConfirmFace(ControlRequest[rows.RestartedRow], frozen=True):
    """Keep the settings of a radio that are on trial."""

    command = "confirm_face"
    face: Text


class SetLogLevel(ControlRequest[rows.LogLevelRow], frozen=True):
    """Change the level of the daemon's log until it restarts."""

    command = "log_level"
    level: Level


class ListNeighbours(NetworkListing[rows.NeighbourRow, rows.CountRow], frozen=True):
    """Nodes heard on the air."""

    command = "neighbours"


class ListAirtime(ControlListing[rows.AirtimeRow, rows.CountRow], frozen=True):
    """The accounts of airtime."""

    command = "airtime"


class ListReceipts(NetworkListing[rows.ReceiptRow, rows.CountRow], frozen=True):
    """Nodes that have the node's own entries."""

    command = "receipts"
    first: Number | None = None
    last: Number | None = None


class ImportPackets(NetworkRequest[rows.ImportedRow], frozen=True):
    """Packets of a feed from a file."""

    command = "import"
    feed: WholeFeed
    packets: Packets


class Bring(NetworkRequest[rows.BroughtRow], frozen=True):
    """Packets of a feed from another island."""

    command = "bring"
    feed: WholeFeed
    packets: Packets


class GroupCreate(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Create a private group, whose texts are erased after *erase_days*, or never; with *dry_run* as ``GroupAdd``."""

    command = "group_create"
    name: Text | None = None
    people: People | None = None
    erase_days: Days | None = None
    dry_run: Flag = False


class GroupAdd(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Add people to a group; with *dry_run* write nothing, and reply with a ``GroupCostRow``."""

    command = "group_add"
    group: Text
    people: People
    text: Text | None = None
    dry_run: Flag = False


class GroupExclude(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Exclude people from a group; with *dry_run* as ``GroupAdd``."""

    command = "group_exclude"
    group: Text
    people: People
    dry_run: Flag = False


class GroupLeave(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Leave a group."""

    command = "group_leave"
    group: Text


class GroupReturn(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Take part again in a group that was left."""

    command = "group_return"
    group: Text


class GroupAnswer(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Accept or decline an invitation to a group."""

    command = "group_consent"
    group: Text
    accept: bool


class GroupDecide(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Accept or reject a fork that waits for the user; with *dry_run* as ``GroupAdd``."""

    command = "group_decide"
    group: Text
    fork: Text
    accept: Flag
    dry_run: Flag = False


class GroupPost(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Write a text to a group; with *dry_run* as ``GroupAdd``."""

    command = "group_post"
    group: Text
    text: Text
    dry_run: Flag = False
    reply_to: Text | None = None


class GroupShare(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Share a position, or values of sensors, with a group; with *dry_run* as ``GroupAdd``."""

    command = "group_share"
    group: Text
    record: Octets
    dry_run: Flag = False


class ListGroupTelemetry(NetworkListing[group_rows.GroupTelemetryRow, rows.CountRow], frozen=True):
    """The last positions and values of sensors that members share with their groups."""

    command = "group_telemetry"


class GroupRename(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Give a group another name; with *dry_run* as ``GroupAdd``."""

    command = "group_rename"
    group: Text
    name: Text
    dry_run: Flag = False


class GroupMute(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Set whether screens tell the user of new messages of a group."""

    command = "group_mute"
    group: Text
    muted: Flag


class GroupHistory(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Request the history of a group at once."""

    command = "group_history"
    group: Text


class GroupAttach(NetworkRequest[group_rows.GroupWrittenRow], frozen=True):
    """Write a file to a group; with *dry_run* as ``GroupAdd``."""

    command = "group_attach"
    group: Text
    name: Text
    type: Text
    data: Octets
    dry_run: Flag = False
    reply_to: Text | None = None


class GroupFile(NetworkRequest[group_rows.GroupFileRow], frozen=True):
    """The file in a message of a group."""

    command = "group_file"
    group: Text
    message: Text


class ListGroups(NetworkListing[group_rows.GroupRow, rows.CountRow], frozen=True):
    """The private groups that the node knows of."""

    command = "group_list"


class ShowGroup(NetworkListing[group_rows.GroupEpochRow, group_rows.GroupShownRow], frozen=True):
    """The epochs of a group, and all else of it but messages."""

    command = "group_show"
    group: Text


class ReviewGroup(NetworkListing[group_rows.GroupReviewRow, rows.CountRow], frozen=True):
    """The forks of a group that wait for the user."""

    command = "group_review"
    group: Text


class AuditGroup(NetworkListing[group_rows.GroupAuditRow, rows.CountRow], frozen=True):
    """All messages of a group, with the rules that they broke."""

    command = "group_audit"
    group: Text


class ReadGroup(NetworkListing[group_rows.GroupSaidRow, group_rows.GroupReadRow], frozen=True):
    """The messages of a group that count: between two positions, by arrival, or those that wait."""

    command = "group_read"
    group: Text
    after: ArrivalNumber | None = None
    arrived: Flag = False
    before_order: Text | None = None
    after_order: Text | None = None
    waiting: Flag = False
    limit: Number | None = None


GroupRequest = (
    GroupAdd
    | GroupExclude
    | GroupLeave
    | GroupReturn
    | GroupAnswer
    | GroupDecide
    | GroupPost
    | GroupShare
    | GroupRename
    | GroupMute
    | GroupHistory
    | GroupAttach
    | GroupFile
    | ReviewGroup
    | ShowGroup
    | AuditGroup
    | ReadGroup
)
"""A request that names a group."""
GROUP_REQUESTS: Final[tuple[type[NetworkRequest[Any]], ...]] = (
    GroupCreate,
    GroupAdd,
    GroupExclude,
    GroupLeave,
    GroupReturn,
    GroupAnswer,
    GroupDecide,
    GroupPost,
    GroupShare,
    ListGroupTelemetry,
    GroupRename,
    GroupMute,
    GroupHistory,
    GroupAttach,
    GroupFile,
    ReviewGroup,
    ListGroups,
    ShowGroup,
    AuditGroup,
    ReadGroup,
)
"""Requests about private groups."""
