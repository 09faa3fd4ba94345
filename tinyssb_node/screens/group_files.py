"""Files in private groups, for all screens: what one costs, how it is published, and how it is saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tinyssb_node.content.files import File
from tinyssb_node.screens import limits
from tinyssb_node.screens.group_changes import cost_lines
from tinyssb_node.screens.localfile import clean_name, file_title, require_group_size, save_file

if TYPE_CHECKING:
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.control.group_rows import GroupCostRow, GroupWrittenRow


@dataclass(frozen=True, slots=True)
class GroupFileDraft:
    """A file that is about to be published in a group."""

    group: str
    """The group's name, or digits of its id."""
    file: File
    reply_to: str | None = None
    """Digits of the id of the message that it answers."""

    def cost(self, client: DaemonClient) -> GroupCostRow:
        """Return what publishing it would write. Raises ProblemError, and as the client does."""
        file = self.file
        require_group_size(file)
        return client.group_attach_cost(self.group, file.name, file.type, file.data, self.reply_to)

    def publish(self, client: DaemonClient) -> GroupWrittenRow:
        """Publish it. Raises ProblemError, and as the client does."""
        file = self.file
        require_group_size(file)
        return client.group_attach(self.group, file.name, file.type, file.data, self.reply_to)


def preview(client: DaemonClient, draft: GroupFileDraft, cost: GroupCostRow) -> list[str]:
    """Return a file's size and cost, in lines. Raises as the client does."""
    return [file_title(draft.file), *(f"  {line}" for line in cost_lines(client, cost))]


def is_costly(cost: GroupCostRow) -> bool:
    """Return whether an author should agree to the cost first."""
    return cost.packets > limits.POST_PACKETS_MAX


def fetch(client: DaemonClient, group: str, message: str) -> tuple[File, str]:
    """Return the file in a message of a group, and a safe name for it. Raises as the client does."""
    row = client.group_file(group, message)
    file = File(row.name, row.type, bytes.fromhex(row.data))
    return file, clean_name(file.name, f"tinyssb-{row.group[:12]}-{row.id[:12]}")


def save(client: DaemonClient, group: str, message: str, output: str | None) -> tuple[File, Path]:
    """Save the file in a message of a group, and return it with its path: *output*, or a safe name in that folder or
    the current one. Never overwrites. Raises ProblemError, and as the client does."""
    file, name = fetch(client, group, message)
    return file, save_file(file, name, output)
