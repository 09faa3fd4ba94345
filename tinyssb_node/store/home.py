"""The folder of a node."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from tinyssb_node.errors import ExitCode, HomeInaccessibleError, ProblemError
from tinyssb_node.ids import DEFAULT_NETWORK, NetworkName

CONTROL_SOCKET: Final = "control.sock"
"""The control socket's name in the home, unless configured otherwise."""
MAIN_IDENTITY: Final = "main"
"""The name of the node's main identity where there are others."""


@dataclass(frozen=True, slots=True)
class Home:
    """Paths of a node's files."""

    root: Path

    @classmethod
    def find(cls, given: str | None, environ: Mapping[str, str]) -> Self:
        """Find the folder: *given* on the command line, else TINYSSB_HOME, else ~/.tinyssb; absolute."""
        return cls(Path(given or environ.get("TINYSSB_HOME") or "~/.tinyssb").expanduser().absolute())

    @property
    def config(self) -> Path:
        """The settings that its user may change."""
        return self.root / "config.toml"

    @property
    def identity(self) -> Path:
        """The secret key."""
        return self.root / "identity"

    @property
    def mark(self) -> Path:
        """The tip mark: how far the feed was written."""
        return self.root / "tip.json"

    @property
    def identities(self) -> Path:
        """Folder of further identities, if there are any."""
        return self.root / "identities"

    @property
    def store(self) -> Path:
        """Feeds and everything else that must survive, of the default network."""
        return self.root / "store.sqlite"

    @property
    def shelf(self) -> Path:
        """Feeds that are held and are in no set, of the default network."""
        return self.root / "shelf" / "store.sqlite"

    @property
    def events(self) -> Path:
        """Folder of event logs, of the default network."""
        return self.root / "events"

    @property
    def control_socket(self) -> Path:
        """The socket of the control protocol, unless configured otherwise."""
        return self.root / CONTROL_SOCKET

    def may_configure(self, word: bytes) -> bool:
        """Return True if *word* occurs in the settings, or they cannot be read: who needs them is told why."""
        try:
            return word in self.config.read_bytes()
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def of(self, network: NetworkName) -> "Home":
        """Return the folder of the store and the event logs of *network*."""
        return self if network == DEFAULT_NETWORK else Home(self.root / "networks" / network)

    def of_identity(self, name: str) -> "Home":
        """Return the folder of the key and the tip mark of the further identity *name*."""
        return Home(self.identities / name)

    def require(self) -> None:
        """Raise ProblemError unless a node was made here, HomeInaccessibleError if we may not look."""
        try:
            made = self.identity.exists()
        except OSError as error:
            raise HomeInaccessibleError(
                f"You may not look into {self.root}: {error.strerror}.",
                "Type it as the node's user. Members of the service's group leave --home out, and set no TINYSSB_HOME.",
            ) from error
        if not made and self.config.exists():
            raise ProblemError(
                f"The key of the node in {self.root} is missing.",
                "Restore it from the words of a backup: `tinyssb identity restore`.",
                exit_code=ExitCode.MISSING,
            )
        if not made:
            raise ProblemError(
                f"There is no node in {self.root}.",
                "Make one with `tinyssb init`, or name another folder with --home.",
                exit_code=ExitCode.MISSING,
            )
