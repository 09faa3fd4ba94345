"""Faults in what the user asked of a face."""

from pathlib import Path

from tinyssb_node.errors import ExitCode, LocalError


class FaceSpecError(LocalError):
    """A spec string that says nothing we can open."""

    exit_code = ExitCode.CONFIG

    def __init__(self, spec: str, what: str, allowed: str) -> None:
        super().__init__(f"The face '{spec}' cannot be opened: {what}. Possible: {allowed}")
        self.spec = spec
        """The string as given."""
        self.what = what
        """What is wrong with it."""
        self.allowed = allowed
        """What could stand there instead."""


class FaceOpenError(LocalError):
    """This machine refuses what the spec string asks for; trying again would not help."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, spec: str, what: str, remedy: str) -> None:
        super().__init__(f"The face '{spec}' cannot be opened: {what}. {remedy}")
        self.spec = spec
        """The string as given."""
        self.what = what
        """What was refused."""
        self.remedy = remedy
        """What to do next."""


class SecretExposedError(LocalError):
    """Others on this machine have rights to a file with a secret."""

    exit_code = ExitCode.PERMISSION

    def __init__(self, file: Path) -> None:
        super().__init__(
            f"Other users of this machine have rights to {file}. It was not used. Type: chmod 600 {file}"
        )
        self.file = file
        """Where the secret is."""


class SecretUnusableError(LocalError):
    """A file with a secret does not have one. What it has is not shown."""

    exit_code = ExitCode.CONFIG

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"{file} {reason}. It was not used. docs/reference/faces.md says how to make one.")
        self.file = file
        """Where the secret should be."""
        self.reason = reason
        """What is wrong with it, beginning with a verb."""


class CertificateError(LocalError):
    """A certificate cannot be used."""

    exit_code = ExitCode.CONFIG

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(
            f"The certificate {file} cannot be used: {reason}. docs/reference/faces.md says how to make one."
        )
        self.file = file
        """Where it should be."""
        self.reason = reason
        """What is wrong with it."""


class EtherUnreachableError(LocalError):
    """There is no ether where one was looked for."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(f"No ether answers at {host} port {port} ({reason}). Start one with: tinyssb ether")
        self.host = host
        """Where it was looked for."""
        self.port = port
        """On which port."""
        self.reason = reason
        """What the system says."""


class EtherRefusedError(LocalError):
    """The ether does not do what was asked of it."""

    exit_code = ExitCode.DATA

    def __init__(self, reason: str) -> None:
        super().__init__(f"The ether refuses: {reason}")
        self.reason = reason
        """Its own words."""


class EtherOpenError(LocalError):
    """An ether cannot begin where it was told to."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(
            f"The ether cannot listen at {host} port {port} ({reason})."
            " Choose another port, or stop the program that uses this one."
        )
        self.host = host
        """Where."""
        self.port = port
        """On which port."""
        self.reason = reason
        """What the system says."""


class BrokerError(ConnectionError):
    """There is no connection to an MQTT broker, or no more."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        """Why, in plain words."""
        self.remedy = remedy
        """What to look at; empty where waiting is all there is to do."""
