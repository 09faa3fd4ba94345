"""Errors say whose fault it is. One class per broken rule, carrying its data; expected outcomes are return values.

They stand here by subject. Faces and the daemon have some of their own, beside what raises them.
"""

from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path

from tinyssb_node import limits


class TinyssbError(Exception):
    """Anything this project raises on purpose."""


def phrase(text: str) -> str:
    """Return *text*: it marks a part of an error's sentence, so that the tool for translations finds it
    (docs/howto/languages.md)."""
    return text


class PeerError(TinyssbError):
    """A peer's fault: drop what it sent, count it, continue."""


class ExitCode(IntEnum):
    """Exit codes of ``tinyssb``, after sysexits(3) (docs/reference/cli.md)."""

    OK = 0
    ATTENTION = 1
    """`doctor` found something to do."""
    USAGE = 64
    """The command line is not valid."""
    DATA = 65
    """Input or stored data is damaged or of the wrong kind."""
    MISSING = 66
    """No such feed, entry or file."""
    UNAVAILABLE = 69
    """The daemon is not running, or something this command needs is not installed."""
    SOFTWARE = 70
    """A fault of this program."""
    CREATE = 73
    """A file or folder exists where one would be created."""
    STORAGE = 74
    """The disk is full, read-only or fails."""
    BUSY = 75
    """Another process is using it; try again later."""
    PROTOCOL = 76
    """Daemon and command are of different versions."""
    PERMISSION = 77
    """A file may not be read or written, or others may read what is secret."""
    CONFIG = 78
    """The configuration is wrong."""


EXIT_CODES = {
    "bad_request": ExitCode.USAGE,
    "version": ExitCode.PROTOCOL,
    "unknown_command": ExitCode.PROTOCOL,
    "unknown_feed": ExitCode.MISSING,
    "ambiguous_feed": ExitCode.USAGE,
    "unknown_entry": ExitCode.MISSING,
    "unknown_face": ExitCode.MISSING,
    "not_tunable": ExitCode.USAGE,
    "unknown_network": ExitCode.MISSING,
    "unknown_group": ExitCode.MISSING,
    "group_failed": ExitCode.SOFTWARE,
    "unknown_identity": ExitCode.MISSING,
    "ambiguous_group": ExitCode.USAGE,
    "group_refused": ExitCode.DATA,
    "too_long": ExitCode.DATA,
    "harms_phones": ExitCode.DATA,
    "feed_forked": ExitCode.DATA,
    "set_full": ExitCode.DATA,
    "feed_kept": ExitCode.DATA,
    "read_only": ExitCode.STORAGE,
    "busy": ExitCode.BUSY,
    "costly": ExitCode.USAGE,
    "phone_refused": ExitCode.DATA,
    "codec_missing": ExitCode.UNAVAILABLE,
    "codec_failed": ExitCode.DATA,
    "not_allowed": ExitCode.PERMISSION,
    "uncertain": ExitCode.BUSY,
    "failed": ExitCode.SOFTWARE,
}
"""Exit code by the code of an error: of one raised here, and of one that the daemon replied with."""


class LocalError(TinyssbError):
    """A fault of this program or its machine, which is reported: people see its message and hint, programs its code,
    scripts its exit code."""

    code = "failed"
    """Word for programs (docs/formats/control.md)."""
    hint = ""
    """The next step, where the message does not say it."""

    def __init__(
        self, message: str = "", hint: str = "", *, code: str = "", exit_code: ExitCode | None = None
    ) -> None:
        super().__init__(message)
        self.hint = hint or self.hint
        self.code = code or self.code
        self._exit_code = exit_code

    @property
    def message(self) -> str:
        """The message: the event, in sentences."""
        text = str(self) or type(self).__name__
        text = text[:1].upper() + text[1:]
        return text if text.endswith((".", "!", "?")) else text + "."

    @property
    def exit_code(self) -> ExitCode:
        """Exit code for scripts: the one given, else that of the code, unless the class has one of its own."""
        return EXIT_CODES.get(self.code, ExitCode.SOFTWARE) if self._exit_code is None else self._exit_code


