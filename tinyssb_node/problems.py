"""Problems a person can put right: what happened, what to do next, and the exit code scripts see.

Light on purpose: the command line imports it before it knows what it will be asked.
"""

from collections.abc import Iterable
from pathlib import Path

from tinyssb_node import limits
from tinyssb_node.errors import ExitCode, LocalError


class ProblemError(LocalError):
    """A problem that is explained where it is raised, with its hint. Subclasses say which rule was broken.

    A problem that travels over the control socket has a code of its own there, which stands for an exit code, too; the
    others have an exit code only.
    """

    def __init__(self, message: str, hint: str = "", *, exit_code: ExitCode | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self._exit_code = exit_code

    @property
    def exit_code(self) -> ExitCode:
        """Exit code for scripts: the one given, else that of the code, unless the class has one of its own."""
        return super().exit_code if self._exit_code is None else self._exit_code

    @property
    def message(self) -> str:
        """The message: the event, in sentences."""
        return str(self)


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


class ConfigError(ProblemError):
    """config.toml says something we cannot do, at *key*, or as a whole where that is empty."""

    exit_code = ExitCode.CONFIG

    def __init__(self, file: Path, key: str, value: object, allowed: str) -> None:
        told = f": {key} = {as_toml(value)} is not possible" if key else " cannot be used"
        super().__init__(
            f"{file}{told}: {allowed}.",
            f"Change it in {file}; docs/reference/config.md says what each key means.",
        )
        self.file = file
        self.key = key
        self.value = value
        self.allowed = allowed


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


def as_toml(value: object) -> str:
    """*value* as a TOML document says it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    return str(value)
