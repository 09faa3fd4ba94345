"""Errors of serving the page."""

from pathlib import Path

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.limits import WEB_PORT
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
    """A malformed address to listen on."""

    exit_code = ExitCode.USAGE

    def __init__(self, text: str) -> None:
        super().__init__(
            f"'{text}' is not an address with a port. Nothing was served.",
            f"Type 127.0.0.1:{WEB_PORT} for this machine only, or 0.0.0.0:{WEB_PORT} for all its networks.",
        )


class TokenRequiredError(ProblemError):
    """A page without a token that others could reach, and write in the node's name."""

    exit_code = ExitCode.CONFIG

    def __init__(self, host: str, file: Path) -> None:
        super().__init__(
            f"At {host} anyone could read and write as you, and there is no token in {file}. Nothing was served.",
            "Create one: tinyssb web --link (it shows a link and a QR code). Then start the page again.",
        )


class TokenError(ProblemError):
    """A malformed token file."""

    exit_code = ExitCode.CONFIG

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(
            f"The token in {file} {reason}. Nothing was served.",
            f"Delete the file, and create a token of {2 * limits.TOKEN_SIZE} characters: tinyssb web --link",
        )


class TokenExposedError(ProblemError):
    """A token that other users of this machine may read."""

    exit_code = ExitCode.PERMISSION

    def __init__(self, file: Path) -> None:
        super().__init__(
            f"Other users of this machine may read the token in {file}. Nothing was served.",
            f"Type: chmod 600 {file}",
        )


class TokenWriteError(ProblemError):
    """A new token that cannot be stored."""

    exit_code = ExitCode.PERMISSION

    def __init__(self, file: Path, error: OSError) -> None:
        super().__init__(
            f"The token cannot be written to {file}: {error.strerror}.",
            "Type the command as the node's user, or choose another file with --token-file.",
        )


class PageListenError(ProblemError):
    """An address that the page cannot listen on."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, host: str, port: int, error: OSError) -> None:
        super().__init__(
            f"The page cannot be served at {host}, port {port}: {error.strerror or error}.",
            "Another program may use the port, or the page runs already. Choose another port with --listen.",
        )


class TooManyListenersError(ProblemError):
    """More open pages than the server accepts."""

    code = "busy"

    def __init__(self) -> None:
        super().__init__(
            f"{limits.LISTENERS_MAX} pages are open, the most that this node serves.",
            "Close one of them; this one retries automatically.",
        )


class ServerBusyError(ProblemError):
    """More requests than can be answered."""

    code = "busy"

    def __init__(self) -> None:
        super().__init__("The node is busy with other requests.", "Try again in a moment.")


class CatchingUpError(ProblemError):
    """A catalog that is still being built from a large store."""

    code = "busy"

    def __init__(self, done: int, total: int) -> None:
        share = f"{100 * done // total} %" if total else "a part"
        super().__init__(
            f"The node indexes its messages for the first time: {share} is done.", "Wait a little."
        )


class BadPageRequestError(ProblemError):
    """A malformed request."""

    code = "bad_request"


class RequestTooLargeError(ProblemError):
    """A request body that is too long."""

    code = "too_long"

    def __init__(self) -> None:
        super().__init__(f"The request has more than {limits.BODY_MAX} bytes. Nothing was done.")


class PageNotFoundError(ProblemError):
    """A request for something that does not exist here."""

    code = "unknown_entry"
