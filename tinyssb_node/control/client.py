"""A client of the daemon: one connection to its control socket (docs/howto/python-client.md).

    with DaemonClient.at_home() as node:
        print(node.publish(b"hello"))

Blocking, and for one thread. What the rows hold is described in ``tinyssb_node.control.rows``.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast

from tinyssb_node import limits
from tinyssb_node.control.protocol import Reply, Request, parse_reply, serialize_request
from tinyssb_node.errors import ContentTooLongError, ExitCode
from tinyssb_node.problems import ProblemError
from tinyssb_node.store.home import Home

if TYPE_CHECKING:
    from tinyssb_node.control.group_rows import (
        GroupAuditRow,
        GroupCostRow,
        GroupEpochRow,
        GroupRow,
        GroupSaidRow,
        GroupWrittenRow,
    )
    from tinyssb_node.control.rows import (
        AirtimeRow,
        BroughtRow,
        EntryRow,
        FaceRow,
        FeedRow,
        FollowedRow,
        ForkRow,
        GosetRow,
        ImportedRow,
        PublishedRow,
        ReceiptRow,
        RekeyedRow,
        ShownRow,
        StatusRow,
        SureRow,
    )


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


Row = TypeVar("Row")


class RowStream(Generic[Row]):
    """The items of an answer, as they come. *result* is there once all were taken."""

    def __init__(self, replies: Iterator[Reply]) -> None:
        self._replies = replies
        self.result: object = None

    def __iter__(self) -> Iterator[Row]:
        for reply in self._replies:
            if "result" in reply:
                self.result = reply["result"]
            else:
                yield cast("Row", reply.get("item"))


class DaemonClient:
    """One connection. Requests are answered one after the other: take all of a listing before the next request."""

    def __init__(
        self, path: Path, *, network: str | None = None, timeout_s: float = limits.CLIENT_TIMEOUT_S
    ) -> None:
        """Connect to the control socket at *path*. What is asked of feeds is asked of *network*, the default one
        without. Raises DaemonUnreachableError."""
        self._path = path
        self._scope: dict[str, object] = {} if network is None else {"network": network}
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

        Raises HomeMissingError, HomeInaccessibleError, ConfigError, DaemonUnreachableError.
        """
        found = Home.find(home, os.environ)
        if home is None and "TINYSSB_HOME" not in os.environ and _is_only_service(found):
            return cls(SERVICE_SOCKET, network=network)
        found.require()
        try:
            return cls(found.control_socket, network=network)
        except DaemonUnreachableError:
            # Settings may say another place. They are read now and not first: it takes longer than most questions.
            if not _settings_name(b"socket", found):
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

    def status(self) -> StatusRow:
        """How the node is."""
        return cast("StatusRow", self._ask("status"))

    def publish(self, content: bytes, identity: str | None = None) -> PublishedRow:
        """Append an entry with *content* to the node's own feed, or to that of a further *identity*; return when it is
        on the disk.

        Raises ContentTooLongError, DaemonError (``feed_forked``, ``read_only``, ``uncertain``, ``unknown_identity``).
        """
        if len(content) > limits.CONTENT_PUBLISH_MAX:
            from tinyssb_node.feeds.layout import chunks_for

            # Refused here as the daemon would: a request line could not hold much more.
            raise ContentTooLongError(len(content), limits.CONTENT_PUBLISH_MAX, 1 + chunks_for(len(content)))
        given = {"content": content.hex(), **_author(identity), **self._scope}
        return cast("PublishedRow", self._ask("publish", **given))

    def sure(self, identity: str | None = None) -> SureRow:
        """Let the node write its feed, or that of a further *identity*, though it may go on elsewhere
        (docs/reference/keys.md)."""
        return cast("SureRow", self._ask("sure", **_author(identity), **self._scope))

    def rekey(self, set_key: bytes, left: Iterable[str]) -> RekeyedRow:
        """Let the set be one of *set_key* (empty: the network's own key), without the feeds *left* (64 digits)."""
        given = {"set_key": set_key.hex(), "left": list(left), **self._scope}
        return cast("RekeyedRow", self._ask("rekey", **given))

    def feeds(self) -> RowStream[FeedRow]:
        """The feeds of the node's set."""
        return RowStream(self._stream("feeds", **self._scope))

    def forks(self) -> RowStream[ForkRow]:
        """The forks that the node has proofs of."""
        return RowStream(self._stream("forks", **self._scope))

    def log(
        self, feed: str, *, first: int | None = None, last: int | None = None, follow: bool = False
    ) -> RowStream[EntryRow]:
        """Entries of *feed*: from number *first* on, or the *last* newest; with *follow* for ever."""
        if follow:
            self._socket.settimeout(None)
        arguments: dict[str, object] = {"feed": feed, "follow": follow, **self._scope}
        if first is not None:
            arguments["first"] = first
        if last is not None:
            arguments["last"] = last
        return RowStream(self._stream("log", **arguments))

    def show(self, feed: str, seq: int) -> ShownRow:
        """One entry, checked."""
        return cast("ShownRow", self._ask("show", feed=feed, seq=seq, **self._scope))

    def follow(self, feed: str) -> FollowedRow:
        """Add *feed* (64 digits) to the set and ask peers for it."""
        return cast("FollowedRow", self._ask("follow", feed=feed, **self._scope))

    def unfollow(self, feed: str) -> FollowedRow:
        """Stop asking for *feed*."""
        return cast("FollowedRow", self._ask("unfollow", feed=feed, **self._scope))

    def goset(self) -> GosetRow:
        """The set of feed ids."""
        return cast("GosetRow", self._ask("goset", **self._scope))

    def faces(self) -> RowStream[FaceRow]:
        """The node's links."""
        return RowStream(self._stream("faces"))

    def airtime(self) -> RowStream[AirtimeRow]:
        """The accounts of airtime."""
        return RowStream(self._stream("airtime"))

    def receipts(self, *, first: int | None = None, last: int | None = None) -> RowStream[ReceiptRow]:
        """Who has the node's own entries: from number *first* on, or the *last* newest; all without either."""
        arguments: dict[str, object] = dict(self._scope)
        if first is not None:
            arguments["first"] = first
        if last is not None:
            arguments["last"] = last
        return RowStream(self._stream("receipts", **arguments))

    def group_create(self, name: str | None, people: Iterable[str] = ()) -> GroupWrittenRow:
        """Begin a private group called *name*, with *people* (64 digits each) in it."""
        arguments: dict[str, object] = dict(self._scope)
        if name is not None:
            arguments["name"] = name
        if people := list(people):
            arguments["people"] = people
        return cast("GroupWrittenRow", self._ask("group_create", **arguments))

    def group_add(self, group: str, people: Iterable[str], text: str | None = None) -> GroupWrittenRow:
        """Add *people* to a group, with a greeting."""
        arguments = self._change(group, people, text)
        return cast("GroupWrittenRow", self._ask("group_add", **arguments))

    def group_exclude(self, group: str, people: Iterable[str]) -> GroupWrittenRow:
        """Exclude *people* from a group."""
        return cast("GroupWrittenRow", self._ask("group_exclude", **self._change(group, people)))

    def group_cost(
        self, command: str, group: str, people: Iterable[str], text: str | None = None
    ) -> GroupCostRow:
        """What `group_add` or `group_exclude` would write. Nothing is written."""
        arguments = self._change(group, people, text)
        return cast("GroupCostRow", self._ask(command, **arguments, dry_run=True))

    def group_leave(self, group: str) -> GroupWrittenRow:
        """Leave a group."""
        return cast("GroupWrittenRow", self._ask("group_leave", group=group, **self._scope))

    def group_return(self, group: str) -> GroupWrittenRow:
        """Take part again in a group that was left."""
        return cast("GroupWrittenRow", self._ask("group_return", group=group, **self._scope))

    def group_post(self, group: str, text: str) -> GroupWrittenRow:
        """Say *text* to a group."""
        return cast("GroupWrittenRow", self._ask("group_post", group=group, text=text, **self._scope))

    def group_list(self) -> RowStream[GroupRow]:
        """The private groups that the node knows of."""
        return RowStream(self._stream("group_list", **self._scope))

    def group_show(self, group: str) -> RowStream[GroupEpochRow]:
        """Epochs of a group; the rest of what is known of it, a ``GroupShownRow``, is the listing's result."""
        return RowStream(self._stream("group_show", group=group, **self._scope))

    def group_audit(self, group: str) -> RowStream[GroupAuditRow]:
        """All messages of a group in order."""
        return RowStream(self._stream("group_audit", group=group, **self._scope))

    def group_read(
        self, group: str, *, after: int | None = None, before: int | None = None, limit: int | None = None
    ) -> RowStream[GroupSaidRow]:
        """What was said in a group between two places: all of it, or at most *limit*, the first ones after *after*,
        else the last ones."""
        given = {"after": after, "before": before, "limit": limit}
        arguments = {name: value for name, value in given.items() if value is not None}
        return RowStream(self._stream("group_read", group=group, **arguments, **self._scope))

    def _change(self, group: str, people: Iterable[str], text: str | None = None) -> dict[str, object]:
        arguments: dict[str, object] = {"group": group, "people": list(people), **self._scope}
        return arguments if text is None else {**arguments, "text": text}

    def import_packets(self, feed: str, packets: Iterable[bytes]) -> ImportedRow:
        """Follow *feed* (64 digits) and offer up to 512 of its packets, entries in order, each before its chunks."""
        offered = [packet.hex() for packet in packets]
        return cast("ImportedRow", self._ask("import", feed=feed, packets=offered, **self._scope))

    def bring(self, feed: str, packets: Iterable[bytes]) -> BroughtRow:
        """Hand over up to 512 packets of *feed* (64 digits) from another island, entries in order, each before its
        chunks: into the set's feed, or onto the shelf."""
        brought = [packet.hex() for packet in packets]
        return cast("BroughtRow", self._ask("bring", feed=feed, packets=brought, **self._scope))

    def _ask(self, command: str, **arguments: object) -> object:
        listing: RowStream[object] = RowStream(self._stream(command, **arguments))
        for _ in listing:
            raise DaemonError(
                "failed", f"The daemon answered `{command}` by a listing.", "Report this as a bug."
            )
        return listing.result

    def _stream(self, command: str, **arguments: object) -> Iterator[Reply]:
        """Ask at once; yield replies as they are taken, the result last."""
        self._requests += 1
        request = Request(self._requests, command, arguments)
        try:
            self._socket.sendall(serialize_request(request))
        except ConnectionError:
            pass  # It may have said why before it hung up: reading tells.
        except OSError as error:
            raise self._unreachable(error) from error
        return self._replies()

    def _replies(self) -> Iterator[Reply]:
        while True:
            reply = self._reply()
            if "error" in reply:
                error = reply["error"]
                raise DaemonError(error["code"], error["message"], error["hint"])
            yield reply
            if "result" in reply:
                self._socket.settimeout(self._timeout_s)
                return

    def _reply(self) -> Reply:
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


def _author(identity: str | None) -> dict[str, object]:
    """The argument that names who writes; none for the main identity."""
    return {} if identity is None else {"as": identity}


def _is_only_service(home: Home) -> bool:
    """Is there no node in *home*, but one that runs as a service and that we may reach?"""
    return not home.root.exists() and os.access(SERVICE_SOCKET, os.R_OK | os.W_OK)


def _settings_name(word: bytes, home: Home) -> bool:
    """Does *word* occur in the settings? True if they cannot be read: who needs them tells why."""
    try:
        return word in home.config.read_bytes()
    except FileNotFoundError:
        return False
    except OSError:
        return True
