"""Errors of the page: one class for each cause that a caller tells apart."""

from pathlib import Path

from tinyssb_node.errors import ExitCode, ProblemError


class PageStartError(ProblemError):
    """A page that cannot be served: an address, a port or a library is not to be had."""


class TokenError(ProblemError):
    """A token that is missing, malformed, readable by others, or cannot be stored."""


class RequestTooLargeError(ProblemError):
    """A request body that is too long."""

    code = "too_long"


class PageNotFoundError(ProblemError):
    """A request for something that does not exist here."""

    code = "unknown_entry"


class CostlyMessageError(ProblemError):
    """A message that takes so many packets that its author should agree first."""

    code = "costly"


class PhoneRefusedError(ProblemError):
    """An entry of a guest's phone that the node does not take."""

    code = "phone_refused"


class CodecMissingError(ProblemError):
    """The programs that play and record voice are not installed."""

    code = "codec_missing"

    def __init__(self) -> None:
        super().__init__(
            "The node has no program to play and record voice: Codec 2.",
            "On the node, with Debian or Ubuntu: `sudo apt install codec2`",
        )


class CodecFailedError(ProblemError):
    """A program of Codec 2 failed, or took too long."""

    code = "codec_failed"

    def __init__(self, program: str) -> None:
        super().__init__(
            f"The program {program} could not convert this recording.",
            "Nothing was sent. Save the recording, or try another one.",
        )


class EventLogUnreadableError(ProblemError):
    """The node's event log cannot be read."""

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(
            f"The event log in {folder} cannot be read: {error.strerror or error}.",
            f"Check the folder's owner and its disk: ls -ld {folder}",
        )


class PhonesFileError(ProblemError):
    """The file of guests' phones cannot be read or written."""

    exit_code = ExitCode.CONFIG

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(
            f"The list of guests' phones {file} cannot be used: {reason}.",
            f"Begin a new one with: rm {file}; guests then scan their code again, and keep their feeds.",
        )
