"""What can go wrong when the page is served."""

from os import EX_CONFIG, EX_UNAVAILABLE
from pathlib import Path

from spark_sink.errors import SinkError
from spark_sink.page import limits


class TooManyPagesError(SinkError):
    """The server has as many listening pages as it takes."""

    def __init__(self) -> None:
        super().__init__(
            f"{limits.CLIENTS_MAX} pages are open already, as many as this server takes. "
            "Close one of them, then reload this one."
        )


class TooBusyError(SinkError):
    """More questions wait for the database than the server lets wait."""

    def __init__(self) -> None:
        super().__init__("The server has more to answer than it can; the page tries again by itself.")


class CannotListenError(SinkError):
    """The address of the page cannot be had."""

    exit_code = EX_UNAVAILABLE

    def __init__(self, host: str, port: int, cause: OSError) -> None:
        super().__init__(
            f"Cannot listen on {host}, port {port}: {cause.strerror or cause}. "
            "Is another page running there? Name a free port with --port, or an address of this machine with --host."
        )


class TokenNeededError(SinkError):
    """The page would be open to everybody who can reach this machine."""

    exit_code = EX_CONFIG

    def __init__(self, host: str) -> None:
        super().__init__(
            f"At {host} others can reach the page, and no token was given; nothing was served. Give one with --token "
            "FILE, or say with --no-token that anybody may look."
        )


class BadTokenError(SinkError):
    """The token cannot be used."""

    exit_code = EX_CONFIG

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"The token in {where} {reason}; nothing was served. A good one comes from: openssl rand -hex 16"
        )


class BadTilesError(SinkError):
    """The address of a map's pictures cannot be used."""

    exit_code = EX_CONFIG

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"The address of the map's pictures, {url}, {reason}; nothing was served. It looks like "
            "https://tiles.example.org/{z}/{x}/{y}.png; without --tiles the map does without pictures."
        )


class BadCertificateError(SinkError):
    """The certificate or its key cannot be used."""

    exit_code = EX_CONFIG

    def __init__(self, certificate: Path, key: Path, reason: str) -> None:
        super().__init__(
            f"The certificate {certificate} with the key {key} cannot be used: {reason}; nothing was served. "
            "Both must be PEM files, the key without a password, and belong together."
        )
