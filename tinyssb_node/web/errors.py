"""What can go wrong when the page is served."""

from pathlib import Path

from tinyssb_node.errors import ExitCode
from tinyssb_node.limits import WEB_PORT
from tinyssb_node.problems import ProblemError
from tinyssb_node.web import limits


class WebMissingError(ProblemError):
    """The libraries that serve the page are not installed."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"The web page needs the library {missing}, which is not installed. Nothing was served.",
            "Install it with: pip install 'tinyssb-node[web]'",
        )


class ListenAddressError(ProblemError):
    """What was typed is no address to listen on."""

    exit_code = ExitCode.USAGE

    def __init__(self, text: str) -> None:
        super().__init__(
            f"'{text}' is no address with a port.",
            f"Write 127.0.0.1:{WEB_PORT} for this machine alone, 0.0.0.0:{WEB_PORT} for all networks "
            "it is in.",
        )


class TokenRequiredError(ProblemError):
    """Everybody who can reach this machine could write in the node's name."""

    exit_code = ExitCode.CONFIG

    def __init__(self, host: str, file: Path) -> None:
        super().__init__(
            f"At {host} others could read and write as you, and there is no token in {file}. Nothing was served.",
            "Make one with `tinyssb web --link`, which shows it as a link and as a QR code; then start again.",
        )


class TokenError(ProblemError):
    """The token cannot be used."""

    exit_code = ExitCode.CONFIG

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(
            f"The token in {file} {reason}. Nothing was served.",
            f"Delete the file, and `tinyssb web --link` makes a good one of {2 * limits.TOKEN_SIZE} characters.",
        )


class TokenExposedError(ProblemError):
    """Other users of this machine may read the token."""

    exit_code = ExitCode.PERMISSION

    def __init__(self, file: Path) -> None:
        super().__init__(
            f"Other users of this machine may read the token in {file}. Nothing was served.",
            f"Type: chmod 600 {file}",
        )


class TokenWriteError(ProblemError):
    """A new token cannot be kept."""

    exit_code = ExitCode.PERMISSION

    def __init__(self, file: Path, error: OSError) -> None:
        super().__init__(
            f"A token cannot be kept in {file}: {error.strerror}.",
            "Type the command as the user whose node it is; --token-file names another file.",
        )


class PageListenError(ProblemError):
    """The address of the page cannot be had."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, host: str, port: int, error: OSError) -> None:
        super().__init__(
            f"The page cannot be served at {host}, port {port}: {error.strerror or error}.",
            "Another program may have the port, or the page runs already; --listen names another one.",
        )


class TooManyListenersError(ProblemError):
    """As many pages listen as the server takes."""

    code = "busy"

    def __init__(self) -> None:
        super().__init__(
            f"{limits.LISTENERS_MAX} pages are open already, as many as this node serves.",
            "Close one of them; this one tries again by itself.",
        )


class ServerBusyError(ProblemError):
    """More is asked than can be answered."""

    code = "busy"

    def __init__(self) -> None:
        super().__init__("The node has more to answer than it can.", "Try again in a moment.")


class CatchingUpError(ProblemError):
    """The catalog is being made, of a store that holds much."""

    code = "busy"

    def __init__(self, done: int, total: int) -> None:
        share = f"{100 * done // total} % of it" if total else "some"
        super().__init__(
            f"The node goes through what it holds for the first time: {share} is done.", "Wait a little."
        )


class BadPageRequestError(ProblemError):
    """A page asks for what cannot be asked for."""

    code = "bad_request"


class RequestTooLargeError(ProblemError):
    """A page sends more than it has to say."""

    code = "too_long"

    def __init__(self) -> None:
        super().__init__(f"The request has more than {limits.BODY_MAX} bytes; nothing was done.")


class PageNotFoundError(ProblemError):
    """A page asks for what is not there."""

    code = "unknown_entry"
