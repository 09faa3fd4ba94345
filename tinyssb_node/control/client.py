"""A client of the daemon: one connection to its control socket (docs/howto/python-client.md).

    with DaemonClient.at_home() as node:
        print(node.publish(b"hello"))

Blocking, and for one thread. What the rows hold is described in ``tinyssb_node.control.rows``.
"""

import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, Self, TypeVar

import msgspec

from tinyssb_node import limits
from tinyssb_node.control import group_rows, requests, rows
from tinyssb_node.control.protocol import ReplyLine, RequestLine, parse_reply, serialize_request
from tinyssb_node.control.requests import ControlListing, ControlRequest, item_type, result_type
from tinyssb_node.errors import ContentTooLongError, ExitCode, ProblemError, ProtocolVersionError
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.store.home import MAIN_IDENTITY, Home

SERVICE_SOCKET = Path("/run/tinyssb/control.sock")
"""Where the service has its socket (hw/systemd), which members of its group can reach."""


class DaemonUnreachableError(ProblemError):
    """Nobody answers at the control socket."""

    exit_code = ExitCode.UNAVAILABLE


class DaemonError(ProblemError):
    """The daemon answered with an error."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.code = code


Item = TypeVar("Item")
Result = TypeVar("Result")
Row = TypeVar("Row")


class RowStream(Generic[Item, Result]):
    """The items of a reply, as they come. *result* is there once all were taken."""

    def __init__(self, replies: Iterator[ReplyLine], request: ControlListing[Item, Result]) -> None:
        self._replies = replies
        self._request = request
        self._result: Result | None = None

    def __iter__(self) -> Iterator[Item]:
        kind = type(self._request)
        for reply in self._replies:
            if reply.item is msgspec.UNSET:
                self._result = reply_row(kind, reply.result, result_type(kind))
            else:
                yield reply_row(kind, reply.item, item_type(kind))

    @property
    def result(self) -> Result:
        """The result, which follows the last item."""
        assert self._result is not None, "all items were taken"
        return self._result


class DaemonClient:
    """One connection. Requests are answered one after the other: take all of a listing before the next request."""

    def __init__(
        self, path: Path, *, network: str | None = None, timeout_s: float = limits.CLIENT_TIMEOUT_S
    ) -> None:
        """Connect to the control socket at *path*. Requests about feeds are about those of *network*, None: of the
        default one. Raises DaemonUnreachableError."""
        self._path = path
        self._network = network or DEFAULT_NETWORK
        self._timeout_s = timeout_s
        self._requests = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise self._unreachable(error) from error
        self._lines = self._socket.makefile("rb")

    @classmethod
    def at_home(cls, home: str | None = None, network: str | None = None) -> Self:
        """Connect to the daemon of the node in the folder *home* (None: TINYSSB_HOME, else ~/.tinyssb, else the one
        that runs as a service of this machine).

        Raises ProblemError, HomeInaccessibleError, ConfigError, DaemonUnreachableError.
        """
        found = Home.find(home, os.environ)
        if home is None and "TINYSSB_HOME" not in os.environ and _is_only_service(found):
            return cls(SERVICE_SOCKET, network=network)
        found.require()
        try:
            return cls(found.control_socket, network=network)
        except DaemonUnreachableError:
            # Settings may say another place. They are read now and not first: it takes longer than most questions.
            if not found.may_configure(b"socket"):
                raise
            from tinyssb_node.control.settings import read_socket_path

            path = read_socket_path(found)
            if path == found.control_socket:
                raise
        return cls(path, network=network)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; a listing that is still coming ends."""
        self._lines.close()
        self._socket.close()

    def status(self) -> rows.StatusRow:
        """Return the node's status."""
        return self._ask(requests.GetStatus())

    def publish(
        self, content: bytes, identity: str | None = None, *, force: bool = False
    ) -> rows.PublishedRow:
        """Append an entry with *content* to the node's own feed, or to that of a further *identity*; return when it is
        on the disk. *force*: also what phones that hold a feed of theirs do not survive.

        Raises ContentTooLongError, DaemonError (``feed_forked``, ``read_only``, ``uncertain``, ``unknown_identity``,
        ``harms_phones``).
        """
        if len(content) > limits.CONTENT_PUBLISH_MAX:
            from tinyssb_node.feeds.layout import chunks_for

            # Refused here as the daemon would: a request line could not hold much more.
            raise ContentTooLongError(len(content), limits.CONTENT_PUBLISH_MAX, 1 + chunks_for(len(content)))
        return self._ask(
            requests.Publish(content.hex(), identity or MAIN_IDENTITY, force, network=self._network)
        )

    def reopen_identities(self) -> rows.ReopenedIdentitiesRow:
        """Let the node use further identities that are new in its home, and no longer those that were removed.

        Raises DaemonError (``read_only``).
        """
        return self._ask(requests.ReopenIdentities())

    def sure(self, identity: str | None = None) -> rows.SureRow:
        """Confirm that no newer entries of the node's feed, or of that of a further *identity*, exist elsewhere: let
        the node write it (docs/reference/keys.md)."""
        return self._ask(requests.ConfirmTip(identity or MAIN_IDENTITY, network=self._network))

    def rekey(self, set_key: bytes, left: Iterable[str]) -> rows.RekeyedRow:
        """Let the set be one of *set_key* (empty: the network's own key), without the feeds *left* (64 digits)."""
        return self._ask(requests.Rekey(set_key.hex(), list(left), network=self._network))

    def feeds(self) -> RowStream[rows.FeedRow, rows.CountRow]:
        """List the feeds of the node's set."""
        return self._list(requests.ListFeeds(network=self._network))

    def forks(self) -> RowStream[rows.ForkRow, rows.CountRow]:
        """List the forks that the node has proofs of."""
        return self._list(requests.ListForks(network=self._network))

    def log(
        self, feed: str, *, first: int | None = None, last: int | None = None, follow: bool = False
    ) -> RowStream[rows.EntryRow, rows.CountRow]:
        """List entries of *feed*: from number *first* on, or the *last* newest; with *follow* for ever."""
        if follow:
            self._socket.settimeout(None)
        return self._list(requests.ReadLog(feed, first, last, follow, network=self._network))

    def show(self, feed: str, seq: int) -> rows.ShownRow:
        """Return one entry, checked."""
        return self._ask(requests.ShowEntry(feed, seq, network=self._network))

    def follow(self, feed: str, newest: int | None = None) -> rows.FollowedRow:
        """Add *feed* (64 digits) to the set and request it from peers: so many of its *newest* entries before the
        others, 0 for none; None: as before."""
        return self._ask(requests.Follow(feed, newest, network=self._network))

    def unfollow(self, feed: str) -> rows.FollowedRow:
        """Stop requesting *feed*."""
        return self._ask(requests.Unfollow(feed, network=self._network))

    def purge(self, feed: str) -> rows.PurgedRow:
        """Delete what is stored of a feed that nobody here follows. Raises DaemonError."""
        return self._ask(requests.Purge(feed, network=self._network))

    def goset(self) -> rows.GosetRow:
        """Return the set of feed ids."""
        return self._ask(requests.GetSet(network=self._network))

    def faces(self) -> RowStream[rows.FaceRow, rows.CountRow]:
        """List the node's links."""
        return self._list(requests.ListFaces())

    def restart_face(self, face: str) -> rows.RestartedRow:
        """Close the configured *face*, and open it again. Raises DaemonError (``unknown_face``)."""
        return self._ask(requests.RestartFace(face))

    def tune_face(self, face: str, settings: Mapping[str, str], minutes: int) -> rows.RestartedRow:
        """Try other *settings* of the radio *face*, half a minute later and for so many *minutes*, unless they are
        confirmed by then. Raises DaemonError (``unknown_face``, ``not_tunable``)."""
        return self._ask(requests.TuneFace(face, {**settings}, minutes))

    def confirm_face(self, face: str) -> rows.RestartedRow:
        """Keep the settings of *face* that are on trial. Raises DaemonError (``unknown_face``, ``not_tunable``)."""
        return self._ask(requests.ConfirmFace(face))

    def log_level(self, level: str) -> rows.LogLevelRow:
        """Set the level of the daemon's log until it restarts: `debug`, `info`, `warning` or `error`."""
        return self._ask(requests.SetLogLevel(level))

    def neighbours(self) -> RowStream[rows.NeighbourRow, rows.CountRow]:
        """List the nodes that were heard on the air."""
        return self._list(requests.ListNeighbours(network=self._network))

    def airtime(self) -> RowStream[rows.AirtimeRow, rows.CountRow]:
        """List the accounts of airtime."""
        return self._list(requests.ListAirtime())

    def receipts(
        self, *, first: int | None = None, last: int | None = None
    ) -> RowStream[rows.ReceiptRow, rows.CountRow]:
        """List which nodes have the node's own entries: from number *first* on, or the *last* newest; all without
        either."""
        return self._list(requests.ListReceipts(first, last, network=self._network))

    def group_create(
        self, name: str | None, people: Iterable[str] = (), erase_days: int | None = None
    ) -> group_rows.GroupWrittenRow:
        """Create a private group called *name*, with *people* (64 digits each) in it, whose texts are erased after
        *erase_days*, or never."""
        return self._ask(requests.GroupCreate(name, list(people) or None, erase_days, network=self._network))

    def group_create_cost(
        self, name: str | None, people: Iterable[str] = (), erase_days: int | None = None
    ) -> group_rows.GroupCostRow:
        """Return what ``group_create`` would write. Nothing is written."""
        request = requests.GroupCreate(
            name, list(people) or None, erase_days, dry_run=True, network=self._network
        )
        return self._answer(request, group_rows.GroupCostRow)

    def group_add(
        self, group: str, people: Iterable[str], text: str | None = None
    ) -> group_rows.GroupWrittenRow:
        """Add *people* to a group, with a greeting."""
        return self._ask(requests.GroupAdd(group, list(people), text, network=self._network))

    def group_exclude(self, group: str, people: Iterable[str]) -> group_rows.GroupWrittenRow:
        """Exclude *people* from a group."""
        return self._ask(requests.GroupExclude(group, list(people), network=self._network))

    def group_add_cost(
        self, group: str, people: Iterable[str], text: str | None = None
    ) -> group_rows.GroupCostRow:
        """Return what ``group_add`` would write. Nothing is written."""
        request = requests.GroupAdd(group, list(people), text, dry_run=True, network=self._network)
        return self._answer(request, group_rows.GroupCostRow)

    def group_exclude_cost(self, group: str, people: Iterable[str]) -> group_rows.GroupCostRow:
        """Return what ``group_exclude`` would write. Nothing is written."""
        request = requests.GroupExclude(group, list(people), dry_run=True, network=self._network)
        return self._answer(request, group_rows.GroupCostRow)

    def group_leave(self, group: str) -> group_rows.GroupWrittenRow:
        """Leave a group."""
        return self._ask(requests.GroupLeave(group, network=self._network))

    def group_return(self, group: str) -> group_rows.GroupWrittenRow:
        """Take part again in a group that was left."""
        return self._ask(requests.GroupReturn(group, network=self._network))

    def group_consent(self, group: str, *, accept: bool) -> group_rows.GroupWrittenRow:
        """Accept or decline an invitation to a group."""
        return self._ask(requests.GroupAnswer(group, accept, network=self._network))

    def group_post(self, group: str, text: str, reply_to: str | None = None) -> group_rows.GroupWrittenRow:
        """Write *text* to a group, as an answer to the message whose id begins with *reply_to*."""
        return self._ask(requests.GroupPost(group, text, reply_to=reply_to, network=self._network))

    def group_post_cost(self, group: str, text: str, reply_to: str | None = None) -> group_rows.GroupCostRow:
        """Return what ``group_post`` would write. Nothing is written."""
        request = requests.GroupPost(group, text, dry_run=True, reply_to=reply_to, network=self._network)
        return self._answer(request, group_rows.GroupCostRow)

    def group_share(self, group: str, record: bytes) -> group_rows.GroupWrittenRow:
        """Share a position, or values of sensors, with a group."""
        return self._ask(requests.GroupShare(group, record.hex(), network=self._network))

    def group_share_cost(self, group: str, record: bytes) -> group_rows.GroupCostRow:
        """Return what ``group_share`` would write. Nothing is written."""
        request = requests.GroupShare(group, record.hex(), dry_run=True, network=self._network)
        return self._answer(request, group_rows.GroupCostRow)

    def group_telemetry(self) -> RowStream[group_rows.GroupTelemetryRow, rows.CountRow]:
        """List the last positions and values of sensors that members share with their groups."""
        return self._list(requests.ListGroupTelemetry(network=self._network))

    def group_rename(self, group: str, name: str) -> group_rows.GroupWrittenRow:
        """Give a group another name, which all members see."""
        return self._ask(requests.GroupRename(group, name, network=self._network))

    def group_rename_cost(self, group: str, name: str) -> group_rows.GroupCostRow:
        """Return what ``group_rename`` would write. Nothing is written."""
        request = requests.GroupRename(group, name, dry_run=True, network=self._network)
        return self._answer(request, group_rows.GroupCostRow)

    def group_mute(self, group: str, *, muted: bool) -> group_rows.GroupWrittenRow:
        """Set whether screens tell the user of new messages of a group. Writes nothing to the group."""
        return self._ask(requests.GroupMute(group, muted=muted, network=self._network))

    def group_history(self, group: str) -> group_rows.GroupWrittenRow:
        """Request all older messages of a group at once. Writes nothing."""
        return self._ask(requests.GroupHistory(group, network=self._network))

    def group_attach(
        self, group: str, name: str, type_: str, data: bytes, reply_to: str | None = None
    ) -> group_rows.GroupWrittenRow:
        """Write a file to a group, as an answer to the message whose id begins with *reply_to*."""
        request = requests.GroupAttach(
            group, name, type_, data.hex(), reply_to=reply_to, network=self._network
        )
        return self._ask(request)

    def group_attach_cost(
        self, group: str, name: str, type_: str, data: bytes, reply_to: str | None = None
    ) -> group_rows.GroupCostRow:
        """Return what ``group_attach`` would write. Nothing is written."""
        request = requests.GroupAttach(
            group, name, type_, data.hex(), dry_run=True, reply_to=reply_to, network=self._network
        )
        return self._answer(request, group_rows.GroupCostRow)

    def group_file(self, group: str, message: str) -> group_rows.GroupFileRow:
        """Return the file in the message of a group whose id begins with *message*."""
        return self._ask(requests.GroupFile(group, message, network=self._network))

    def group_decide(self, group: str, fork: str, *, accept: bool) -> group_rows.GroupWrittenRow:
        """Accept or reject a fork that waits for the user."""
        return self._ask(requests.GroupDecide(group, fork, accept=accept, network=self._network))

    def group_accept_cost(self, group: str, fork: str) -> group_rows.GroupCostRow:
        """Return what accepting a fork would write. Nothing is written."""
        request = requests.GroupDecide(group, fork, accept=True, dry_run=True, network=self._network)
        return self._answer(request, group_rows.GroupCostRow)

    def group_review(self, group: str) -> RowStream[group_rows.GroupReviewRow, rows.CountRow]:
        """List the forks of a group that wait for the user."""
        return self._list(requests.ReviewGroup(group, network=self._network))

    def group_list(self) -> RowStream[group_rows.GroupRow, rows.CountRow]:
        """List the private groups that the node knows of."""
        return self._list(requests.ListGroups(network=self._network))

    def group_show(self, group: str) -> RowStream[group_rows.GroupEpochRow, group_rows.GroupShownRow]:
        """List the epochs of a group; the rest of what is known of it is the result."""
        return self._list(requests.ShowGroup(group, network=self._network))

    def group_audit(self, group: str) -> RowStream[group_rows.GroupAuditRow, rows.CountRow]:
        """List all messages of a group in order."""
        return self._list(requests.AuditGroup(group, network=self._network))

    def group_read(
        self,
        group: str,
        *,
        before: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        waiting: bool = False,
    ) -> RowStream[group_rows.GroupSaidRow, group_rows.GroupReadRow]:
        """List the messages of a group in their order between two positions: all of them, or at most *limit*, the first
        ones after *after*, else the last ones. *waiting*: those that wait for predecessors instead, the latest arrivals
        first."""
        return self._list(
            requests.ReadGroup(
                group,
                before_order=before,
                after_order=after,
                limit=limit,
                waiting=waiting,
                network=self._network,
            )
        )

    def group_arrived(
        self, group: str, after: int | None, limit: int | None = None
    ) -> RowStream[group_rows.GroupSaidRow, group_rows.GroupReadRow]:
        """List the messages of a group in order of arrival: those after the number *after*, the first *limit* and those
        that came with the last of them; without *after* the last *limit*."""
        return self._list(requests.ReadGroup(group, after, arrived=True, limit=limit, network=self._network))

    def import_packets(self, feed: str, packets: Iterable[bytes]) -> rows.ImportedRow:
        """Follow *feed* (64 digits) and offer up to 512 of its packets, entries in order, each before its chunks."""
        offered = [packet.hex() for packet in packets]
        return self._ask(requests.ImportPackets(feed, offered, network=self._network))

    def bring(self, feed: str, packets: Iterable[bytes]) -> rows.BroughtRow:
        """Hand over up to 512 packets of *feed* (64 digits) from another island, entries in order, each before its
        chunks: into the set's feed, or onto the shelf."""
        brought = [packet.hex() for packet in packets]
        return self._ask(requests.Bring(feed, brought, network=self._network))

    def _ask(self, request: ControlRequest[Result]) -> Result:
        return self._answer(request, result_type(type(request)))

    def _answer(self, request: ControlRequest[Result], kind: type[Row]) -> Row:
        """Send *request*, and return its result as *kind*."""
        reply = next(self._send(request))
        if reply.item is not msgspec.UNSET:
            raise DaemonError(
                "failed",
                f"The daemon replied to `{request.command}` with a listing.",
                "Report this as a bug.",
            )
        return reply_row(type(request), reply.result, kind)

    def _list(self, request: ControlListing[Item, Result]) -> RowStream[Item, Result]:
        return RowStream(self._send(request), request)

    def _send(self, request: ControlRequest[Result]) -> Iterator[ReplyLine]:
        """Send *request* at once; yield replies as they are taken, the result last."""
        self._requests += 1
        line = RequestLine(self._requests, request.command, msgspec.to_builtins(request))
        try:
            self._socket.sendall(serialize_request(line))
        except ConnectionError:
            pass  # It may have said why before it hung up: reading tells.
        except OSError as error:
            raise self._unreachable(error) from error
        return self._replies()

    def _replies(self) -> Iterator[ReplyLine]:
        while True:
            reply = self._reply()
            if reply.error is not msgspec.UNSET:
                raise DaemonError(reply.error.code, reply.error.message, reply.error.hint)
            yield reply
            if reply.item is msgspec.UNSET:
                self._socket.settimeout(self._timeout_s)
                return

    def _reply(self) -> ReplyLine:
        try:
            line = self._lines.readline(limits.CONTROL_REPLY_MAX + 1)
        except OSError as error:
            raise self._unreachable(error) from error
        if not line.endswith(b"\n"):
            raise self._unreachable(ConnectionError("the connection was closed"))
        return parse_reply(line)

    def _unreachable(self, error: OSError) -> DaemonUnreachableError:
        if isinstance(error, FileNotFoundError | ConnectionRefusedError):
            return DaemonUnreachableError("The node's daemon is not running.", "Start it with `tinyssb run`.")
        if isinstance(error, PermissionError):
            return DaemonUnreachableError(
                f"You may not use {self._path}.",
                "Run this as the user the daemon runs as; docs/reference/service.md says who else may.",
            )
        return DaemonUnreachableError(
            f"The node's daemon does not answer at {self._path} ({error.strerror or error}).",
            "See its log; `tinyssb doctor` may tell more.",
        )


def reply_row(request: type[ControlRequest[Result]], value: object, kind: type[Row]) -> Row:
    """Check *value*, of a reply to *request*. Raises ProtocolVersionError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ProtocolVersionError(
            f"The daemon's reply to `{request.command}` cannot be read: {error}.",
            "Restart the daemon after an upgrade, or use the program that came with it.",
        ) from error


def _is_only_service(home: Home) -> bool:
    """Is there no node in *home*, but one that runs as a service and that we may reach?"""
    return not home.root.exists() and os.access(SERVICE_SOCKET, os.R_OK | os.W_OK)
