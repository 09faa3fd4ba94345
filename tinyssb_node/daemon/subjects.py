"""Optional subjects: the folders that a node can do without, and what each of them adds.

A subject is whole in its folder, from bytes to commands. Nothing outside imports it: this table names its modules, and
they are loaded when they are needed. Delete a folder, and its commands, settings and processes are gone with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final, Protocol

_PACKAGE: Final = "tinyssb_node"


class Settings(Protocol):
    """Settings of a subject's table of config.toml."""

    @property
    def enabled(self) -> bool:
        """True if the daemon starts the subject's process."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One optional folder of this package. Modules are named relative to the folder."""

    folder: str
    extra: str | None
    """The extra of pyproject.toml that has its libraries; None: it needs none."""
    commands: Mapping[str, Mapping[str, str]]
    """Modules that describe commands, and the commands of each, with a summary."""
    table: str
    """Its table in config.toml."""
    keys: tuple[str, ...]
    """The keys of that table."""
    settings: str
    """The module that reads the table: ``read_settings(reader, root, networks)`` returns ``Settings``."""
    process: str
    """Name in the log of its process, which runs beside the daemon."""
    process_command: tuple[str, ...]
    """The command that runs it."""
    shelf: str | None = None
    """The module that opens the shelf: ``LazyShelfFile``."""
    simulation: str | None = None
    """The module that adds an action to `tinyssb sim`: ``add(actions)``."""

    @property
    def is_present(self) -> bool:
        """True if its folder is installed."""
        return find_spec(f"{_PACKAGE}.{self.folder}") is not None

    def load(self, module: str) -> ModuleType:
        """Import *module* of the folder."""
        return import_module(f"{_PACKAGE}.{self.folder}.{module}")


SUBJECTS: Final = (
    Subject(
        folder="pzp",
        extra="pzp",
        commands={"commands.commands": {"pzp": "messages of PZP, which several devices sign as one"}},
        table="pzp",
        keys=(
            "enabled", "keep", "budget_mib", "listen", "peers", "cert_file", "key_file", "clients_file", "token_file",
            "ca_file", "open",
        ),
        settings="config",
        process="the gateway of PZP",
        process_command=("pzp", "gateway"),
    ),
    Subject(
        folder="islands",
        extra=None,
        commands={
            "commands": {
                "gateway": "show status of the gateway to other islands",
                "locate": "find where else a feed is stored",
            }
        },
        table="gateway",
        keys=(
            "enabled", "listen", "public", "peers", "networks", "offer", "seek", "carry", "cert_file", "key_file",
            "ca_file",
        ),
        settings="gateway.config",
        process="the gateway to other islands",
        process_command=("gateway", "run"),
        shelf="shelves",
        simulation="sim.command",
    ),
    Subject(
        folder="shipping",
        extra="mqtt",
        commands={"commands": {"ship": "show and run the shipping of the event log"}},
        table="ship",
        keys=("enabled", "broker", "every_s", "bytes_per_s"),
        settings="config",
        process="the shipper",
        process_command=("ship", "run"),
    ),
)  # fmt: skip
"""All there are."""


def present() -> tuple[Subject, ...]:
    """The subjects that are installed."""
    return tuple(subject for subject in SUBJECTS if subject.is_present)


def commands(folder: str) -> dict[str, Mapping[str, str]]:
    """The modules of *folder* that describe commands, by their whole names; empty if it is not installed."""
    (subject,) = (subject for subject in SUBJECTS if subject.folder == folder)
    if not subject.is_present:
        return {}
    return {f"{_PACKAGE}.{folder}.{module}": summaries for module, summaries in subject.commands.items()}