# --- what packets of peers get wrong


class PacketSizeError(PeerError):
    """A packet of the wrong size for its kind."""

    def __init__(self, kind: str, size: int, allowed: str) -> None:
        super().__init__(f"a packet of kind {kind} has {allowed} bytes, this one {size}")
        self.size = size
        self.allowed = allowed


class PacketKindError(PeerError):
    """The byte behind the DMX, or the first letter of a text, names another kind of packet."""

    def __init__(self, kind: str, found: bytes) -> None:
        super().__init__(f"no packet of kind {kind}: it begins with {found!r}")
        self.found = found


class RegionError(PeerError):
    """A CLAIM of an impossible region: its ends are in the wrong order, or it has no feed id."""

    def __init__(self, low: bytes, high: bytes, count: int) -> None:
        super().__init__(f"a region from {low.hex()} to {high.hex()} cannot have {count} feed ids")
        self.low = low
        self.high = high
        self.count = count


class ImpossibleClaimError(PeerError):
    """No set of feed ids has such a claim: its bounds, count and XOR contradict each other."""


class NobodyError(PeerError):
    """The feed id of 32 zeros, which is no feed's: no set has it."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"a {kind} names the feed of 32 zeros, which is nobody's")


class VectorShapeError(PeerError):
    """The BIPF value of a WANT or CHNK is not the list of numbers it has to be."""

    def __init__(self, kind: str, expected: str) -> None:
        super().__init__(f"the vector of a {kind} is {expected}")
        self.kind = kind
        self.expected = expected


class AckShapeError(PeerError):
    """The content of an entry of type 6 is no acknowledgement that we can read."""

    def __init__(self, what: str) -> None:
        super().__init__(f"an acknowledgement {what}")


class ChildShapeError(PeerError):
    """The content of an entry of type 2, 4 or 5 is not 48 bytes long."""

    def __init__(self, type_: int, size: int) -> None:
        super().__init__(f"the content of an entry of type {type_} has 48 bytes, not {size}")


class VectorNumberError(PeerError):
    """A number in a WANT or CHNK is larger than any sequence number."""

    def __init__(self, kind: str, number: int) -> None:
        super().__init__(f"{number} in a {kind} is no sequence number, index or chunk number")
        self.kind = kind
        self.number = number


class PaddingError(PeerError):
    """Bytes after the vector of a WANT or CHNK are not zero."""

    def __init__(self, kind: str, offset: int) -> None:
        super().__init__(f"a {kind} is padded with something else than zeros from byte {offset} on")
        self.kind = kind
        self.offset = offset


class PingTextError(PeerError):
    """The text of a ping or pong is not what boards write."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the text of a ping or pong is broken: {reason}")


class SeqRangeError(PeerError):
    """A sequence number that no entry can have."""

    def __init__(self, seq: int) -> None:
        super().__init__(f"no entry has sequence number {seq}")
        self.seq = seq


class ForkProofFormatError(PeerError):
    """The bytes of a fork proof are not in a version we read."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"not a fork proof we can read: {reason}")
        self.reason = reason


# --- what a node cannot publish, or follow


class ContentTooLongError(LocalError):
    """More content than one entry may carry."""

    code = "too_long"

    def __init__(self, size: int, limit: int, packets: int) -> None:
        super().__init__(
            f"{size} bytes are too much for one entry, the limit is {limit}: they would take {packets} packets on "
            "the air. Nothing was published: shorten it, or publish it in parts"
        )
        self.size = size
        self.limit = limit
        self.packets = packets


class FeedFullError(LocalError):
    """Our feed has used its last sequence number."""

    def __init__(self, seq: int) -> None:
        super().__init__(f"the feed has reached its last sequence number, {seq}: publish from a new identity")
        self.seq = seq


class FeedForkedError(LocalError):
    """Two entries of our own feed were signed with one sequence number, perhaps by a copy of this identity."""

    code = "feed_forked"
    hint = "`tinyssb forks` shows both entries; docs/reference/forks.md explains how to continue with a new identity."

    def __init__(self, feed: bytes, seq: int) -> None:
        super().__init__(
            f"the feed {feed.hex()} has two different entries signed as number {seq}: another copy of this identity "
            "is in use. Nothing was published, all is kept. Stop the other copy and publish from a new identity"
        )
        self.feed = feed
        self.seq = seq


class FeedEndedError(LocalError):
    """A feed of ours has an END entry, which nothing can follow."""

    def __init__(self, feed: bytes, seq: int) -> None:
        super().__init__(
            f"the feed {feed.hex()} was ended by its entry {seq}, and nothing can follow. Nothing was published, all "
            "is kept. Publish in another feed"
        )
        self.feed = feed
        self.seq = seq


class UnencodableMessageError(LocalError):
    """A message that the app's format cannot express."""

    exit_code = ExitCode.DATA

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"this message cannot be written: {reason}. Nothing was published; change it and try again"
        )


