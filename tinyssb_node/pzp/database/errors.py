"""Errors of the PZP database: a busy file, missing messages, messages that others need or would refuse."""

from pathlib import Path

from tinyssb_node.errors import ExitCode, LocalError


class PzpBusyError(LocalError):
    """Another process writes for too long."""

    exit_code = ExitCode.BUSY

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path}: another process is writing it. Nothing was changed. Try again in a moment."
        )


class PzpMissingError(LocalError):
    """There is no such message, or only a part of what is needed of it."""

    exit_code = ExitCode.MISSING

    def __init__(self, id_: str, lacking: str) -> None:
        super().__init__(f"{id_[:60]}: {lacking}. Nothing was changed. Fetch it from a node that has it.")


class PzpDependencyError(LocalError):
    """Something that others depend on is to go."""

    exit_code = ExitCode.DATA

    def __init__(self, id_: str, reason: str, instead: str) -> None:
        super().__init__(f"{id_} was kept: {reason}. {instead}")
