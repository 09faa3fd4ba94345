"""Optional subjects: the folders that a node can do without, and what each of them adds.

A subject is whole in its folder, from bytes to commands. Nothing outside imports it: this table names its modules, and
they are loaded when they are needed. Delete a folder, and its commands, settings and processes are gone with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tinyssb_node.daemon.config_table import SubjectTable

_PACKAGE: Final = "tinyssb_node"


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
    config: str
    """The module that describes the table: ``TABLE`` is its Struct."""
    process: str
    """Name in the log of its process, which runs beside the daemon."""
    process_command: tuple[str, ...]
    """The command that runs it."""
    shelf: str | None = None
    """The module that opens the shelf: ``LazyShelfFile``."""
    page: str | None = None
    """The module that shows its data on screens: ``read_page(home)`` returns a title and lines."""
    checks: str | None = None
    """The module with its checks for `doctor`: ``examine(home)`` returns their results."""
    simulation: str | None = None
    """The module that adds an action to `tinyssb sim`: ``add(actions)``."""

    @property
    def is_present(self) -> bool:
        """True if its folder is installed."""
        return (Path(__file__).parents[1] / self.folder / "__init__.py").is_file()

    def load(self, module: str) -> ModuleType:
        """Import *module* of the folder."""
        return import_module(f"{_PACKAGE}.{self.folder}.{module}")

    def settings(self) -> "type[SubjectTable]":
        """Import the description of its table. Most nodes lack the table and never load it."""
        table: type[SubjectTable] = self.load(self.config).TABLE
        return table


SUBJECTS: Final = (
    Subject(
        folder="pzp",
        extra="pzp",
        commands={"commands.commands": {"pzp": "messages of PZP, which several devices sign as one"}},
        table="pzp",
        config="config",
        process="the gateway of PZP",
        process_command=("pzp", "gateway"),
        page="commands.page",
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
        config="gateway.config",
        process="the gateway to other islands",
        process_command=("gateway", "run"),
        shelf="shelves",
        checks="checkup",
        simulation="sim.command",
    ),
    Subject(
        folder="shipping",
        extra="mqtt",
        commands={"commands": {"ship": "show and run the shipping of the event log"}},
        table="ship",
        config="config",
        process="the shipper",
        process_command=("ship", "run"),
    ),
    Subject(
        folder="telemetry",
        extra=None,
        commands={
            "commands": {
                "position": "show where people and nodes are; share or withdraw your position",
                "telemetry": "show batteries and sensors of nodes; share yours",
            }
        },
        table="telemetry",
        config="config",
        process="the telemetry sender",
        process_command=("telemetry", "run"),
        checks="checkup",
    ),
    Subject(
        folder="remote",
        extra=None,
        commands={
            "commands": {"remote": "give commands to nodes elsewhere in the mesh, and allow that here"}
        },
        table="remote",
        config="config",
        process="the process for remote commands",
        process_command=("remote", "run"),
        checks="checkup",
    ),
    Subject(
        folder="alerts",
        extra=None,
        commands={
            "commands": {"alerts": "show what is wrong with the node; tell it a webhook and Home Assistant"}
        },
        table="alerts",
        config="config",
        process="the alert sender",
        process_command=("alerts", "run"),
    ),
)
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