class RecipientCountError(LocalError):
    """A private message for nobody, or for more people than the phone app can read it for."""

    exit_code = ExitCode.DATA

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(
            f"a private message is for 1 to {limit} people, its author among them, and not for {count}. Nothing was "
            "published; choose fewer, or write in public"
        )


class ReaderKeyError(LocalError):
    """A feed id for which nothing can be sealed, since it is no public key."""

    exit_code = ExitCode.DATA

    def __init__(self, feed: bytes) -> None:
        super().__init__(
            f"the feed {feed.hex()} is no key that anybody can have, so nobody could read what is sealed for it. "
            "Nothing was published; leave it out"
        )


class SetFullError(LocalError):
    """The node knows as many feeds as it can, in its set and beyond it."""

    code = "set_full"

    def __init__(self, count: int) -> None:
        super().__init__(
            f"this node knows {count} feeds, the most it can. Nothing was changed. `tinyssb network rekey` leaves "
            "those that have no entries"
        )


class NodeReadOnlyError(LocalError):
    """The node keeps reading, and cannot sign or store until the disk can be written again."""

    code = "read_only"

    def __init__(self) -> None:
        super().__init__(
            "The disk cannot be written, so nothing was signed or published; all that was published before is kept. "
            "Free some space: the node tries again by itself"
        )


# --- the store, and the disk it is on


class StoreFullError(LocalError):
    """The disk is full: nothing can be signed or stored until there is room; reading goes on."""

    code = "read_only"


class StoreFailedError(LocalError):
    """The disk or file system refused an operation; the message is the system's."""

    exit_code = ExitCode.STORAGE


class StoreDamagedError(StoreFailedError):
    """The store's file is not what this program wrote."""

    exit_code = ExitCode.DATA

    def __init__(self, path: Path, reason: str, advice: str = "") -> None:
        super().__init__(
            f"{path} cannot be read as a store: {reason}. The file was left as it is. "
            + (
                advice
                or "Put a backup in its place, or move it aside and start again: feeds come back from peers. "
                "Publish nothing until your own one is back."
            )
        )


class StoreTooNewError(LocalError):
    """The store was written by a later version of this program."""

    exit_code = ExitCode.DATA

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"{path} has format {found}, this program knows up to {known}. Nothing was changed. "
            "Install the newer version of the program that wrote it."
        )


class StoreLockedError(LocalError):
    """Another process writes to this home folder."""

    exit_code = ExitCode.BUSY

    def __init__(self, folder: Path, pid: int | None) -> None:
        self.pid = pid
        holder = phrase("another process") if pid is None else phrase(f"process {pid}")
        super().__init__(
            f"The node in {folder} is already in use by {holder}. Nothing was changed. "
            "Stop it first, or choose another home folder with --home."
        )


# --- the identity file


class IdentityExistsError(LocalError):
    """An identity file would have been overwritten."""

    exit_code = ExitCode.CREATE

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} already holds an identity. It was kept; a key is never overwritten.")


