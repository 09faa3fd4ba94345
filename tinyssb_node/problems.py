"""Problems a person can put right: what happened, what to do next, and the exit code scripts see.

Light on purpose: the command line imports it before it knows what it will be asked.
"""

from collections.abc import Iterable
from enum import IntEnum

from tinyssb_node import limits
from tinyssb_node.errors import LocalError


class ExitCode(IntEnum):
    """Exit codes of ``tinyssb``, after sysexits(3) (docs/reference/cli.md)."""

    OK = 0
    ATTENTION = 1
    """`doctor` found something to do."""
    USAGE = 64
    """The command was not typed as it must be."""
    DATA = 65
    """What was given, or what is kept, is damaged or of the wrong kind."""
    MISSING = 66
    """No such feed, entry or file."""
    UNAVAILABLE = 69
    """The daemon is not running, or something this command needs is not installed."""
    SOFTWARE = 70
    """A fault of this program."""
    CREATE = 73
    """Something is in the place where a file should be made."""
    STORAGE = 74
    """The disk is full, read-only or fails."""
    BUSY = 75
    """Somebody else is at it; try again later."""
    PROTOCOL = 76
    """Daemon and command are of different versions."""
    PERMISSION = 77
    """A file may not be read or written, or others may read what is secret."""
    CONFIG = 78
    """The configuration is wrong."""


class ProblemError(LocalError):
    """What a person is told. Subclasses say which rule was broken.

    One that travels over the control socket has a code of its own there, which stands for an exit code, too; the others
    have an exit code only.
    """

    code = "failed"
    """Word for programs (docs/formats/control.md)."""
    exit_code: ExitCode | None = None
    """What scripts see; None: what ``EXITS`` says of the code."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        """One sentence: what happened."""
        self.hint = hint
        """What to do next."""


EXITS = {
    "bad_request": ExitCode.USAGE,
    "version": ExitCode.PROTOCOL,
    "unknown_command": ExitCode.PROTOCOL,
    "unknown_feed": ExitCode.MISSING,
    "ambiguous_feed": ExitCode.USAGE,
    "unknown_entry": ExitCode.MISSING,
    "unknown_network": ExitCode.MISSING,
    "unknown_group": ExitCode.MISSING,
    "unknown_identity": ExitCode.MISSING,
    "ambiguous_group": ExitCode.USAGE,
    "group_refused": ExitCode.DATA,
    "too_long": ExitCode.DATA,
    "feed_forked": ExitCode.DATA,
    "set_full": ExitCode.DATA,
    "read_only": ExitCode.STORAGE,
    "busy": ExitCode.BUSY,
    "not_allowed": ExitCode.PERMISSION,
    "uncertain": ExitCode.BUSY,
    "failed": ExitCode.SOFTWARE,
}
"""Exit code by the code of an error: of one met here, and of one that the daemon answers with."""


class HomeMissingError(ProblemError):
    """There is no node in this folder."""

    exit_code = ExitCode.MISSING


class HomeExistsError(ProblemError):
    """A node would be made where there is one."""

    exit_code = ExitCode.CREATE


class HomeInaccessibleError(ProblemError):
    """The operating system does not let us read or write something of the home folder."""

    exit_code = ExitCode.PERMISSION


class HomeDiskError(HomeInaccessibleError):
    """The disk of the home folder is full, read-only or fails."""

    exit_code = ExitCode.STORAGE


class FileUnreadableError(ProblemError):
    """A file that was named cannot be read."""

    exit_code = ExitCode.MISSING

    def __init__(self, path: str, error: OSError) -> None:
        super().__init__(f"{path} cannot be read: {error.strerror}.", "Name a file that you can read.")
        self.path = path


class UnknownFeedError(ProblemError):
    """No feed of the set is named so."""

    code = "unknown_feed"


class AmbiguousFeedError(ProblemError):
    """Several feeds begin so."""

    code = "ambiguous_feed"


class UnknownEntryError(ProblemError):
    """The node does not hold this entry."""

    code = "unknown_entry"


class UnknownNetworkError(ProblemError):
    """The node takes part in no network of this name."""

    code = "unknown_network"


class UnknownIdentityError(ProblemError):
    """The node has no further identity of this name."""

    code = "unknown_identity"

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        there = ", ".join(known)
        super().__init__(
            f"There is no identity called '{name[: limits.NAME_MAX]}' here.",
            f"There are {there}." if there else "`tinyssb identity new` makes one.",
        )


class UnknownGroupError(ProblemError):
    """The node knows of no private group of this name or id."""

    code = "unknown_group"


class AmbiguousGroupError(ProblemError):
    """Several private groups may be meant."""

    code = "ambiguous_group"


class GroupRefusedError(ProblemError):
    """The rules of private groups do not allow it."""

    code = "group_refused"


class NoGroupsError(ProblemError):
    """The node keeps no private groups."""


class BadRequestError(ProblemError):
    """A control request is not one, or its arguments are not what the command takes."""

    code = "bad_request"


class UnknownCommandError(ProblemError):
    """The daemon knows no such command."""

    code = "unknown_command"


class ProtocolVersionError(ProblemError):
    """A protocol version this program does not speak."""

    code = "version"


class BusyError(ProblemError):
    """Too many control connections."""

    code = "busy"


class NotAuthorizedError(ProblemError):
    """Somebody asks at the control socket for what is not his to ask for."""

    code = "not_allowed"
