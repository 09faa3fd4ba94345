"""Access to the control socket, by the peer credentials from the kernel (docs/formats/control.md)."""

import array
import grp
import os
import pwd
import socket
import struct
import sys
import time
from collections.abc import Collection
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tinyssb_node import limits
from tinyssb_node.errors import ExitCode, ProblemError

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

GROUP: Final = "tinyssb"
"""The group whose members may use the socket, where there is one of this name and nobody says otherwise."""
_TOLD: Final = sys.platform == "linux"
"""True if the system identifies the caller. Elsewhere the file's mode alone limits access
(docs/reference/security.md)."""
_PEERGROUPS: Final = 59
"""Linux 4.13 (asm-generic/socket.h); Python has no name for it."""
_PEERGROUPS_SIZE: Final = 1_024
"""Most bytes that Python asks an option for: 256 groups."""


class CallerRank(Enum):
    """Rank of a caller at the socket."""

    KEEPER = auto()
    """Everything: the user the daemon runs as, and root."""
    MEMBER = auto()
    """All but what only a keeper can know: a member of the group."""
    STRANGER = auto()
    """Nothing."""


class ControlAccess:
    """Lets callers in, and counts those it does not."""

    def __init__(
        self, logger: "FilteringBoundLogger", *, group: str | None = None, keepers_only: Collection[str] = ()
    ) -> None:
        """*group*: whose members may come in; empty: nobody's; None: those of ``GROUP``, if there is one and the
        socket can be given to it. *keepers_only*: commands that members may not use."""
        self._logger = logger
        self._wanted = group
        self._keepers_only = frozenset(keepers_only)
        self._gid: int | None = None
        self._told_us = -limits.LOG_REPEAT_US
        self.turned_away = 0
        """Connections that were not served: of strangers, and of those who came too many."""

    def open_to_group(self, path: Path) -> None:
        """Let the group reach the socket at *path*, which is its owner's alone until now. Raises ProblemError."""
        name = GROUP if self._wanted is None else self._wanted
        if not name:
            return
        try:
            gid = grp.getgrnam(name).gr_gid
            os.chown(path, -1, gid)
            # In this order: at no moment may another group reach it.
            path.chmod(0o660)
        except (KeyError, OSError) as error:
            if self._wanted is None:
                return
            reason = error.strerror if isinstance(error, OSError) else "there is none"
            raise ProblemError(
                f"The control socket cannot be given to the group '{name}': {reason or 'the system refuses it'}. "
                "Nobody was let in.",
                "Make the group, and the node's user its member, or change `control.group` in config.toml.",
                exit_code=ExitCode.CONFIG,
            ) from error
        self._gid = gid
        self._logger.info("members of a group may use the control socket", group=name, socket=str(path))

    def admit(self, sock: socket.socket) -> CallerRank:
        """Return the rank of the caller at the other end of *sock*. Raises ProblemError."""
        if not _TOLD:
            return CallerRank.KEEPER
        _, uid, gid = struct.unpack("iII", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid in {0, os.geteuid()}:
            return CallerRank.KEEPER
        if self._gid is not None and self._gid in {gid, *_groups(sock, uid, gid)}:
            return CallerRank.MEMBER
        self.turn_away(f"user {uid} is neither the node's user nor in its group")
        raise ProblemError(
            f"You (user {uid}) may not use this node.",
            "Ask whose node it is, or do it as the node's user; docs/reference/service.md says who may.",
            code="not_allowed",
        )

    def check(self, rank: CallerRank, command: str) -> None:
        """Raise ProblemError unless *rank* may use *command*."""
        if rank is not CallerRank.KEEPER and command in self._keepers_only:
            raise ProblemError(
                f"`{command}` is for the node's own user and for root. Nothing was done.",
                "Type it as one of them, with `sudo` in front.",
                code="not_allowed",
            )

    def turn_away(self, reason: str) -> None:
        """Count a connection that is not served, and say so now and again."""
        self.turned_away += 1
        now_us = time.monotonic_ns() // 1_000
        if now_us - self._told_us >= limits.LOG_REPEAT_US:
            self._told_us = now_us
            self._logger.warning(
                "somebody was turned away at the control socket", reason=reason, turned_away=self.turned_away
            )


def _groups(sock: socket.socket, uid: int, gid: int) -> Collection[int]:
    """The other groups of who is at the other end: of the process, or else of its user.

    The service is in a user namespace of its own (PrivateUsers), which does not know other users. It knows its group,
    and so whether a caller is in it.
    """
    try:
        held = array.array("I", sock.getsockopt(socket.SOL_SOCKET, _PEERGROUPS, _PEERGROUPS_SIZE))
    except OSError:
        # An old kernel, or somebody in more groups than that.
        try:
            return os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
        except KeyError:
            return ()
    return held