class IdentityDamagedError(LocalError):
    """The identity file is damaged."""

    exit_code = ExitCode.DATA

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} does not hold a usable identity: {reason}. It was left as it is. Put your backup of it back."
        )


# --- the event log


class EventLogFullError(LocalError):
    """The disk is full: the event log waits for room."""

    code = "read_only"

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"No room on the disk for the event log {path}. What is in it was kept; records wait in memory and are "
            "written once there is room. Free some space."
        )


# --- the simulator


class SimulationOptionError(LocalError):
    """An impossible simulation: the dotted key of the option at fault, and the reason."""

    exit_code = ExitCode.CONFIG

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}")
        self.key = key
        self.reason = reason


class ScenarioFileError(LocalError):
    """A scenario file that cannot be used, at *key* in *line*, or as a whole where the key is empty."""

    exit_code = ExitCode.CONFIG

    def __init__(self, path: Path, line: int | None, key: str, reason: str) -> None:
        self.line, self.key, self.reason = line, key, reason
        place = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(
            f"The scenario {place} cannot be played: {key + ': ' if key else ''}{reason}. Nothing was simulated; "
            "docs/reference/sim.md lists the keys of a scenario"
        )


class SimulationFailedError(LocalError):
    """A checker of the simulator found what must never happen."""

    def __init__(self, scenario: str, seed: int, time_us: int, rule: str, what: str, replay: str) -> None:
        self.seed = seed
        self.rule, self.what, self.replay = rule, what, replay
        super().__init__(
            f"scenario {scenario}, seed {seed}, after {time_us / 1e6:.6f} s: {rule}: {what}. To see it again: {replay}"
        )


class ProblemError(LocalError):
    """A problem whose message is shown as it is written where it is raised.

    A problem that travels over the control socket has a code of its own there, which stands for an exit code, too; the
    others have an exit code only.
    """

    @property
    def message(self) -> str:
        """The message: the event, in sentences."""
        return str(self)


class HomeInaccessibleError(ProblemError):
    """The operating system does not allow us to read or write a file of the home folder."""

    exit_code = ExitCode.PERMISSION


class HomeDiskError(HomeInaccessibleError):
    """The disk of the home folder is full, read-only or fails."""

    exit_code = ExitCode.STORAGE


class ConfigError(ProblemError):
    """A value in config.toml that is not possible, at *key*; the whole file where that is empty."""

    exit_code = ExitCode.CONFIG

    def __init__(self, file: Path, key: str, value: object, allowed: str) -> None:
        told = f": {key} = {as_toml(value)} is not possible" if key else " cannot be used"
        super().__init__(
            f"{file}{told}: {allowed}.",
            f"Change it in {file}; docs/reference/config.md says what each key means.",
        )
        self.file = file
        self.key = key
        self.allowed = allowed


class FileUnreadableError(ProblemError):
    """A file that was named cannot be read."""

    exit_code = ExitCode.MISSING

    def __init__(self, path: str, error: OSError) -> None:
        super().__init__(f"{path} cannot be read: {error.strerror}.", "Name a file that you can read.")


class UnknownIdentityError(ProblemError):
    """The node has no further identity of this name."""

    code = "unknown_identity"

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        there = ", ".join(known)
        super().__init__(
            f"There is no identity called '{name[: limits.NAME_MAX]}' here.",
            f"There are {there}." if there else "`tinyssb identity new` makes one.",
        )


class GroupRefusedError(ProblemError):
    """The rules of private groups do not allow it."""

    code = "group_refused"


class BadRequestError(ProblemError):
    """A request of the control protocol or of the page is not one, or its arguments are not what it takes."""

    code = "bad_request"


class ProtocolVersionError(ProblemError):
    """A protocol version this program does not speak."""

    code = "version"


class BusyError(ProblemError):
    """Too many connections or requests at once, or a catalog that is still being built."""

    code = "busy"


def as_toml(value: object) -> str:
    """*value* as a TOML document says it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    return str(value)


def first_error(error: BaseException) -> BaseException:
    """Return the first error of a group, and of groups in it; the others are of tasks that it ended."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
