"""Errors as people and scripts are told of them: those that the daemon knows, and those of the catalog and of PZP."""

from dataclasses import replace
from typing import Final

from tinyssb_node.catalog.errors import (
    CatalogBusyError,
    CatalogDamagedError,
    CatalogFailedError,
    CatalogFullError,
    CatalogReadOnlyError,
)
from tinyssb_node.content.contacts import ContactsError
from tinyssb_node.control.explain import Explanation, explain
from tinyssb_node.errors import LocalError
from tinyssb_node.problems import ExitCode
from tinyssb_node.pzp.database.errors import (
    PzpBusyError,
    PzpDependencyError,
    PzpMissingError,
    PzpUnpublishableError,
)

_EXITS: Final[dict[type[LocalError], ExitCode]] = {
    CatalogFailedError: ExitCode.STORAGE,
    CatalogDamagedError: ExitCode.DATA,
    CatalogFullError: ExitCode.STORAGE,
    CatalogReadOnlyError: ExitCode.PERMISSION,
    CatalogBusyError: ExitCode.BUSY,
    ContactsError: ExitCode.DATA,
    PzpBusyError: ExitCode.BUSY,
    PzpMissingError: ExitCode.MISSING,
    PzpDependencyError: ExitCode.DATA,
    PzpUnpublishableError: ExitCode.DATA,
}


def explain_error(error: LocalError) -> Explanation:
    """What to tell about *error*, and the exit code."""
    explanation = explain(error)
    exit_code = _EXITS.get(type(error))
    return explanation if exit_code is None else replace(explanation, exit_code=exit_code)
