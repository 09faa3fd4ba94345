"""Errors in the user's configuration of a face."""

from pathlib import Path

from tinyssb_node.errors import ExitCode, LocalError


class FaceSpecError(LocalError):
    """A spec string that cannot be opened."""

    exit_code = ExitCode.CONFIG

    def __init__(self, spec: str, what: str, allowed: str) -> None:
        super().__init__(f"The face '{spec}' cannot be opened: {what}. Possible: {allowed}")
        self.spec = spec
        """The string as given."""
        self.what = what
        """The mistake in it."""
        self.allowed = allowed
        """Possible values instead."""


class FaceOpenError(LocalError):
    """This machine refuses what the spec string asks for; trying again would not help."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, spec: str, what: str, remedy: str) -> None:
        super().__init__(f"The face '{spec}' cannot be opened: {what}. {remedy}")
        self.what, self.remedy = what, remedy


class SecretExposedError(LocalError):
    """Other users of this machine have rights to a file with a secret."""

    exit_code = ExitCode.PERMISSION

    def __init__(self, file: Path) -> None:
        super().__init__(
            f"Other users of this machine have rights to {file}. It was not used. Type: chmod 600 {file}"
        )


class SecretUnusableError(LocalError):
    """A file with a secret is malformed. Its content is not shown."""

    exit_code = ExitCode.CONFIG

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"{file} {reason}. It was not used. docs/reference/faces.md says how to make one.")
        self.reason = reason
        """The problem with it, beginning with a verb."""


class CertificateError(LocalError):
    """A certificate cannot be used."""

    exit_code = ExitCode.CONFIG

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(
            f"The certificate {file} cannot be used: {reason}. docs/reference/faces.md says how to make one."
        )


class EtherUnreachableError(LocalError):
    """No ether answers at an address."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(f"No ether answers at {host} port {port} ({reason}). Start one with: tinyssb ether")


class BrokerError(ConnectionError):
    """The connection to an MQTT broker failed or ended."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        """The reason, in plain words."""
        self.remedy = remedy
        """Checks for the user to make; empty where only waiting helps."""
